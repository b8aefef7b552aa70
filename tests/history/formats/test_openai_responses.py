"""OpenAI Responses input items, both ways, and views rendered as such."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.history.codec import encode_json
from foldline.history.formats.openai_responses import (
    OPENAI_RESPONSES,
    from_openai_responses,
    to_openai_responses,
)
from foldline.history.formats.renderings import SUMMARY_HEADER, render_openai_responses
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.history.repair import repair
from foldline.testing.grammars import check_openai_responses
from tests.history.formats.wire_values import read_with_originals


CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "found"}
USER = {"role": "user", "content": "go on"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "hi", "annotations": []}],
}

ORDINARY: list[dict[str, Any]] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "hi"},
    {"role": "user", "content": ""},
    CALL,
    OUTPUT,
    {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": "https://example.org/a.png"},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
            {"type": "input_image", "file_id": "file-1"},
            {"type": "input_file", "file_url": "https://example.org/a.pdf"},
            {"type": "input_file", "file_id": "file-2"},
        ],
    },
]

READ: list[tuple[dict[str, Any], str, tuple[Part, ...]]] = [
    ({"role": "developer", "content": "x"}, "system", (TextPart("x"),)),
    ({"role": "user", "content": None}, "user", ()),
    ({"type": "message", "role": "user", "content": []}, "user", ()),
    (SAID, "assistant", (TextPart("hi"),)),
    (
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        "assistant",
        (TextPart("no"),),
    ),
    (
        {
            "role": "user",
            "content": [
                {"type": "input_file", "filename": "a", "file_data": "AAAA"},
                {"type": "input_file", "file_data": "data:text/x;base64,AAAA"},
                {"type": "input_file"},
                {"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}},
                {"type": "input_audio"},
                {"type": "new"},
            ],
        },
        "user",
        (
            BlobPart("document", "", "AAAA"),
            BlobPart("document", "text/x", "AAAA"),
            GenericPart("input_file", '{"type":"input_file"}'),
            BlobPart("audio", "audio/mp3", "AA"),
            GenericPart("input_audio", '{"type":"input_audio"}'),
            GenericPart("new", '{"type":"new"}'),
        ),
    ),
    ({**CALL, "id": "fc_1"}, "assistant", (ToolCallPart("c1", "look", "{}"),)),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "i"},
        "assistant",
        (ToolCallPart("c", "n", "i"),),
    ),
    (
        {"type": "shell_call", "call_id": "c"},
        "assistant",
        (ToolCallPart("c", "shell_call", "{}"),),
    ),
    (
        {
            "type": "local_shell_call",
            "id": "ls_1",
            "call_id": "c",
            "status": "completed",
            "action": {"type": "exec", "command": ["make"]},
        },
        "assistant",
        (ToolCallPart("c", "local_shell_call", '{"action":{"type":"exec","command":["make"]}}'),),
    ),
    (
        {"type": "custom_tool_call_output", "call_id": "c", "output": "o"},
        "tool",
        (ToolCallResponsePart("c", "o"),),
    ),
    (
        {
            "type": "shell_call_output",
            "call_id": "c",
            "output": [
                {"stdout": "a", "stderr": "", "outcome": {"type": "timeout"}},
                {"stderr": "b"},
            ],
        },
        "tool",
        (
            ToolCallResponsePart(
                "c",
                (
                    TextPart("a"),
                    TextPart(""),
                    GenericPart("shell_call_output", '{"outcome":{"type":"timeout"}}'),
                    TextPart("b"),
                ),
            ),
        ),
    ),
    (
        {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": []},
        "tool",
        (
            ToolCallResponsePart(
                "c",
                (
                    GenericPart(
                        "tool_search_output",
                        '{"type":"tool_search_output","call_id":"c","execution":"client","tools":[]}',
                    ),
                ),
            ),
        ),
    ),
    (
        {"type": "tool_search_output", "call_id": "c", "execution": "server"},
        "assistant",
        (
            GenericPart(
                "tool_search_output",
                '{"type":"tool_search_output","call_id":"c","execution":"server"}',
            ),
        ),
    ),
    (
        {"type": "function_call_output", "name": "n", "output": "o"},
        "assistant",
        (
            GenericPart(
                "function_call_output",
                '{"type":"function_call_output","name":"n","output":"o"}',
            ),
        ),
    ),
    (
        {"type": "local_shell_call_output", "id": "c", "output": None},
        "tool",
        (ToolCallResponsePart("c", ""),),
    ),
    (
        {"type": "computer_call_output", "call_id": 5, "output": {"type": "screen"}},
        "tool",
        (ToolCallResponsePart("", (GenericPart("computer_call_output", '{"type":"screen"}'),)),),
    ),
    (
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "a"}],
            "content": [{"type": "reasoning_text", "text": "b"}, {"type": "new"}],
        },
        "assistant",
        (ReasoningPart("a\nb"),),
    ),
    ({"type": "reasoning", "id": "rs_1"}, "assistant", (ReasoningPart(""),)),
    (
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
        "assistant",
        (CompactionPart(""),),
    ),
    (
        {"type": "web_search_call", "id": "ws_1"},
        "assistant",
        (GenericPart("web_search_call", '{"type":"web_search_call","id":"ws_1"}'),),
    ),
    (
        {"type": "item_reference", "id": "msg_1"},
        "assistant",
        (GenericPart("item_reference", '{"type":"item_reference","id":"msg_1"}'),),
    ),
]

WRONG: list[tuple[Any, str]] = [
    (5, "message 1: the message is not an object"),
    ({"content": "x"}, "message 1: type and role are both missing"),
    ({"type": "human", "content": "x"}, "message 1: type 'human' is LangChain's: use foldline"),
    ({"type": 5}, "type is not a string"),
    ({"role": "tool", "content": "x"}, "role 'tool' is not one of"),
    ({"role": "user", "content": 5}, "content is neither a string nor a list"),
    ({"role": "user", "content": ["x"]}, r"content\[0\] is not an object"),
    ({"role": "user", "content": [{"type": 1}]}, r"content\[0\].type is not a string"),
    ({"role": "user", "content": [{"type": "input_text"}]}, r"content\[0\].text is not a"),
    ({"type": "function_call", "name": "f", "arguments": ""}, "call_id is not a string"),
    ({"type": "function_call", "call_id": "c", "arguments": ""}, "name is not a string"),
    ({"type": "function_call", "call_id": "c", "name": "f"}, "arguments is not a string"),
    ({"type": "function_call_output", "output": ""}, "call_id is not a string"),
    (
        {"type": "function_call_output", "call_id": "c", "output": ["x"]},
        r"output\[0\] is not an object",
    ),
    ({"type": "reasoning", "summary": "x"}, "summary is not a list"),
    ({"type": "reasoning", "summary": ["x"]}, r"summary\[0\] is not an object"),
    ({"type": "reasoning", "content": [{"text": 1}]}, r"content\[0\].text is not a string"),
]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Message(role="assistant", parts=(ReasoningPart("hm"), GenericPart("x", "{}"))), []),
        (Message(role="system", parts=(ToolCallPart("c", "f", "{}"),)), []),
        (Message(role="tool"), []),
        (
            Message(role="tool", parts=(ToolCallResponsePart("c", ()),)),
            [{"type": "function_call_output", "call_id": "c", "output": ""}],
        ),
        (
            Message.assistant("so", tool_calls=[ToolCallPart("c1", "look", "{}")]),
            [{"role": "assistant", "content": "so"}, CALL],
        ),
        (
            Message(
                role="user",
                parts=(
                    ToolCallResponsePart("c1", "found"),
                    BlobPart("document", "application/pdf", "AA"),
                    UriPart("audio", "https://example.org/a"),
                    CompactionPart("before"),
                ),
            ),
            [
                OUTPUT,
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "input_file",
                            "filename": "document",
                            "file_data": "data:application/pdf;base64,AA",
                        },
                        {"type": "input_text", "text": "https://example.org/a"},
                        {"type": "input_text", "text": "before"},
                    ],
                },
            ],
        ),
        (
            Message(role="assistant", parts=(TextPart("a"), FilePart("image", "f"))),
            [
                {
                    "role": "assistant",
                    "content": [
                        {"type": "output_text", "text": "a"},
                        {"type": "output_text", "text": "[image]"},
                    ],
                }
            ],
        ),
    ],
)
def test_foreign_messages_are_written(message: Message, expected: list[dict[str, Any]]) -> None:
    """A message of another format is written as items in the order of its parts."""
    assert to_openai_responses([message]) == expected


def test_originals_are_used_as_they_are() -> None:
    """An item that the vendor accepts comes out of a rendering as the very same object."""
    given_items: list[dict[str, Any]] = [
        {"role": "user", "content": "hi"},
        THOUGHT,
        SAID,
        {**CALL, "id": "fc_1"},
        OUTPUT,
    ]
    messages, original = read_with_originals(OPENAI_RESPONSES, given_items)

    view = render_openai_responses(messages, original=original)

    assert check_openai_responses(view) == ()
    assert all(rendered is item for rendered, item in zip(view, given_items, strict=True))


def test_arguments_are_an_object() -> None:
    """Arguments that were cut off, which vLLM refuses at every later call, are put into an object."""
    called = {**CALL, "arguments": '{"query": "hel'}

    item, _ = render_openai_responses(from_openai_responses([called, OUTPUT]))

    assert json.loads(item["arguments"]) == {"arguments": '{"query": "hel'}


def test_a_summary_is_labelled_and_cuts_ids_off() -> None:
    """Behind a summary the model's items lose their ids, until the next reasoning."""
    summary = Message(role="assistant", parts=(TextPart("they met"),), metadata={SUMMARY_KEY: True})
    said_again = {**SAID, "id": "msg_2"}
    view = (
        summary,
        *from_openai_responses([SAID, {**CALL, "id": "fc_1"}, OUTPUT, THOUGHT, said_again]),
    )

    rendered = render_openai_responses(view)

    assert rendered[0] == {"role": "assistant", "content": f"{SUMMARY_HEADER}\n\nthey met"}
    assert rendered[2:] == [CALL, OUTPUT, THOUGHT, said_again]
    assert "id" not in rendered[1]
    assert check_openai_responses(rendered) == ()


