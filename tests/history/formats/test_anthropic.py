"""Anthropic Messages messages, both ways."""

from typing import Any

import pytest

from foldline.history.digest import message_digest
from foldline.history.formats.anthropic import message_from_anthropic, to_anthropic
from foldline.history.messages import Message
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


MARK = {"cache_control": {"type": "ephemeral"}}
CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "found"}
FAILED = GenericPart("is_error", '{"type":"is_error"}')
ABOUT = {
    "type": "document",
    "title": "Plan",
    "context": "due Monday",
    "source": {"type": "file", "file_id": "f"},
}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}

ORDINARY: list[dict[str, Any]] = [
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "hi"},
    {"role": "user", "content": ""},
    {"role": "user", "content": []},
    {"role": "assistant", "content": [{"type": "text", "text": "so"}, CALL]},
    {"role": "user", "content": [RESULT]},
    {"role": "user", "content": [{**RESULT, "is_error": True}]},
    {"role": "user", "content": [RESULT, {"type": "text", "text": "and"}]},
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "c1",
                "content": [
                    {"type": "text", "text": "see"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "AA"},
                    },
                ],
            }
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "image", "source": {"type": "url", "url": "https://example.org"}},
            {"type": "document", "source": {"type": "file", "file_id": "f"}},
        ],
    },
]

READ: list[tuple[dict[str, Any], str, tuple[Part, ...]]] = [
    ({"role": "user"}, "user", ()),
    ({"role": "user", "content": [RESULT]}, "tool", (ToolCallResponsePart("c1", "found"),)),
    (
        {"role": "user", "content": [RESULT, {"type": "text", "text": "and"}]},
        "user",
        (ToolCallResponsePart("c1", "found"), TextPart("and")),
    ),
    (
        {"role": "assistant", "content": [RESULT]},
        "assistant",
        (ToolCallResponsePart("c1", "found"),),
    ),
    (
        {"role": "system", "content": [{"type": "text", "text": "x", **MARK}]},
        "system",
        (TextPart("x"),),
    ),
    (
        {
            "role": "assistant",
            "content": [
                THOUGHT,
                {"type": "redacted_thinking", "data": "x"},
                {"type": "compaction", "content": "before"},
                {"type": "compaction", "content": None},
                {"type": "server_tool_use", "id": "s"},
            ],
        },
        "assistant",
        (
            ReasoningPart("hm"),
            ReasoningPart(""),
            CompactionPart("before"),
            CompactionPart(""),
            GenericPart("server_tool_use", '{"type":"server_tool_use","id":"s"}'),
        ),
    ),
    (
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f"}]},
        "assistant",
        (ToolCallPart("c", "f", ""),),
    ),
    (
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "is_error": True}],
        },
        "tool",
        (ToolCallResponsePart("c", (TextPart(""), FAILED)),),
    ),
    (
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c",
                    "content": [{"type": "text", "text": "a"}, ABOUT],
                    "is_error": True,
                },
            ],
        },
        "tool",
        (
            ToolCallResponsePart(
                "c",
                (
                    TextPart("a"),
                    TextPart("Plan"),
                    TextPart("due Monday"),
                    FilePart("document", "f"),
                    FAILED,
                ),
            ),
        ),
    ),
    (
        {"role": "user", "content": [ABOUT, {**ABOUT, "title": None, "context": None}]},
        "user",
        (
            TextPart("Plan"),
            TextPart("due Monday"),
            FilePart("document", "f"),
            FilePart("document", "f"),
        ),
    ),
    (
        {
            "role": "user",
            "content": [
                {"type": "document", "source": {"type": "text", "data": "plain"}},
                {"type": "document", "source": {"type": "new"}},
                {"type": "image"},
            ],
        },
        "user",
        (
            TextPart("plain"),
            GenericPart("document", '{"type":"document","source":{"type":"new"}}'),
            GenericPart("image", '{"type":"image"}'),
        ),
    ),
    (
        {"role": "user", "content": [{"type": "other", "tool_use_id": "c", "content": "x"}]},
        "user",
        (GenericPart("other", '{"type":"other","tool_use_id":"c","content":"x"}'),),
    ),
]

