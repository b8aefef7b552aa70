"""OpenTelemetry GenAI messages, both ways."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.errors import FormatError
from foldline.history.codec import canonical_json, encode_json
from foldline.history.formats.otel import (
    OTEL,
    from_otel,
    message_from_otel,
    to_otel,
)
from foldline.history.messages import Message
from foldline.history.parts import (
    GenericPart,
    Part,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)


BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "content": "hi"},
    {"type": "reasoning", "content": "hm"},
    {"type": "compaction", "content": "before"},
    {"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": [1, None]}},
    {"type": "tool_call", "id": "c", "name": "f", "arguments": "{not json"},
    {"type": "tool_call_response", "id": "c", "response": "found"},
    {
        "type": "tool_call_response",
        "id": "c",
        "response": [
            {"type": "text", "content": "x"},
            {"type": "uri", "modality": "image", "uri": "https://example.org"},
        ],
    },
    {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AA"},
    {"type": "blob", "modality": "image", "content": "AA"},
    {"type": "uri", "modality": "video", "uri": "https://example.org"},
    {"type": "file", "modality": "document", "file_id": "f"},
    {"type": "new", "x": [1.5]},
    {"type": "blob"},
]

READ: list[tuple[dict[str, Any], Part]] = [
    ({"type": "tool_call", "name": "f"}, ToolCallPart("", "f", "")),
    ({"type": "tool_call", "id": "c", "name": "f", "arguments": 5}, ToolCallPart("c", "f", "5")),
    (
        {"type": "tool_call", "id": "c", "name": "f", "arguments": '{"a":1}'},
        ToolCallPart("c", "f", '{"a":1}'),
    ),
    ({"type": "tool_call_response", "result": "r"}, ToolCallResponsePart("", "r")),
    ({"type": "tool_call_response", "id": "c"}, ToolCallResponsePart("c", "")),
    (
        {"type": "tool_call_response", "id": "c", "response": {"a": 1}},
        ToolCallResponsePart("c", '{"a":1}'),
    ),
    (
        {"type": "tool_call_response", "id": "c", "response": [{"a": 1}]},
        ToolCallResponsePart("c", '[{"a":1}]'),
    ),
    (
        {"type": "tool_call_response", "id": "c", "response": [1]},
        ToolCallResponsePart("c", "[1]"),
    ),
    (
        {"type": "tool_call_response", "id": "c", "response": [{"type": "text"}]},
        ToolCallResponsePart("c", (GenericPart("text", '{"type":"text"}'),)),
    ),
    (
        {
            "type": "tool_call_response",
            "id": "c",
            "response": [{"type": "reasoning", "content": "x"}],
        },
        ToolCallResponsePart(
            "c", (GenericPart("reasoning", '{"type":"reasoning","content":"x"}'),)
        ),
    ),
]

WRONG: list[tuple[Any, str]] = [
    (None, "message 1: the message is not an object"),
    ({"role": "robot", "parts": []}, "role 'robot' is not one of"),
    ({"role": "user"}, "parts is not a list"),
    ({"role": "user", "parts": [1]}, r"parts\[0\] is not an object"),
    ({"role": "user", "parts": [{}]}, r"parts\[0\].type is not a string"),
    ({"role": "user", "parts": [{"type": "text"}]}, r"parts\[0\].content is not a string"),
    ({"role": "user", "parts": [{"type": "tool_call"}]}, r"parts\[0\].name is not a string"),
    ({"role": "user", "parts": [{"type": "tool_call_response", "id": 1}]}, r"\.id is not a"),
    ({"role": "user", "parts": [], "name": 1}, "name is not a string"),
]

# JSON cannot carry two halves of one character apart, so neither can any item.
TEXTS = st.text(max_size=8).map(lambda text: json.loads(json.dumps(text)))
SOME_TEXT = st.one_of(TEXTS, st.sampled_from(["", "\x00", "\ud800", "null", "[1]", '{"a":1}']))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), SOME_TEXT),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(SOME_TEXT, inner, max_size=2)
    ),
    max_leaves=4,
)
EXTRAS = st.dictionaries(st.sampled_from(["finish_reason", "zz"]), VALUES, max_size=2)
PARTS = st.one_of(
    st.sampled_from(BLOCKS),
    st.builds(lambda text: {"type": "text", "content": text}, SOME_TEXT),
    st.builds(
        lambda value, extra: {
            "type": "tool_call",
            "id": "c",
            "name": "f",
            "arguments": value,
            **extra,
        },
        VALUES,
        EXTRAS,
    ),
    st.builds(lambda value: {"type": "tool_call_response", "id": "c", "response": value}, VALUES),
    st.builds(lambda extra: {"type": "new", **extra}, EXTRAS),
)


@given(
    st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
    st.lists(PARTS, max_size=3),
    EXTRAS,
)
def test_round_trip_is_byte_equal(
    role: str, parts: list[dict[str, Any]], extra: dict[str, Any]
) -> None:
    """Whatever comes in goes out as the same bytes, in canonical form and with keys in order."""
    item = {"role": role, "parts": parts, **extra}

    assert encode_json(to_otel(from_otel([item]))) == encode_json([item])
    assert canonical_json(to_otel(from_otel([item]))) == canonical_json([item])


@pytest.mark.parametrize("block", BLOCKS)
def test_ordinary_parts_are_kept_once(block: dict[str, Any]) -> None:
    """A part of the conventions is written again from ours, so no second copy of it is kept."""
    item = {"role": "assistant", "parts": [block], "name": "ann"}
    message = message_from_otel(item)

    assert message.native is None
    assert message.name == "ann"
    assert OTEL.own_items(message) == [item]


@pytest.mark.parametrize(("block", "part"), READ)
def test_parts_are_read(block: dict[str, Any], part: Part) -> None:
    """Each looser form of a part is read, and comes out as it was."""
    item = {"role": "assistant", "parts": [block]}
    message = message_from_otel(item)

    assert message.parts == (part,)
    assert to_otel([message]) == [item]


@pytest.mark.parametrize(("item", "error"), WRONG)
def test_wrong_shapes_are_named(item: Any, error: str) -> None:
    """An item of the wrong shape is refused with its place and the field."""
    with pytest.raises(FormatError, match=error):
        from_otel([{"role": "user", "parts": []}, item])


def test_foreign_parts_have_a_place() -> None:
    """A part of a kind that only another vendor knows is written with its kind and data."""
    parts = (TextPart("x"), GenericPart("odd", "[1]"), GenericPart("odd", "{not json"))

    assert to_otel([Message(role="user", parts=parts)]) == [
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "x"},
                {"type": "odd", "data": [1]},
                {"type": "odd", "data": "{not json"},
            ],
        }
    ]
