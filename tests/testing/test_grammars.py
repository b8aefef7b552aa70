"""The judges of requests: each rule accepts the right and reports the wrong."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.history.formats.renderings import (
    render_anthropic,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.history.repair import repair
from foldline.testing.grammars import (
    Rule,
    Violation,
    check_anthropic,
    check_openai_chat,
    check_openai_responses,
)
from tests.history.formats.wire_values import SOME_TEXT


Judge = Callable[..., tuple[Violation, ...]]

USER = {"role": "user", "content": "go"}


def chat_call(**changes: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}} | changes
    return {"role": "assistant", "content": None, "tool_calls": [call]}


CHAT_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "r"}

CHAT_RIGHT: list[list[Any]] = [
    [{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, USER],
    [{**USER, "name": "ann"}],
    [chat_call(), CHAT_RESULT],
    [chat_call(type="custom", custom={"name": "f", "input": "i"}), CHAT_RESULT],
    [{"role": "assistant", "content": None, "refusal": "no"}],
    [{"role": "assistant", "function_call": {"name": "f", "arguments": ""}}],
    [{"role": "function", "name": "f", "content": "r"}],
    [{"role": "user", "content": [{"type": "text", "text": ""}, {"type": "image_url"}]}],
    [
        {
            **chat_call(),
            "tool_calls": [*chat_call()["tool_calls"], *chat_call(id="c2")["tool_calls"]],
        },
        {**CHAT_RESULT, "tool_call_id": "c2"},
        CHAT_RESULT,
        USER,
    ],
    [chat_call(), CHAT_RESULT, chat_call(), CHAT_RESULT],
    [{**USER, "n": json.loads("[" * 600 + "]" * 600)}],
]

CHAT_WRONG: list[tuple[list[Any], list[Rule]]] = [
    ([], [Rule.EMPTY]),
    ([5], [Rule.SHAPE]),
    ([{"role": "wizard", "content": "x"}], [Rule.ROLE]),
    ([{"role": ["user"], "content": "x"}], [Rule.ROLE]),
    ([{"role": "user", "content": "\ud800"}], [Rule.ENCODING]),
    ([{"role": "user", "content": "x", "n": math.nan}], [Rule.ENCODING]),
    ([{"role": "user", "content": "x", "n": object()}], [Rule.ENCODING]),
    ([{"role": "user", "content": "x", "n": 10**5000}], [Rule.ENCODING]),
    ([{"role": "user"}], [Rule.CONTENT]),
    ([{"role": "assistant", "content": None}], [Rule.CONTENT]),
    ([{"role": "user", "content": []}], [Rule.CONTENT]),
    ([{"role": "user", "content": 5}], [Rule.SHAPE]),
    ([{"role": "user", "content": ["x"]}], [Rule.SHAPE]),
    ([{"role": "user", "content": [{"type": "text"}]}], [Rule.SHAPE]),
    ([{"role": "system", "content": [{"type": "image_url"}]}], [Rule.CONTENT_TYPE]),
    ([{**USER, "name": "a b"}], [Rule.CALL_NAME]),
    ([{**USER, "name": None}], [Rule.CALL_NAME]),
    ([{"role": "function", "content": "r"}], [Rule.CALL_NAME]),
    ([{"role": "assistant", "content": "x", "function_call": None}], [Rule.SHAPE]),
    ([{"role": "assistant", "content": "x", "tool_calls": []}], [Rule.SHAPE]),
    ([{"role": "assistant", "content": "x", "tool_calls": None}], [Rule.SHAPE]),
    ([{"role": "assistant", "content": "x", "tool_calls": ["x"]}], [Rule.SHAPE]),
    ([chat_call(id=""), {**CHAT_RESULT, "tool_call_id": ""}], [Rule.CALL_ID]),
    ([chat_call(id="x" * 41), {**CHAT_RESULT, "tool_call_id": "x" * 41}], [Rule.CALL_ID]),
    ([chat_call(type="new"), CHAT_RESULT], [Rule.SHAPE]),
    ([chat_call(type=5), CHAT_RESULT], [Rule.SHAPE]),
    ([chat_call(function={"name": "a b", "arguments": ""}), CHAT_RESULT], [Rule.CALL_NAME]),
    ([chat_call(function={"name": "f", "arguments": {}}), CHAT_RESULT], [Rule.ARGUMENTS]),
    ([chat_call(type="custom", custom={"name": "f"}), CHAT_RESULT], [Rule.ARGUMENTS]),
    (
        [{"role": "assistant", "tool_calls": chat_call()["tool_calls"] * 2}, CHAT_RESULT],
        [Rule.DUPLICATE_ID],
    ),
    ([USER, CHAT_RESULT], [Rule.ORPHAN]),
    ([chat_call(), CHAT_RESULT, USER, CHAT_RESULT], [Rule.ORPHAN]),
    ([chat_call(), CHAT_RESULT, CHAT_RESULT], [Rule.DUPLICATE_ID]),
    ([chat_call(), {"role": "tool", "content": "r"}], [Rule.UNANSWERED, Rule.CALL_ID, Rule.ORPHAN]),
    ([chat_call()], [Rule.UNANSWERED]),
    ([chat_call(), USER, CHAT_RESULT], [Rule.UNANSWERED, Rule.ORPHAN]),
]


CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "r"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}
SAID = {"role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
CALL_2, OUTPUT_2 = {**CALL, "call_id": "c2"}, {**OUTPUT, "call_id": "c2"}
APPROVAL = {"type": "mcp_approval_response", "approval_request_id": "m", "approve": True}

SEALED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "AAAA"}

RESPONSES_RIGHT: list[list[Any]] = [
    [USER, SAID],
    [CALL, USER, OUTPUT],
    [{**OUTPUT, "output": []}, CALL][::-1],
    [THOUGHT, CALL, OUTPUT],
    [THOUGHT, {**THOUGHT, "id": "rs_2"}, SAID],
    [{"type": "item_reference", "id": "anything"}],
    [{"type": "custom_tool_call", "call_id": "c"}, {"type": "x_output", "call_id": "c"}],
    [THOUGHT, {**SAID, "id": "msg_1"}, {**CALL, "id": "fc_1"}, OUTPUT, CALL_2, OUTPUT_2],
    [{**SAID, "id": "msg_1"}, USER, {**CALL, "id": "fc_1"}, OUTPUT],
    [THOUGHT, CALL, OUTPUT, {**USER, "id": "msg_1"}],
    [{"type": "mcp_approval_request", "id": "m"}, APPROVAL],
    [USER, SEALED, SAID],
    [SEALED, USER],
]

RESPONSES_WRONG: list[tuple[list[Any], list[Rule]]] = [
    ([], [Rule.EMPTY]),
    (["x"], [Rule.SHAPE]),
    ([{"type": 5}], [Rule.SHAPE]),
    ([{}], [Rule.SHAPE]),
    ([{"role": "tool", "content": "x"}], [Rule.ROLE]),
    ([{"role": "user"}], [Rule.CONTENT]),
    ([{"role": "user", "content": 5}], [Rule.SHAPE]),
    ([{"role": "user", "content": ["x"]}], [Rule.CONTENT_TYPE]),
    ([{"role": "user", "content": [{"type": "output_text"}]}], [Rule.CONTENT_TYPE]),
    ([{"role": "assistant", "content": [{"type": "input_text"}]}], [Rule.CONTENT_TYPE]),
    ([{**USER, "content": "\udfff"}], [Rule.ENCODING]),
    ([{**CALL, "name": ""}, OUTPUT], [Rule.CALL_NAME]),
    ([{**CALL, "arguments": None}, OUTPUT], [Rule.ARGUMENTS]),
    ([CALL, {**OUTPUT, "output": None}], [Rule.CONTENT]),
    ([{**CALL, "call_id": None}], [Rule.CALL_ID]),
    ([{**CALL, "call_id": ""}, {**OUTPUT, "call_id": ""}], [Rule.CALL_ID, Rule.CALL_ID]),
    ([CALL, CALL, OUTPUT], [Rule.DUPLICATE_ID]),
    ([CALL, OUTPUT, OUTPUT], [Rule.DUPLICATE_ID]),
    ([OUTPUT, CALL], [Rule.ORPHAN, Rule.UNANSWERED]),
    ([THOUGHT], [Rule.REASONING]),
    ([THOUGHT, USER], [Rule.REASONING]),
    ([CALL, THOUGHT, OUTPUT], [Rule.REASONING]),
    ([USER, {**CALL, "id": "fc_1"}, OUTPUT, THOUGHT, SAID], [Rule.REASONING]),
    ([THOUGHT, CALL, OUTPUT, {**SAID, "id": "msg_1"}], [Rule.REASONING]),
    ([APPROVAL], [Rule.ORPHAN]),
    ([{"type": "mcp_approval_request", "id": "m"}], [Rule.UNANSWERED]),
    ([{**SAID, "id": "x"}], [Rule.CALL_ID]),
    ([{**SAID, "id": "msg_1"}, {**SAID, "id": "msg_1"}], [Rule.DUPLICATE_ID]),
    ([{"type": "compaction", "id": "cmp_1"}], [Rule.COMPACTION]),
]


TEXT = {"type": "text", "text": "x"}
USE = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "r"}
MARKED = {**TEXT, "cache_control": {"type": "ephemeral"}}


def turns(*contents: Any) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": content} for at, content in enumerate(contents)]


OPEN = {"type": "compaction", "content": "Earlier: AB1."}
COMPACTED = {**OPEN, "encrypted_content": "XX", "signature": "s"}


ANTHROPIC_RIGHT: list[tuple[Any, list[Any]]] = [
    (None, turns("go")),
    ("be brief", turns("go", "so", "on")),
    ([TEXT], turns("go", "")),
    ("", turns("go", [])),
    (None, turns("go", [TEXT, USE], [RESULT, TEXT])),
    (None, turns("go", [USE], [{**RESULT, "content": [TEXT, {"type": "image"}]}])),
    (None, turns("go", [{"type": "thinking", "thinking": "", "signature": "s"}, TEXT])),
    (None, turns([{"type": "image"}], [{"type": "compaction", "content": "c"}], [TEXT])),
    ([MARKED], turns([MARKED], [MARKED], [MARKED])),
    (None, [*turns("go"), *turns("and", "so ", "on")]),
    (None, turns([COMPACTED, TEXT])),
    (None, [{"role": "assistant", "content": [COMPACTED]}, *turns("go")]),
    (None, [{"role": "assistant", "content": [OPEN, TEXT]}, *turns("go")]),
    (None, turns("go", [OPEN, TEXT], "on", [{"type": "compaction", "content": None}], "on")),
]

ANTHROPIC_WRONG: list[tuple[Any, list[Any], list[Rule]]] = [
    (None, [], [Rule.EMPTY]),
    (5, turns("go"), [Rule.SHAPE]),
    ("\ud800", turns("go"), [Rule.ENCODING]),
    ([{**TEXT, "text": ""}], turns("go"), [Rule.CONTENT]),
    (["x"], turns("go"), [Rule.CONTENT_TYPE]),
    ([{"type": "image"}], turns("go"), [Rule.CONTENT_TYPE]),
    (None, ["x"], [Rule.SHAPE, Rule.FIRST_ROLE]),
    (None, [{"role": "system", "content": "x"}], [Rule.FIRST_ROLE, Rule.ROLE]),
    (None, [USER, {"role": "system", "content": "x"}, USER], [Rule.ROLE]),
    (
        None,
        [USER, {"role": "assistant", "content": "x"}, {"role": "system", "content": "x"}],
        [Rule.ROLE],
    ),
    (
        None,
        [USER, {"role": "assistant", "content": [{"type": "x_tool_result", "tool_use_id": "s"}]}],
        [Rule.ORPHAN],
    ),
    (None, [{"role": "assistant", "content": "x"}], [Rule.FIRST_ROLE]),
    (None, turns(None), [Rule.SHAPE]),
    (None, turns(""), [Rule.CONTENT]),
    (None, turns("go", [], "on"), [Rule.CONTENT]),
    (None, turns(" "), [Rule.CONTENT]),
    (None, turns([{**TEXT, "text": "\n"}]), [Rule.CONTENT]),
    (None, turns([{"type": "text"}]), [Rule.SHAPE]),
    (None, turns(["x"]), [Rule.SHAPE]),
    (None, turns([{"type": 5}]), [Rule.SHAPE]),
    (None, turns("go", "so "), [Rule.TRAILING_SPACE]),
    (None, turns("go", [{**TEXT, "text": "so\n"}]), [Rule.TRAILING_SPACE]),
    (None, turns("go", ["so "]), [Rule.SHAPE]),
    (None, turns([USE], "so"), [Rule.CONTENT_TYPE, Rule.UNANSWERED]),
    (None, turns("go", [{"type": "image"}]), [Rule.CONTENT_TYPE]),
    (None, turns("go", [{"type": "thinking", "thinking": "x"}]), [Rule.REASONING]),
    (None, turns("go", [{"type": "thinking", "signature": "x"}]), [Rule.REASONING]),
    (None, turns("go", [USE], [TEXT, RESULT]), [Rule.RESULT_ORDER]),
    (
        None,
        turns("go", [{**USE, "id": "a.b"}], [{**RESULT, "tool_use_id": "a.b"}]),
        [Rule.CALL_ID],
    ),
    (None, turns("go", [{**USE, "name": "a.b"}], [RESULT]), [Rule.CALL_NAME]),
    (None, turns("go", [{**USE, "input": "{}"}], [RESULT]), [Rule.ARGUMENTS]),
    (None, turns("go", [USE], [RESULT], [USE], [RESULT]), [Rule.DUPLICATE_ID]),
    (None, turns("go", [USE], [RESULT, RESULT]), [Rule.DUPLICATE_ID]),
    (None, turns("go", [USE], "on"), [Rule.UNANSWERED]),
    (None, turns("go", [USE]), [Rule.UNANSWERED]),
    (None, turns([RESULT]), [Rule.ORPHAN]),
    (None, turns("go", "so", [RESULT]), [Rule.ORPHAN]),
    (None, turns("go", [USE], [{**RESULT, "content": 5}]), [Rule.SHAPE]),
    (None, turns("go", [USE], [{**RESULT, "content": [{**TEXT, "text": ""}]}]), [Rule.CONTENT]),
    (None, turns("go", "so", [{"type": "tool_result"}]), [Rule.CALL_ID, Rule.ORPHAN]),
    ([MARKED], turns([MARKED] * 4), [Rule.CACHE_MARKS]),
    (
        None,
        turns("go", [{"type": "redacted_thinking", "data": "x", "cache_control": {}}, TEXT]),
        [Rule.CACHE_MARKS],
    ),
    (None, turns("go", [COMPACTED], "on"), [Rule.COMPACTION]),
    (None, turns([TEXT, COMPACTED]), [Rule.COMPACTION]),
    (None, turns("go", [TEXT], [OPEN]), [Rule.COMPACTION]),
    (None, turns([{**COMPACTED, "content": ""}]), [Rule.COMPACTION]),
    (None, turns([COMPACTED, COMPACTED]), [Rule.COMPACTION, Rule.COMPACTION]),
]


@pytest.mark.parametrize(
    ("judge", "sent"),
    [
        *((check_openai_chat, (items,)) for items in CHAT_RIGHT),
        *((check_openai_responses, (items,)) for items in RESPONSES_RIGHT),
        *((check_anthropic, sent) for sent in ANTHROPIC_RIGHT),
    ],
)
def test_what_a_vendor_accepts_breaks_no_rule(judge: Judge, sent: tuple[Any, ...]) -> None:
    """A request that its vendor accepts is judged to be valid."""
    assert judge(*sent) == ()


@pytest.mark.parametrize(
    ("judge", "sent", "expected"),
    [
        *((check_openai_chat, sent, expected) for *sent, expected in CHAT_WRONG),
        *((check_openai_responses, sent, expected) for *sent, expected in RESPONSES_WRONG),
        *((check_anthropic, sent, expected) for *sent, expected in ANTHROPIC_WRONG),
    ],
)
def test_what_a_vendor_refuses_is_reported(
    judge: Judge, sent: list[Any], expected: list[Rule]
) -> None:
    """A request that its vendor refuses is reported by its rules, in order."""
    assert [violation.rule for violation in judge(*sent)] == expected


def test_every_rule_is_tried() -> None:
    """Each rule has a case that breaks it."""
    wrong = [*CHAT_WRONG, *RESPONSES_WRONG, *ANTHROPIC_WRONG]

    assert {rule for case in wrong for rule in case[-1]} == set(Rule)


@pytest.mark.parametrize(
    ("judge", "sent", "said"),
    [
        (check_openai_responses, ([USER],), [USER, SEALED]),
        (check_openai_responses, ([{**SEALED, "encrypted_content": "B"}, USER],), [SEALED]),
        (check_openai_responses, ([SEALED, USER],), [SEALED, {**SEALED, "id": "cmp_2"}]),
        (check_anthropic, (None, turns("go")), turns("go", [COMPACTED])),
        (check_anthropic, (None, turns([{**COMPACTED, "content": "B"}])), turns([COMPACTED])),
    ],
)
def test_a_sealed_compaction_has_to_be_there(
    judge: Judge, sent: tuple[Any, ...], said: list[Any]
) -> None:
    """A request without the newest sealed compaction, or with another one, is reported."""
    assert [violation.rule for violation in judge(*sent, said=said)] == [Rule.COMPACTION]


@pytest.mark.parametrize(
    ("judge", "sent", "said"),
    [
        (check_openai_responses, ([SEALED, USER],), [USER, SEALED]),
        (check_openai_responses, ([USER],), [USER, THOUGHT, SAID]),
        (check_anthropic, (None, turns([COMPACTED, TEXT])), turns("go", [OPEN, COMPACTED])),
        (check_anthropic, (None, turns("go")), turns("go", [OPEN], [TEXT])),
    ],
)
def test_a_sealed_compaction_is_there(judge: Judge, sent: tuple[Any, ...], said: list[Any]) -> None:
    """A request with the newest sealed compaction is accepted, and readable ones may go."""
    assert judge(*sent, said=said) == ()


def test_reports_quote_no_content() -> None:
    """A report names fields, never what was said."""
    found = check_openai_chat([{"role": "secret", "content": "secret"}, {"role": "secret"}])

    assert [violation.index for violation in found] == [0, 1]
    assert "secret" not in " ".join(violation.text for violation in found)


IDS = st.sampled_from(["", "a", "b", "a.b", "\ud800", "x" * 70])
PARTS = st.one_of(
    st.builds(TextPart, SOME_TEXT),
    st.builds(ReasoningPart, SOME_TEXT),
    st.builds(CompactionPart, SOME_TEXT),
    st.builds(BlobPart, st.sampled_from(["image", "video"]), st.just("image/png"), st.just("AA")),
    st.builds(GenericPart, st.just("new"), st.just("{}")),
    st.builds(ToolCallPart, IDS, SOME_TEXT, st.sampled_from(["", "{}", "[1]", "{", '{"a":1}'])),
    st.builds(
        ToolCallResponsePart,
        IDS,
        st.one_of(SOME_TEXT, st.lists(st.builds(TextPart, SOME_TEXT), max_size=2).map(tuple)),
    ),
)
MESSAGES = st.builds(
    lambda role, parts, name: Message(role=role, parts=tuple(parts), name=name),
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(PARTS, max_size=3),
    st.one_of(st.none(), SOME_TEXT),
)


@given(st.lists(MESSAGES, min_size=1, max_size=6), SOME_TEXT)
def test_repaired_views_are_rendered_validly(messages: list[Message], rule: str) -> None:
    """Whatever is said, a repaired view of it is a request that every vendor accepts."""
    view = (Message.system(rule), *repair(messages))
    anthropic = render_anthropic(view)

    assert check_openai_chat(render_openai_chat(view)) == ()
    assert check_openai_responses(render_openai_responses(view)) == ()
    assert check_anthropic(anthropic.system, anthropic.messages) == ()
