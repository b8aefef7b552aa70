"""Conversations that are read message by message."""

import json
from pathlib import Path
from typing import Any

import pytest

from foldline.errors import FormatError
from foldline.history.codec import encode_message
from foldline.history.messages import Message
from foldline.logs.sessions import read_sessions
from foldline.logs.stream import stream_of


_CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello", "session_id": "one"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "done"},
    {"role": "assistant", "content": "Done."},
]
_ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "done"}]},
]
_RESPONSES: list[dict[str, Any]] = [
    {"role": "user", "content": "Hello"},
    {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "1", "output": "done"},
]
_SHARED = [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Good day"}]


def _lines(items: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(item).encode() + b"\n" for item in items]


@pytest.mark.parametrize(
    "lines",
    [
        _lines(_CHAT),
        _lines(_ANTHROPIC),
        _lines(_RESPONSES),
        _lines(_SHARED),
        [encode_message(Message.user("Hello")), encode_message(Message.assistant("Good day"))],
        [b"\n", *_lines(_CHAT), b"  \n", b"\x00\x00"],
        [*_lines(_CHAT), b'{"role": "user", "cont'],
        # A hundred plain lines, and then one that shows the vendor.
        [*_lines([{"role": "user", "content": "Hello"}] * 150), *_lines(_ANTHROPIC)],
    ],
    ids=["chat", "anthropic", "responses", "sharegpt", "foldline", "blank", "damaged", "late"],
)
def test_the_messages_are_those_of_the_whole(lines: list[bytes]) -> None:
    """Line by line the same messages are read as at once, with the same notes, and again if asked."""
    (whole,) = read_sessions(b"\n".join(lines))

    stream = stream_of([line.strip(b"\n") for line in lines])

    assert stream is not None
    for _ in range(2):
        assert tuple(stream.messages()) == whole.messages
    assert stream.format == whole.format
    assert [note.partition(",")[2] for note in stream.notes] == [
        note.partition(",")[2] for note in whole.notes
    ]
    assert (stream.id or "session") == whole.id


@pytest.mark.parametrize(
    "lines",
    [
        [],
        _lines(_CHAT[1:2]),
        [b"{", b"}"],
        [b"{", *_lines(_CHAT)],
        [b"[1]", b"[2]"],
        _lines([{"messages": _CHAT}, {"messages": _CHAT}]),
        _lines([*_CHAT, {"role": "user", "content": "Hello", "session_id": "two"}]),
        _lines([{"some": "thing"}, {"some": "other"}]),
        _lines([{"type": "session_meta", "payload": {}}, {"type": "response_item", "payload": {}}]),
        _lines([*_CHAT[:1] * 150, {"role": "tool", "content": [{"toolCallId": "1"}]}]),
    ],
)
def test_other_logs_are_read_as_a_whole(lines: list[bytes]) -> None:
    """What is no log of one message a line, or of several conversations, is left to `read_sessions`."""
    assert stream_of(lines) is None


@pytest.mark.parametrize(
    ("format", "streams"), [(None, True), ("chat-jsonl", True), ("openai-chat", False)]
)
def test_a_vendors_format_is_checked_elsewhere(format: str | None, streams: bool) -> None:
    """Only the plain chat log may be named; what a vendor's format is given for is read at once."""
    assert (stream_of(_lines(_CHAT), format=format) is not None) is streams
    assert stream_of(_lines(_ANTHROPIC), format="chat-jsonl") is None


def test_a_line_that_is_no_message_is_named(tmp_path: Path) -> None:
    """The error is that of `read_sessions`."""
    lines = _lines([*_CHAT, {"role": "user", "content": 7}])
    stream = stream_of(lines)
    assert stream is not None

    with pytest.raises(FormatError) as one:
        list(stream.messages())
    with pytest.raises(FormatError) as other:
        read_sessions(b"".join(lines))

    assert str(one.value) == str(other.value)