CUT: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "pinned"}, {**CALL, "id": "fc_1"}, OUTPUT],
    [SAID, {**CALL, "id": "fc_1"}, OUTPUT],
    [{**CALL, "type": "custom_tool_call", "input": "", "id": "ctc_1"}, OUTPUT],
    [THOUGHT, {**CALL, "id": "fc_1"}, OUTPUT, SAID],
]


@pytest.mark.parametrize("given_items", CUT)
def test_an_id_is_kept_behind_its_own_reasoning_only(given_items: list[dict[str, Any]]) -> None:
    """Where the reasoning was folded away, the model's items go without ids, whatever precedes."""
    behind = [{**THOUGHT, "id": "rs_2"}, {**SAID, "id": "msg_2"}]
    rendered = render_openai_responses(from_openai_responses([*given_items, USER, *behind]))

    kept = [item["id"] for item in rendered[: len(given_items)] if "id" in item]
    assert kept == (["rs_1", "fc_1"] if THOUGHT in given_items else [])
    assert rendered[len(given_items) :] == [USER, *behind]
    assert check_openai_responses(rendered) == ()


def test_an_id_is_sent_once() -> None:
    """Reasoning that is there twice is left out, and what was made of it loses its id."""
    view = from_openai_responses([THOUGHT, SAID, USER, THOUGHT, SAID, {**USER, "id": "msg_9"}])
    rendered = render_openai_responses(view)

    assert rendered[:3] == [THOUGHT, SAID, USER]
    assert [item.get("id") for item in rendered[3:]] == [None, "msg_9"]
    assert check_openai_responses(rendered) == ()


