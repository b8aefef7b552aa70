"""Messages of LangChain."""

import json
from typing import Any

import pytest

from foldline.history.messages import Message, Usage
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.logs import read_sessions
from foldline.logs.importer import Session


def read(*items: dict[str, Any]) -> Session:
    (session,) = read_sessions(json.dumps(items).encode())
    assert session.format == "langchain"
    return session


def ai(**body: Any) -> Message:
    (message,) = read({"type": "ai", "data": {"content": "", **body}}).messages
    return message


def dumped(kind: str, **kwargs: Any) -> dict[str, Any]:
    """Return a message as `dumpd` writes it."""
    path = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": kwargs}


USE = {"type": "tool_use", "id": "c", "name": "look", "input": {"at": 1}}
CALL = {"name": "look", "args": {"at": 1}, "id": "c", "type": "tool_call"}


@pytest.mark.parametrize(
    "items",
    [
        [
            {"type": "system", "data": {"content": "Be good."}},
            {"type": "human", "data": {"content": "Hi.", "name": "Ana"}},
            {"type": "ai", "data": {"content": "", "tool_calls": [CALL]}},
            {"type": "tool", "data": {"content": "seen", "tool_call_id": "c"}},
        ],
        [
            dumped("SystemMessage", content="Be good."),
            dumped("HumanMessage", content="Hi.", name="Ana"),
            dumped("AIMessageChunk", content="", tool_calls=[CALL]),
            dumped("ToolMessage", content="seen", tool_call_id="c"),
        ],
        [
            {"type": "chat", "role": "system", "content": "Be good."},
            {"type": "human", "content": "Hi.", "name": "Ana"},
            {"type": "AIMessageChunk", "content": "", "tool_calls": [CALL]},
            {"type": "remove", "content": "", "id": "x"},
            {"type": "tool", "content": "seen", "tool_call_id": "c"},
        ],
    ],
)
@pytest.mark.parametrize("form", ["list", "object", "lines"])
def test_the_three_forms_are_one(items: list[dict[str, Any]], form: str) -> None:
    """However LangChain wrote them, the messages are the same."""
    data = {
        "list": json.dumps(items),
        "object": json.dumps({"id": "t", "messages": items}),
        "lines": "\n".join(map(json.dumps, items)),
    }
    (session,) = read_sessions(data[form].encode(), name="log")

    assert session.messages == (
        Message.system("Be good."),
        Message.user("Hi.", name="Ana"),
        Message.assistant(tool_calls=[ToolCallPart("c", "look", '{"at":1}')]),
        Message.tool("c", "seen"),
    )
    assert session.id == ("t" if form == "object" else "log")


def test_objects_are_sessions_of_their_own() -> None:
    """Every line that holds a list is a session."""
    line = json.dumps({"messages": [{"type": "human", "content": "Hi."}]})
    sessions = read_sessions(f"{line}\n{line}".encode())

    assert [len(session.messages) for session in sessions] == [1, 1]


def test_counts_and_identity_are_carried() -> None:
    """Usage, model and id come along."""
    message = ai(
        id="m1",
        response_metadata={"model_name": "tiny", "other": {}},
        usage_metadata={
            "input_tokens": 9,
            "output_tokens": 2,
            "input_token_details": {"cache_read": 4, "cache_creation": 3},
            "output_token_details": {"reasoning": 1},
        },
    )

    assert message.id == "m1"
    assert message.metadata == {"model_name": "tiny"}
    assert message.usage == Usage(
        input_tokens=9,
        output_tokens=2,
        cache_read_tokens=4,
        cache_write_tokens=3,
        reasoning_tokens=1,
    )


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ("Hi.", TextPart("Hi.")),
        ({"type": "text", "text": "Hi."}, TextPart("Hi.")),
        ({"type": "thinking", "thinking": "Hm."}, ReasoningPart("Hm.")),
        ({"type": "reasoning", "reasoning": "Hm."}, ReasoningPart("Hm.")),
        ({"type": "redacted_thinking", "data": "QQ=="}, ReasoningPart("")),
        (
            {"type": "non_standard", "value": {"type": "redacted_thinking", "data": "QQ=="}},
            ReasoningPart(""),
        ),
        (
            {"type": "image_url", "image_url": {"url": "https://x.example/a"}},
            UriPart("image", "https://x.example/a"),
        ),
        (
            {"type": "image_url", "image_url": "data:image/png;base64,QQ=="},
            BlobPart("image", "image/png", "QQ=="),
        ),
        (
            {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": "QQ=="},
            BlobPart("image", "image/png", "QQ=="),
        ),
        (
            {"type": "file", "source_type": "base64", "data": "QQ=="},
            BlobPart("document", "", "QQ=="),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}},
            BlobPart("audio", "audio/wav", "QQ=="),
        ),
        (
            {"type": "media", "mime_type": "audio/mp3", "data": "QQ=="},
            BlobPart("audio", "audio/mp3", "QQ=="),
        ),
        (USE, ToolCallPart("c", "look", '{"at":1}')),
        (
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{"},
            ToolCallPart("c", "look", "{"),
        ),
        ({"type": "new"}, GenericPart("new", '{"type":"new"}')),
    ],
)
def test_blocks_become_parts(block: Any, part: Any) -> None:
    """Every kind of block has its part."""
    assert ai(content=[block]).parts == (part,)


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (
            {"invalid_tool_calls": [{"name": "look", "args": "{", "id": "c", "error": "?"}]},
            ToolCallPart("c", "look", "{"),
        ),
        (
            {
                "additional_kwargs": {
                    "tool_calls": [{"id": "c", "function": {"name": "look", "arguments": "{}"}}]
                }
            },
            ToolCallPart("c", "look", "{}"),
        ),
        (
            {"additional_kwargs": {"function_call": {"name": "look", "arguments": "{}"}}},
            ToolCallPart("", "look", "{}"),
        ),
        ({"content": [USE], "tool_calls": [CALL]}, ToolCallPart("c", "look", '{"at":1}')),
    ],
)
def test_calls_of_other_kinds(body: dict[str, Any], part: ToolCallPart) -> None:
    """Broken and older calls are read, and a call that is among the blocks too is read once."""
    assert ai(**body).parts == (part,)


@pytest.mark.parametrize(
    ("content", "response"),
    [("seen", "seen"), ([], ""), ("", ""), (["a", "b"], (TextPart("a"), TextPart("b")))],
)
def test_an_answer_may_be_more_than_text(content: Any, response: Any) -> None:
    """A tool answers with text, or with parts."""
    (message,) = read(
        {"type": "tool", "content": content, "tool_call_id": "c", "status": "error"}
    ).messages

    assert message.parts == (ToolCallResponsePart("c", response),)
    assert message.metadata == {"status": "error"}
