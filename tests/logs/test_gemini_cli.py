"""Sessions of Gemini CLI."""

from datetime import UTC, datetime
from typing import Any

import pytest

from foldline.errors import FormatError
from foldline.history.formats.wire import FAILED
from foldline.history.messages import Message, Usage
from foldline.history.parts import (
    BlobPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from tests.logs.reading import read_one


HEADER = {"sessionId": "s1", "projectHash": "h", "startTime": "2026-01-01T10:00:00Z"}
ASKED = {"id": "u1", "timestamp": "2026-01-01T10:00:00Z", "type": "user", "content": "Fix a.py."}
SAID = {
    "id": "g1",
    "timestamp": "2026-01-01T10:00:01Z",
    "type": "gemini",
    "content": "I look.",
    "thoughts": [{"subject": "Plan", "description": "Read the file."}],
    "tokens": {"input": 70, "output": 7, "cached": 60, "thoughts": 2, "tool": 3, "total": 82},
    "model": "gemini-3-pro",
}
CALL = {"id": "c1", "name": "read_file", "args": {"path": "a.py"}, "status": "success"}


def called(*calls: Any, **beside: Any) -> dict[str, Any]:
    return {**SAID, "toolCalls": list(calls), **beside}


def answered(response: object, **beside: Any) -> dict[str, Any]:
    given = {"functionResponse": {"id": "c1", "name": "read_file", "response": response}}
    return {**CALL, "result": [given], **beside}


def messages(*records: Any) -> tuple[Message, ...]:
    return read_one({**HEADER, "messages": records}).messages


def test_a_session() -> None:
    """Thoughts, texts, calls, results, times and counts are read."""
    asked, said, told = messages(ASKED, called(answered({"output": "x = 1"})))

    assert (asked.role, asked.text, asked.id) == ("user", "Fix a.py.", "u1")
    assert asked.created_at == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert said.parts == (
        ReasoningPart("Plan\nRead the file."),
        TextPart("I look."),
        ToolCallPart("c1", "read_file", '{"path":"a.py"}'),
    )
    assert said.metadata == {"model": "gemini-3-pro"}
    assert said.usage == Usage(
        input_tokens=73, output_tokens=9, cache_read_tokens=60, reasoning_tokens=2
    )
    assert (told.role, told.name) == ("tool", "read_file")
    assert told.parts == (ToolCallResponsePart("c1", "x = 1"),)


def test_lines_are_written_again() -> None:
    """A message that has grown is read once, at its place; what was rewound is left out."""
    other = {**ASKED, "id": "u2", "content": "No."}
    session = read_one(
        HEADER,
        ASKED,
        SAID,
        {"$set": {"lastUpdated": ""}},
        called(answered({"output": "x = 1"})),
        other,
        {"$rewindTo": "u2"},
        {**other, "id": "u3"},
        {"$set": {"messages": [ASKED]}},
    )

    assert session.id == "s1"
    assert [one.role for one in session.messages] == ["user", "assistant", "tool", "user"]
    assert session.messages[-1].id == "u3"
    assert session.notes == ("records left out: $set of a rewritten context (1)",)


CONTEXT = {
    "id": "x0",
    "type": "user",
    "content": [{"text": "<session_context>x</session_context>"}],
}


def test_messages_without_lines() -> None:
    """A version that writes the whole context at each turn is read from there, in its newest state."""
    call = {"functionCall": {"name": "read_file", "args": {"path": "a.py"}}}
    answer = {"functionResponse": {"name": "read_file", "response": {"output": "x = 1"}}}
    begun = {"type": "gemini", "id": "g1", "content": [{"text": "I"}]}
    done = {**begun, "content": [{"text": "I look."}, call]}
    told = {"type": "user", "id": "u2", "content": [answer, {"text": "Go on."}]}
    info = {"type": "info", "id": "i1", "content": "Hello."}
    session = read_one(
        HEADER,
        info,
        {"$set": {"messages": [CONTEXT]}},
        {"$set": {"messages": [CONTEXT, ASKED, begun]}},
        {
            "$set": {
                "messages": [CONTEXT, ASKED, done, told, {"type": "gemini", "content": "Done."}]
            }
        },
        {"$set": {"messages": [{**CONTEXT, "id": "x1"}, {**SAID, "id": "g2"}]}},
    )

    roles = ["user", "user", "assistant", "tool", "user", "assistant", "user", "assistant"]
    assert [one.role for one in session.messages] == roles
    said, answered_, again = session.messages[2:5]
    assert said.text == "I look."
    (made,), (given,) = said.tool_calls, answered_.tool_call_responses
    assert (made.id, given.response) == (given.id, "x = 1")
    assert (answered_.id, again.id, again.text) == ("u2", None, "Go on.")
    assert session.notes == ("records left out: info (1)",)


def test_a_context_around_lines() -> None:
    """What has no line of its own stands where the context has it; lines say what was said."""
    masked = {**SAID, "content": "…"}
    session = read_one(HEADER, ASKED, SAID, {"$set": {"messages": [CONTEXT, ASKED, masked]}})

    assert [one.id for one in session.messages] == ["x0", "u1", "g1"]
    assert session.messages[-1].text == "I look."
    assert session.notes == ()


def test_a_rewind_to_what_is_unknown_leaves_nothing() -> None:
    """It is read as the program reads it."""
    (only,) = read_one(HEADER, ASKED, {"$rewindTo": "?"}, {**ASKED, "id": "u2"}).messages

    assert only.id == "u2"


@pytest.mark.parametrize(
    ("call", "response"),
    [
        (answered({"error": "no such file"}, status="error"), (TextPart("no such file"), FAILED)),
        (answered({"output": {"lines": 1}}), '{"lines":1}'),
        (answered({"output": "a", "error": "b"}), '{"output":"a","error":"b"}'),
        ({**CALL, "result": "x = 1"}, "x = 1"),
        ({**CALL, "result": {"text": "x = 1"}}, "x = 1"),
        ({**CALL, "result": []}, ""),
    ],
)
def test_results(call: dict[str, Any], response: Any) -> None:
    """What a tool answered is its text, with a mark if it has failed."""
    assert messages(ASKED, called(call))[-1].parts == (ToolCallResponsePart("c1", response),)


def test_pictures_beside_an_answer_are_read() -> None:
    """Gemini 3 has them within the answer of the tool."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    answer = {"name": "read_file", "response": {"output": "Read."}, "parts": [picture]}
    call = {**CALL, "result": [{"functionResponse": answer}]}

    (result,) = messages(ASKED, called(call))[-1].tool_call_responses

    assert result.response == (TextPart("Read."), BlobPart("image", "image/png", "AAAA"))


def test_a_call_without_a_result() -> None:
    """A call that was cancelled has none."""
    assert [one.role for one in messages(ASKED, called(CALL))] == ["user", "assistant"]


def test_parts_of_a_rewritten_context() -> None:
    """Calls and results that are repeated among the parts are read once; an empty message is none."""
    call = {"functionCall": {"id": "c1", "name": "read_file", "args": {}}}
    answer = {"functionResponse": {"id": "c1", "name": "read_file", "response": {}}}
    again = called(answered({"output": "x = 1"}), content=[{"text": "I look."}, call])
    told = {**ASKED, "id": "u2", "content": [answer]}

    said = messages({**ASKED, "content": [{"text": "Fix "}, "a.py."]}, again, told)

    assert [one.role for one in said] == ["user", "assistant", "tool"]
    assert [len(one.parts) for one in said] == [2, 3, 1]


def test_what_is_no_message_is_counted() -> None:
    """Notices of the program are no part of the conversation."""
    session = read_one({**HEADER, "messages": [ASKED, {**ASKED, "id": "i1", "type": "info"}]})

    assert len(session.messages) == 1
    assert session.notes == ("records left out: info (1)",)


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (7, "message 1 is not an object"),
        ({"type": "user"}, "id is not a string"),
        (called({"name": "read_file"}), "id is not a string"),
        (called(7), "the call is not an object"),
    ],
)
def test_wrong_shapes(record: Any, says: str) -> None:
    """What is missing is named."""
    with pytest.raises(FormatError, match=says):
        messages(ASKED, record)
