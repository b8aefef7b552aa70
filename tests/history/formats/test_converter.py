"""The frame of the converters: one conversation is the same messages in every wire format."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline import formats
from foldline.errors import ConfigError, FormatError
from foldline.history.codec import decode_message, encode_json, encode_message
from foldline.history.digest import prefix_digest
from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.converter import Converter
from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.formats.openai_responses import OPENAI_RESPONSES
from foldline.history.formats.otel import OTEL
from foldline.history.messages import Message
from foldline.history.parts import FilePart, TextPart


def text(role: str, words: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": words, **more}


def use(number: int) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"c{number}", "name": "f", "input": {"n": number}}


def result(number: int, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{number}", **more}


def words(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def function_call(number: int) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": function(number)}


def function(number: int) -> dict[str, Any]:
    return {"name": "f", "arguments": f'{{"n": {number}}}'}


CHAT = [
    text("system", "Be brief."),
    text("user", "Both?"),
    text("assistant", "I look."),
    {"role": "assistant", "content": None, "tool_calls": [function_call(1), function_call(2)]},
    {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "1"},
    {"role": "tool", "tool_call_id": "c2", "content": "2"},
    text("user", "And?"),
    text("assistant", "Both."),
]
RESPONSES = [
    text("system", "Be brief."),
    text("user", "Both?"),
    {"type": "message", "id": "msg_1", **text("assistant", "I look.")},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", **function(1)},
    {"type": "function_call", "call_id": "c2", **function(2)},
    {"type": "function_call_output", "call_id": "c1", "output": "1"},
    {"type": "function_call_output", "call_id": "c2", "output": "2"},
    text("user", "And?"),
    text("assistant", "Both."),
]
CLAUDE = [
    text("system", "Be brief."),
    text("user", "Both?"),
    {"role": "assistant", "content": [words("I look."), use(1), use(2)]},
    {"role": "user", "content": [result(1), result(2), words("And?")]},
    text("assistant", "Both."),
]
FORMS = [(OPENAI_CHAT, CHAT), (OPENAI_RESPONSES, RESPONSES), (ANTHROPIC, CLAUDE)]
CONVERTERS = [OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, OTEL]


@pytest.mark.parametrize(("converter", "items"), FORMS)
def test_the_forms_of_a_conversation_are_the_same_messages(
    converter: Converter, items: list[dict[str, Any]]
) -> None:
    """Neighboring items of the assistant are one message, and each result is one."""
    messages = converter.messages(items)

    assert [m.role for m in messages] == [
        *("system", "user", "assistant"),
        *("tool", "tool", "user", "assistant"),
    ]
    assert prefix_digest(messages) == prefix_digest(OPENAI_CHAT.messages(CHAT))


@pytest.mark.parametrize(("converter", "items"), FORMS)
def test_every_form_is_written_as_it_came(
    converter: Converter, items: list[dict[str, Any]]
) -> None:
    """Merged and divided items come out byte for byte, also behind a store."""
    messages = [decode_message(encode_message(m)) for m in converter.messages(items)]

    assert encode_json(converter.items(messages)) == encode_json(items)


def test_a_merged_message_keeps_the_first_id() -> None:
    """The items of an answer keep their own ids, and the message has that of the first."""
    answer = OPENAI_RESPONSES.messages(RESPONSES)[2]

    assert answer.id == "msg_1"
    assert [item.get("id") for item in OPENAI_RESPONSES.own_items(answer)] == [
        "msg_1",
        "fc_1",
        None,
    ]


def test_items_of_two_assistants_stay_apart() -> None:
    """Another name is another speaker."""
    messages = OPENAI_CHAT.messages(
        [text("assistant", "a", name="x"), text("assistant", "b", name="y")]
    )

    assert [message.name for message in messages] == ["x", "y"]


def test_each_piece_of_an_item_keeps_its_own_fields() -> None:
    """What a vendor adds to a result or to words is with them, what it adds to an item with the first."""
    item = {
        "role": "user",
        "content": [result(1, cache_control={}), result(2), words("so", citations=[])],
        "extra": 1,
    }
    first, second, said = ANTHROPIC.messages([item])

    assert ANTHROPIC.own_items(first) == [{**item, "content": [result(1, cache_control={})]}]
    assert ANTHROPIC.own_items(second) == [{"role": "user", "content": [result(2)]}]
    assert ANTHROPIC.items([said]) == [{"role": "user", "content": [words("so", citations=[])]}]


def test_a_piece_behind_other_messages_is_an_item_of_its_own() -> None:
    """In a view a piece may stand without the one that it continues."""
    said = ANTHROPIC.messages([{"role": "user", "content": [result(1), words("so")]}])[1]
    answer = ANTHROPIC.message(text("assistant", "yes"))

    assert [item["role"] for item in ANTHROPIC.items([answer, said])] == ["assistant", "user"]


def test_an_error_names_the_place_of_the_item() -> None:
    """Places count items as they came, whatever became one message."""
    with pytest.raises(FormatError, match="message 3: "):
        OPENAI_CHAT.messages([*CHAT[1:4], {"role": "nobody"}])


BLOCKS = st.lists(
    st.sampled_from([result(1), result(2), words("a"), words("b", extra=1), words("")]), max_size=4
)
ITEMS = st.lists(
    st.one_of(
        st.builds(
            text, st.sampled_from(["user", "assistant", "system"]), st.sampled_from(["", "a"])
        ),
        st.builds(lambda blocks: {"role": "user", "content": blocks, "extra": 1}, BLOCKS),
        st.builds(lambda blocks: {"role": "user", "content": blocks}, BLOCKS),
        st.just({"role": "assistant", "content": [words("I"), use(1), use(2)]}),
        st.just({"role": "assistant", "content": []}),
    ),
    max_size=8,
)


@given(ITEMS)
def test_anthropic_items_of_every_kind_round_trip(items: list[dict[str, Any]]) -> None:
    """However results, words and answers follow one another, the same bytes come out."""
    assert encode_json(ANTHROPIC.items(ANTHROPIC.messages(items))) == encode_json(items)


@given(ITEMS, st.sampled_from(CONVERTERS))
def test_what_is_written_is_read_alike(items: list[dict[str, Any]], converter: Converter) -> None:
    """Whatever a format can express of a conversation has the same digest there, both ways."""
    written = converter.items(OPENAI_CHAT.messages(OPENAI_CHAT.items(ANTHROPIC.messages(items))))
    again = converter.items(converter.messages(written))

    assert encode_json(again) == encode_json(written)


@pytest.mark.parametrize(
    ("write", "reader"),
    [
        (formats.to_openai_chat, "from_openai_chat"),
        (formats.to_openai_responses, "from_openai_responses"),
        (formats.to_anthropic, "from_anthropic"),
        (formats.to_otel, "from_otel"),
        (formats.render_openai_chat, "from_openai_chat"),
        (formats.render_openai_responses, "from_openai_responses"),
        (formats.render_anthropic, "from_anthropic"),
    ],
)
def test_an_item_must_be_read_before_it_is_written(write: Any, reader: str) -> None:
    """The error for an item in place of a message names the place and the function that reads it."""
    expected = rf"^messages\[1\] must be a Message, got dict: read it with {reader}$"

    with pytest.raises(ConfigError, match=expected):
        write([Message.user("a"), text("user", "hi")])
    with pytest.raises(ConfigError, match=r"^messages must be an Iterable, got None$"):
        write(None)


@pytest.mark.parametrize("converter", [ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES])
@pytest.mark.parametrize("id", ["file-1", "file_1", "file-service://f"])
def test_a_file_of_another_vendor_is_a_mark(converter: Converter, id: str) -> None:
    """A file is named by its id only to the vendor that has it; another one would refuse the request."""
    said = Message(role="user", parts=(TextPart("See"), FilePart("document", id)))

    built = json.dumps(converter.build(said))

    assert (id in built) == id.startswith("file_" if converter is ANTHROPIC else "file-1")
    assert ("[document]" in built) == (id not in built)
