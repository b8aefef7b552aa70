"""OpenTelemetry GenAI messages, both ways."""

from typing import Any

from foldline.history.formats.otel import to_otel
from foldline.history.messages import Message
from foldline.history.parts import GenericPart, Part, TextPart, ToolCallPart, ToolCallResponsePart


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

LOOSE: list[tuple[dict[str, Any], Part]] = [
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

ORDINARY = [{"role": "assistant", "parts": [block], "name": "ann"} for block in BLOCKS]
READ = [({"role": "assistant", "parts": [block]}, "assistant", (part,)) for block, part in LOOSE]

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
