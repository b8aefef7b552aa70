"""Formats that are named wrongly."""

import json
from typing import Any

import pytest

from foldline.errors import FormatError
from foldline.logs import read_sessions


USER = {"role": "user", "content": "hello"}
TOOL_USE = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
TOOL_RESULT = {"type": "tool_result", "tool_use_id": "c", "content": "seen"}
FUNCTION = {"name": "look", "arguments": "{}"}
CALL = {"id": "c", "type": "function", "function": FUNCTION}

USES = {"role": "assistant", "content": [{"type": "text", "text": "I look."}, TOOL_USE]}
ANSWERS = {"role": "user", "content": [TOOL_RESULT]}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "c", "content": "seen"}
ITEM = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}


@pytest.mark.parametrize(
    ("item", "format", "sign"),
    [
        (USES, "openai-chat", "a block tool_use is anthropic"),
        (ANSWERS, "openai-chat", "a block tool_result is anthropic"),
        (ANSWERS, "openai-responses", "a block tool_result is anthropic"),
        (CALLS, "anthropic", "tool_calls is openai-chat"),
        (TOLD, "anthropic", "the role tool is openai-chat"),
        (TOLD, "openai-responses", "the role tool is openai-chat"),
        (ITEM, "openai-chat", "an item function_call is openai-responses"),
    ],
)
def test_another_vendors_shapes_are_refused(item: dict[str, Any], format: str, sign: str) -> None:
    """In a list, in lines, in a body and in a proxy's record the message is named."""
    body = {"model": "m", "messages": [USER, item]}
    lines = "\n".join(map(json.dumps, [USER, item]))

    for text, place in (
        (json.dumps([USER, item]), "document: message 1"),
        (lines, "line 2"),
        (json.dumps(body), "document: message 1"),
        (json.dumps({"request": body}), "document: message 1"),
        (json.dumps({"request": {"body": body}}), "document: message 1"),
    ):
        with pytest.raises(FormatError, match=f"{place}: {sign}, not {format}: leave out"):
            read_sessions(text.encode(), format=format)


def test_the_vendors_own_shapes_are_read() -> None:
    """What is named rightly is read as before, empty fields of another vendor's included."""
    empty = {**USER, "tool_calls": None}

    (anthropic,) = read_sessions(json.dumps([USER, USES, ANSWERS]).encode(), format="anthropic")
    (chat,) = read_sessions(json.dumps([USER, CALLS, TOLD]).encode(), format="openai-chat")
    (named,) = read_sessions(json.dumps([CALLS, TOLD]).encode(), format="chat-jsonl")
    (plain,) = read_sessions(json.dumps([USER, USES]).encode(), format="chat-jsonl")
    (lenient,) = read_sessions(json.dumps([empty]).encode(), format="anthropic")

    read = (anthropic, chat, named, plain, lenient)
    assert [len(session.messages) for session in read] == [3, 3, 2, 2, 1]
    assert len(plain.messages[1].tool_calls) == 1
