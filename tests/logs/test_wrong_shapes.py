"""Records of the wrong shape in logs of every format."""

from typing import Any

import pytest

from foldline.errors import FormatError
from tests.logs.reading import read


HI = {"role": "user", "content": "Hi."}
OTEL = {"role": "user", "parts": [{"type": "text", "content": "Hi."}]}
AIDER = {"id": "a", "started_at": "", "messages": [HI]}
CODEX = {"type": "response_item", "payload": {"type": "message", **HI}}
EVENT = {"source": "user", "action": "message", "args": {"content": "Hi."}}
OBSERVATION = {"traceId": "t", "type": "GENERATION", "startTime": "", "output": None}
RESPONSE = {"source": "agent", "tool_call_metadata": {"model_response": {"id": "r"}}}


def pi(**message: Any) -> dict[str, Any]:
    return {"type": "message", "message": message}


def swe(**item: Any) -> dict[str, Any]:
    said = [{"role": "user"}, item]
    return {"history": [{"agent": "main", "content": "", **one} for one in said]}


GEMINI = {"role": "user", "parts": [{"text": "Hi."}]}
CONVERSE = {"role": "user", "content": [{"text": "Hi."}]}
SECOND: list[tuple[Any, Any, str]] = [
    (AIDER, 7, "line 2: the conversation is not an object"),
    (AIDER, {}, "line 2: no list of messages under messages"),
    (AIDER, {"messages": [1]}, "line 2: message 0: the message is not an object"),
    (AIDER, {"messages": [{"role": "me"}]}, "line 2: message 0: role 'me' is not one of"),
    (AIDER, {"messages": [{"role": "user"}]}, "line 2: message 0: content is not a string"),
    ({"traj": [HI]}, {"other": 1}, "line 2: no list of messages under messages, traj, "),
    ({"traj": [HI]}, {"traj": [HI, 7]}, "line 2: message 1: the message is not an object"),
    ({"traj": [HI]}, {"traj": [{"role": "me", "content": ""}]}, "line 2: message 0: role 'me' is"),
    ({"traj": [HI]}, {"traj": [{"from": "me", "value": ""}]}, "line 2: message 0: role 'me' is"),
    ({"traj": [HI]}, {"traj": [{"from": "gpt", "value": 1}]}, "line 2: message 0: value is not"),
    (CODEX, [], "line 2: the line is not an object"),
    (CODEX, {**CODEX, "payload": {"role": "user", "content": 7}}, "line 2: "),
    (CODEX, {**CODEX, "payload": {}}, "line 2: type and role are both missing"),
    ({"history": [EVENT]}, {"history": [EVENT, 1]}, "line 2: event 1: the event is not an object"),
    ({"history": [EVENT]}, {"history": [{**EVENT, **RESPONSE}]}, "line 2: event 0: choices is not"),
    ({"history": [EVENT]}, {}, "line 2: no list of events under history"),
    (pi(**HI), 7, "line 2: the line is not an object"),
    (pi(**HI), {}, "line 2: type is not a string"),
    (pi(**HI), {"type": "message"}, "line 2: message is not an object"),
    (pi(**HI), pi(), "line 2: role is not a string"),
    (pi(**HI), pi(role="user"), "line 2: content is not a list"),
    (pi(**HI), pi(role="user", content=[1]), "line 2: the block is not an object"),
    (pi(**HI), pi(role="toolResult", content=[]), "line 2: toolCallId is not a string"),
    ({"model": "t", "messages": [HI]}, 7, "line 2: the request body is not an object"),
    ({"type": "message", **HI}, 7, "line 2: the item is not an object"),
    (GEMINI, 7, "line 2: the message is not an object"),
    (GEMINI, {"parts": 7}, "line 2: parts is not a list"),
    (GEMINI, {"parts": [7]}, "line 2: parts[0] is not an object"),
    (CONVERSE, {"role": "me", "content": []}, "line 2: role 'me' is not one of"),
    (CONVERSE, {"role": "user"}, "line 2: content is not a list"),
    (CONVERSE, {"role": "user", "content": [7]}, "line 2: content[0] is not an object"),
    ({"role": "user", "parts": []}, {"role": "me"}, "line 2: not a foldline message"),
]
"""A record of a format, what follows it, and the beginning of the error."""

ONLY: list[tuple[str, Any, str]] = [
    ("langchain", [{"type": "human", "content": 1}], "document: message 0: content is not a list"),
    ("langchain", [{"type": "human", "content": ""}, 1], "document: message 1: the message is not"),
    ("langchain", [{"type": "chat", "role": "x"}], "document: message 0: role 'x' is not"),
    ("langchain", {"other": []}, "document: role '' is not one of"),
    (
        "langchain",
        [{"type": "ai", "content": "", "tool_calls": [{"id": "c"}]}],
        "document: message 0: name is not a string",
    ),
    ("swe-agent", swe(role="nobody"), "document: message 1: role 'nobody' is not one of"),
    ("swe-agent", swe(role="assistant", tool_calls=1), "document: message 1: tool_calls is not a"),
    (
        "swe-agent",
        swe(role="assistant", tool_calls=[{"id": "a"}]),
        "document: message 1: tool_calls[0].function is not an object",
    ),
    (
        "langfuse",
        {"observations": [{**OBSERVATION, "input": [{"role": "me", "content": ""}]}]},
        "document: observation 0: message 0: role 'me' is not one of",
    ),
    (
        "openai-chat",
        {"request_body": {"messages": [{**HI, "content": 5}]}},
        "document: call 0: mes",
    ),
    ("pydantic-ai", [HI], "document: message 0: parts is not a list"),
    ("ai-sdk", [{"role": "user", "content": 7}], "document: message 0: content is neither"),
    ("otel", [OTEL, 7], "document: message 1: the message is not an object"),
    ("otel", {"gen_ai.input.messages": "["}, "document: gen_ai.input.messages: not JSON"),
    ("otel", {"gen_ai.input.messages": 7}, "document: gen_ai.input.messages: the value is not"),
    (
        "foldline",
        {"role": "user", "content": "x"},
        "line 1: not a foldline message: it has content",
    ),
    ("foldline", {"format": 9, "messages": []}, "document: history format 9 is newer than "),
    ("openai-chat", {"messages": 7}, "document: messages is not a list"),
    ("chat-jsonl", {"role": "user", "content": 5}, "line 1: content"),
    (
        "chat-jsonl",
        [HI, {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c"}]}],
        "document: message 1: tool-result is the Vercel AI SDK's: write",
    ),
    (
        "chat-jsonl",
        [HI, {"role": "assistant", "content": "", "toolInvocations": [{"toolCallId": "c"}]}],
        "document: message 1: toolInvocations is the Vercel AI SDK's: write",
    ),
    (
        "chat-jsonl",
        {"conversation": [HI, {"role": "assistant", "content": [{"type": "toolRequest"}]}]},
        "document: message 1: toolRequest is goose's: write",
    ),
]
"""A format, a whole document, and the beginning of the error."""


@pytest.mark.parametrize(("good", "bad", "message"), SECOND)
def test_a_wrong_record_is_named(good: Any, bad: Any, message: str) -> None:
    """The error names the line, the message and the field."""
    with pytest.raises(FormatError) as caught:
        read(good, bad)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("format", "document", "message"), ONLY)
def test_a_wrong_document_is_named(format: str, document: Any, message: str) -> None:
    """The error names the message and the field in a document that is not lines, too."""
    with pytest.raises(FormatError) as caught:
        read(document, format=format)

    assert str(caught.value).startswith(message)