WRONG: list[tuple[Any, str]] = [
    ([], "message 1: the message is not an object"),
    ({"content": "x"}, "it has no role"),
    ({"role": "tool", "content": "x"}, "role 'tool' is not one of"),
    ({"role": "user", "content": 5}, "content is neither a string nor a list"),
    ({"role": "user", "content": ["x"]}, r"content\[0\] is not an object"),
    ({"role": "user", "content": [{}]}, r"content\[0\].type is not a string"),
    ({"role": "user", "content": [{"type": "text"}]}, r"content\[0\].text is not a string"),
    ({"role": "user", "content": [{"type": "thinking"}]}, r"\.thinking is not a string"),
    ({"role": "user", "content": [{"type": "compaction", "content": 1}]}, r"\.content is not a"),
    ({"role": "user", "content": [{"type": "tool_use"}]}, r"content\[0\].id is not a string"),
    ({"role": "user", "content": [{"type": "tool_use", "id": "c"}]}, r"\.name is not a string"),
    ({"role": "user", "content": [{"type": "tool_result"}]}, r"\.tool_use_id is not a string"),
    (
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": 1}]},
        r"content\[0\].content is neither",
    ),
    (
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [1]}]},
        r"content\[0\].content\[0\] is not an object",
    ),
]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([ABOUT], [{**ABOUT, "title": "Plans"}]),
        ([ABOUT], [{**ABOUT, "context": "due Friday"}]),
        ([RESULT], [{**RESULT, "is_error": True}]),
        ([{**RESULT, "content": None}], [{**RESULT, "content": None, "is_error": True}]),
    ],
)
def test_what_is_said_is_in_the_digest(
    before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    """An edit of a document's title or context, or of a tool's success, is an edit."""
    old = message_from_anthropic({"role": "user", "content": before})
    new = message_from_anthropic({"role": "user", "content": after})

    assert message_digest(old) != message_digest(new)


def test_a_failure_survives_without_the_item() -> None:
    """That a tool failed is written from the parts alone, beside one text or several blocks."""
    one = Message(role="tool", parts=(ToolCallResponsePart("c1", (TextPart("found"), FAILED)),))
    two = (TextPart("a"), TextPart("b"), FAILED)
    more = Message(role="tool", parts=(ToolCallResponsePart("c1", two),))
    texts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]

    assert to_anthropic([one, more]) == [
        {"role": "user", "content": [{**RESULT, "is_error": True}]},
        {"role": "user", "content": [{**RESULT, "content": texts, "is_error": True}]},
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a":1}', {"a": 1}),
        ("", {}),
        ("[1]", {"arguments": [1]}),
        ('{"a', {"arguments": '{"a'}),
    ],
)
def test_arguments_become_an_object(arguments: str, expected: dict[str, Any]) -> None:
    """Arguments that are no JSON object are wrapped into one."""
    message = Message.assistant(tool_calls=[ToolCallPart("c", "f", arguments)])

    assert to_anthropic([message])[0]["content"][0]["input"] == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Message(role="assistant", parts=(ReasoningPart("hm"), CompactionPart(""))), []),
        (Message(role="system", parts=(ToolCallPart("c", "f", "{}"),)), []),
        (Message(role="assistant"), [{"role": "assistant", "content": []}]),
        (Message(role="tool", parts=(TextPart("x"),)), [{"role": "user", "content": "x"}]),
        (
            Message(
                role="assistant",
                parts=(TextPart("so"), ToolCallResponsePart("c1", "found"), FilePart("image", "f")),
            ),
            [
                {"role": "user", "content": [RESULT]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "so"},
                        {"type": "text", "text": "[image]"},
                    ],
                },
            ],
        ),
        (
            Message(
                role="user",
                parts=(
                    CompactionPart("a"),
                    BlobPart("audio", "audio/wav", "A"),
                    UriPart("video", "u"),
                ),
            ),
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "a"},
                        {"type": "text", "text": "[audio]"},
                        {"type": "text", "text": "u"},
                    ],
                }
            ],
        ),
    ],
)
def test_foreign_messages_are_written(message: Message, expected: list[dict[str, Any]]) -> None:
    """A message that this format does not know is written as the nearest it has."""
    assert to_anthropic([message]) == expected