def test_an_approval_is_a_pair() -> None:
    """The request to approve and the answer are a call and its response, kept as they came."""
    request = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "arguments": "{}"}
    answer = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
    asked, answered = from_openai_responses([request, answer])

    assert (asked.role, answered.role) == ("assistant", "tool")
    assert asked.parts == (ToolCallPart("mcpr_1", "f", "{}"),)
    assert answered.parts == (ToolCallResponsePart("mcpr_1", '{"approve":true}'),)
    assert render_openai_responses([asked, answered]) == [request, answer]
    (refused,) = from_openai_responses([{**answer, "approve": False, "reason": "no"}])
    assert refused.parts == (ToolCallResponsePart("mcpr_1", '{"approve":false,"reason":"no"}'),)


def test_reasoning_alone_is_left_out() -> None:
    """Reasoning that nothing of the model follows is left out, other reasoning stays."""
    user = {"role": "user", "content": "go on"}
    second = {**THOUGHT, "id": "rs_2"}
    third = {**THOUGHT, "id": "rs_3"}

    rendered = render_openai_responses(
        from_openai_responses([THOUGHT, user, second, third, SAID, user, {**THOUGHT, "id": "rs_4"}])
    )

    assert rendered == [user, second, third, SAID, user]


DIRTY: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": None}],
    [{"role": "user", "content": "\ud800", "zz": float("inf")}],
    [{"role": "user", "content": "x"}, {**SAID, "id": "chatcmpl-1"}],
    [{"role": "user", "content": "x"}, {**SAID, "id": None}],
    [{**CALL, "call_id": "", "name": ""}, {**OUTPUT, "call_id": ""}],
    [{**CALL, "call_id": "x" * 65}, {**OUTPUT, "call_id": "x" * 65}],
    [CALL, OUTPUT, CALL, OUTPUT],
    [THOUGHT, {"role": "user", "content": "x"}],
]


