"""What is bound to everything before it leaves an answer; what is sealed is found in it."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from foldline.history.formats import CONVERTERS
from foldline.history.formats.anthropic import from_anthropic, to_anthropic
from foldline.history.formats.openai_chat import from_openai_chat, to_openai_chat
from foldline.history.formats.openai_responses import from_openai_responses, to_openai_responses
from foldline.history.messages import Message, Native, NativeFormat
from foldline.history.parts import CompactionPart, Part, ReasoningPart, ToolCallPart
from foldline.history.signed import (
    bound,
    is_signed,
    only_sealed,
    sendable,
    still_reasoned,
    without_signed,
)


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "S"}
HIDDEN = {"type": "redacted_thinking", "data": "XX"}
SAID = {"type": "text", "text": "so", "cache_control": {"type": "ephemeral"}}
CALL = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
SUMMARY = {"type": "compaction", "content": "Earlier: AB1.", "signature": "C"}
OPENAI_SUMMARY = {"type": "compaction", "id": "cmp_1", "encrypted_content": "AAAA"}


def answer(*blocks: dict[str, Any], role: str = "assistant") -> Message:
    (message,) = from_anthropic([{"role": role, "content": [*blocks]}])
    return message


def test_bound_thinking_leaves() -> None:
    """Thinking that is signed or hidden goes, the rest is what the vendor wrote."""
    left = without_signed(answer(THOUGHT, HIDDEN, SAID, THOUGHT, CALL))

    assert left is not None
    assert to_anthropic([left]) == [{"role": "assistant", "content": [SAID, CALL]}]


def test_parts_and_item_agree() -> None:
    """What is left has the parts of its item, and says the same as if read from it."""
    left = without_signed(answer(THOUGHT, SAID, HIDDEN, CALL))

    assert left == answer(SAID, CALL)


def test_needless_item_goes() -> None:
    """What the parts can write alone keeps no item."""
    left = without_signed(answer(THOUGHT, {"type": "text", "text": "so"}))

    assert left is not None
    assert to_anthropic([left]) == [
        {"role": "assistant", "content": [{"type": "text", "text": "so"}]}
    ]


def test_items_of_one_answer() -> None:
    """An answer of several items loses the item that was thinking alone."""
    items = [
        {"role": "assistant", "content": [THOUGHT]},
        {"role": "assistant", "content": "first"},
        {"role": "assistant", "content": [HIDDEN, CALL]},
    ]
    (message,) = from_anthropic(items)
    left = without_signed(message)

    assert left is not None
    assert to_anthropic([left]) == [items[1], {"role": "assistant", "content": [CALL]}]


def test_nothing_but_thinking() -> None:
    """An answer that is bound thinking alone leaves nothing."""
    assert without_signed(answer(THOUGHT, HIDDEN)) is None


def test_fields_of_the_owner_stay() -> None:
    """Id, metadata and usage are those of the whole answer."""
    message = replace(answer(THOUGHT, SAID), id="m1", metadata={"a": 1})
    left = without_signed(message)

    assert left is not None
    assert (left.id, left.metadata) == ("m1", {"a": 1})


ROUTED = {"type": "reasoning.text", "text": "hm", "signature": "S", "format": "anthropic-claude-v1"}
OTHERS = {"type": "reasoning.encrypted", "data": "E", "format": "google-gemini-v1"}
ASKS = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (
            {"content": "so", "reasoning": "hm", "reasoning_details": [ROUTED]},
            {"content": "so"},
        ),
        (
            {"content": None, "reasoning_details": [ROUTED, OTHERS], "tool_calls": [ASKS]},
            {"content": None, "reasoning_details": [OTHERS], "tool_calls": [ASKS]},
        ),
        (
            {"content": "so", "thinking_blocks": [THOUGHT, HIDDEN], "reasoning_content": "hm"},
            {"content": "so"},
        ),
        ({"content": "", "thinking_blocks": [THOUGHT]}, None),
    ],
)
def test_bound_thinking_of_gateways(given: dict[str, Any], left: dict[str, Any] | None) -> None:
    """Thinking of Anthropic that came through a gateway goes too, and only that."""
    (message,) = from_openai_chat([{"role": "assistant", **given}])
    found = without_signed(message)

    assert is_signed(message)
    assert (None if found is None else to_openai_chat([found])) == (
        None if left is None else [{"role": "assistant", **left}]
    )


@pytest.mark.parametrize(
    "message",
    [
        Message.user("hi"),
        Message(role="assistant", parts=(ReasoningPart("hm"),)),
        answer(SAID, CALL),
        answer({"type": "thinking", "thinking": "hm"}, SAID),
        answer({"type": "text", "text": '"signature": "redacted_thinking"'}, SAID),
        *from_openai_chat(
            [{"role": "assistant", "content": "x", "reasoning_content": "hm", "z": 1}]
        ),
        *from_openai_chat(
            [{"role": "assistant", "content": "signature", "reasoning_details": [OTHERS]}]
        ),
        *from_openai_responses(
            [
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"},
                {"role": "assistant", "content": "x"},
            ]
        ),
        Message(
            role="assistant",
            parts=(ReasoningPart("hm"),),
            native=Native(format=NativeFormat.ANTHROPIC, item="", continues=True),
        ),
    ],
)
def test_unbound_is_the_same_object(message: Message) -> None:
    """A message without bound thinking comes back as it is."""
    assert not is_signed(message)
    assert without_signed(message) is message


@pytest.mark.parametrize(
    ("model", "is_bound"),
    [
        ("claude-fable-5-1", True),
        ("claude-opus-5", True),
        ("anthropic.claude-sonnet-5-5-v1:0", True),
        ("claude-haiku-10-1", True),
        ("my-alias", True),
        (7, True),
        ("claude-opus-4-20250514", False),
        ("claude-sonnet-4-6", False),
        ("claude-3-7-sonnet-latest", False),
        ("deepseek-v4", False),
    ],
)
def test_old_models_bind_nothing(model: object, is_bound: bool) -> None:
    """Thinking is bound if the model that wrote it binds, or is unknown."""
    assert is_signed(replace(answer(THOUGHT, SAID), metadata={"model": model})) is is_bound


@pytest.mark.parametrize(
    "block",
    [SUMMARY, {"type": "compaction", "content": None, "encrypted_content": "X"}],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_signed_compaction(block: dict[str, Any], role: str) -> None:
    """A compaction of Anthropic that has to come back verbatim is found without the rest."""
    message = answer(block, SAID, role=role)
    alone = only_sealed(message)

    assert alone is not None
    assert to_anthropic([alone]) == [{"role": role, "content": [block]}]


def test_sealed_compaction_of_openai() -> None:
    """The newest compaction of an answer is found without the items beside it."""
    newest = {**OPENAI_SUMMARY, "id": "cmp_2"}
    items = [OPENAI_SUMMARY, newest, {"role": "assistant", "content": "x"}]
    (message,) = from_openai_responses(items)
    alone = only_sealed(message)

    assert alone is not None
    assert to_openai_responses([alone]) == [newest]


@pytest.mark.parametrize(
    "message",
    [
        Message.user("hi"),
        Message(role="assistant", parts=(CompactionPart("Earlier"),)),
        answer({"type": "compaction", "content": "Earlier", "cache_control": {}}),
        answer({"type": "compaction", "content": None}),
        *from_openai_responses([{"type": "compaction", "id": "cmp_1", "encrypted_content": ""}]),
        *CONVERTERS[NativeFormat.OTEL].messages(
            [{"role": "assistant", "parts": [{"type": "compaction", "content": "Earlier", "z": 1}]}]
        ),
    ],
)
def test_open_compaction(message: Message) -> None:
    """A compaction that anyone can read, or that holds nothing, is not sealed."""
    assert only_sealed(message) is None


OPENING = b"model and tools"
RULE, ASKED, AGAIN = Message.system("be brief"), Message.user("q"), Message.user("and?")


def conversation() -> list[Message]:
    """Return a conversation of two answers, each bound to the request before it."""
    said = [RULE, ASKED]
    said += bound([answer(THOUGHT, SAID)], said, OPENING)
    said.append(AGAIN)
    return [*said, *bound([answer(HIDDEN, CALL)], said, OPENING)]


def kept(view: Sequence[Message], opening: bytes = OPENING) -> list[bool]:
    """Return for each answer in *view* whether its thinking is sent."""
    return [is_signed(one) for one in sendable(view, opening) if one.role == "assistant"]


def test_what_nothing_has_changed_is_sent() -> None:
    """A conversation that has only grown is sent as it is."""
    said = conversation()

    assert sendable([*said, ASKED], OPENING) == (*said, ASKED)


def test_a_change_takes_the_thinking_after_it() -> None:
    """Whatever differs before a thought, it is left out; what is before the change stays."""
    said = conversation()
    edited = Message.user("other")

    assert kept(said, b"other tools") == [False, False]
    assert kept([Message.system("be long"), *said[1:]]) == [False, False]
    assert kept([*said, Message.system("one more rule")]) == [False, False]
    assert kept([RULE, edited, *said[2:]]) == [False, False]
    assert kept([*said[:3], edited, said[4]]) == [True, False]
    assert kept([RULE, *said[3:]]) == [False]
    assert kept([said[1], said[2], RULE, *said[3:]]) == [True, True]


def test_a_thought_left_out_takes_the_later_ones() -> None:
    """Of an answer that has lost its note the thinking goes, and so does what was made after it."""
    said = conversation()
    said[2] = replace(said[2], metadata=None)

    assert kept(said) == [False, False]
    assert len(sendable(said, OPENING)) == len(said)


def test_what_was_made_without_it_stays() -> None:
    """Thinking that was made after a changed view is bound to that view."""
    changed = [Message.system("be long"), *conversation()[1:]]
    view = [*sendable(changed, OPENING), AGAIN]
    said = [*changed, AGAIN, *bound([answer(THOUGHT, SAID)], view, OPENING)]

    assert kept(said) == [False, False, True]


def test_an_answer_of_thinking_alone_leaves() -> None:
    """An answer of which nothing would be left is left out."""
    thought = answer(THOUGHT)

    assert sendable([ASKED, thought, AGAIN], OPENING) == (ASKED, AGAIN)


def test_each_message_of_an_answer_is_bound() -> None:
    """A later message of one answer is bound to the earlier ones too."""
    first, second = bound([answer(THOUGHT, SAID), answer(THOUGHT, CALL)], [ASKED], OPENING)

    assert sendable([ASKED, first, second], OPENING) == (ASKED, first, second)
    assert kept([ASKED, answer(SAID), second]) == [False, False]


LONG_CALL = {**ASKS, "function": {"name": "write", "arguments": '{"text": "a"}'}}


@pytest.mark.parametrize(
    ("kept", "sent"),
    [((), "[reasoning left out]"), ((ReasoningPart("hm"),), "hm")],
)
def test_shorter_calls_keep_their_reasoning(kept: tuple[Part, ...], sent: str) -> None:
    """Calls go back with the field that DeepSeek wants, and a note in it if it is not shown."""
    item = {
        "role": "assistant",
        "content": "",
        "reasoning_content": "hm",
        "tool_calls": [LONG_CALL],
    }
    (message,) = from_openai_chat([item])
    shorter = replace(message, parts=(*kept, ToolCallPart("c1", "write", "{}")), native=None)
    found = still_reasoned(message, shorter)

    function = {"name": "write", "arguments": "{}"}
    (back,) = to_openai_chat([found])
    assert (back["reasoning_content"], back["tool_calls"]) == (
        sent,
        [{**ASKS, "function": function}],
    )
    assert found.parts == (ReasoningPart(sent), *shorter.parts[len(kept) :])


@pytest.mark.parametrize(
    "given",
    [
        {"content": "so", "reasoning_content": "hm"},
        {"content": "", "tool_calls": [LONG_CALL], "reasoning": "hm"},
        {"content": "", "tool_calls": [LONG_CALL]},
    ],
)
def test_other_shorter_answers_get_none(given: dict[str, Any]) -> None:
    """An answer without calls, and one without that field, is sent without reasoning."""
    (message,) = from_openai_chat([{"role": "assistant", **given}])
    shorter = replace(message, parts=message.parts[-1:], native=None)

    assert still_reasoned(message, shorter) is shorter
    assert still_reasoned(shorter, shorter) is shorter