@pytest.mark.parametrize("given_items", DIRTY)
def test_what_the_vendor_refuses_is_repaired(given_items: list[dict[str, Any]]) -> None:
    """A rendering is valid where the items it is made of are not, and leaves them untouched."""
    before = encode_json(given_items)

    assert check_openai_responses(render_openai_responses(from_openai_responses(given_items))) == ()
    assert encode_json(given_items) == before


@given(st.lists(st.sampled_from([*ORDINARY[:4], SAID, THOUGHT]), max_size=6))
def test_longer_views_begin_like_shorter_ones(given_items: list[dict[str, Any]]) -> None:
    """A view that grows keeps the rendering of what was there before, unless that was nothing."""
    view = from_openai_responses(given_items)
    whole = render_openai_responses(view)
    nothing = render_openai_responses([])

    for stop in range(1, len(view)):
        shorter = render_openai_responses(view[:stop])
        assert whole[: len(shorter)] == shorter or shorter == nothing


@pytest.mark.parametrize("kind", ["custom_tool_call", "shell_call", "tool_search_call"])
def test_a_call_and_its_output_are_of_one_kind(kind: str) -> None:
    """Of another tool than a function both become a function's if one was made or shortened."""
    call = {"type": kind, "call_id": "c", "name": "n", "input": "{}"}
    read = from_openai_responses([call, {"role": "user", "content": "?"}])
    for view in (repair(read), (read[0], Message.tool("c", "[cleared]"), read[1])):
        rendered = render_openai_responses(view)

        assert [item.get("type") for item in rendered] == [*_FUNCTION, None]
        assert check_openai_responses(rendered) == ()


_FUNCTION = ("function_call", "function_call_output")


def test_a_search_for_tools_that_the_client_answered_is_answered() -> None:
    """The call and what was found stay as they are; so does a search by the vendor itself."""
    items: list[dict[str, Any]] = []
    for side, call_id in (("client", "c"), ("server", None)):
        own = {"call_id": call_id, "execution": side}
        items.append({"type": "tool_search_call", **own, "arguments": {}})
        items.append({"type": "tool_search_output", **own, "tools": []})

    assert render_openai_responses(repair(from_openai_responses(items))) == items
