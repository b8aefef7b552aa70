"""Recorded exchanges with vendors."""

import json
from typing import Any

import pytest

from foldline.errors import FormatError
from foldline.history.formats.importer import Session
from foldline.history.formats.sessions import read_sessions
from foldline.history.messages import Message, Usage
from foldline.history.parts import (
    CompactionPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)


CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "Hi."}]}
ANTHROPIC = {**CHAT, "system": "Be good.", "max_tokens": 9}
RESPONSES = {"model": "tiny", "input": "Hi."}
URIS = {
    "chat": "https://x.example/v1/chat/completions",
    "anthropic": "https://x.example/v1/messages?beta=true",
    "responses": "https://x.example/v1/responses",
    "compact": "https://x.example/v1/responses/compact",
}


def exchange(uri: str, asked: Any, answer: Any = None, **response: Any) -> dict[str, Any]:
    """Return an exchange whose answer is parsed, or is given in *response*."""
    if answer is not None:
        response["parsed_body"] = answer
    request = {"method": "POST", "uri": uri, "parsed_body": asked}
    return {"request": request, "response": {"status": {"code": 200}, **response}}


def read(*exchanges: Any) -> tuple[Session, ...]:
    """Read a cassette of *exchanges*."""
    return read_sessions(json.dumps({"interactions": exchanges, "version": 1}).encode())


def answer(uri: str, body: Any, *events: Any) -> Message:
    """Return the last message of an exchange that was answered by a stream of *events*."""
    lines = [f"event: x\ndata: {json.dumps(event)}\n" for event in events]
    stream = "\n".join([*lines, "data: [DONE]"])
    (session,) = read(exchange(uri, body, body={"string": stream}))
    assert session.notes == ()
    return session.messages[-1]


def test_a_chat_exchange_is_a_session() -> None:
    """The messages of the request are followed by the answer, with its counts."""
    response = {
        "id": "r",
        "model": "tiny-1",
        "choices": [{"message": {"role": "assistant", "content": "Yes.", "refusal": None}}],
        "usage": {
            "prompt_tokens": 4,
            "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": 2},
        },
    }
    (session,) = read(exchange(URIS["chat"], CHAT, response))

    assert session.id == "exchange-0"
    assert session.messages == (
        Message.user("Hi."),
        Message(
            role="assistant",
            parts=(TextPart("Yes."),),
            id="r",
            metadata={"model": "tiny-1"},
            usage=Usage(input_tokens=4, output_tokens=1, cache_read_tokens=2),
        ),
    )


def test_an_anthropic_exchange_is_a_session() -> None:
    """System instructions come first, and the answer's blocks are kept."""
    response = {
        "id": "r",
        "content": [{"type": "text", "text": "Yes."}],
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    (session,) = read(exchange(URIS["anthropic"], ANTHROPIC, response))

    assert [(m.role, m.text) for m in session.messages] == [
        ("system", "Be good."),
        ("user", "Hi."),
        ("assistant", "Yes."),
    ]
    assert session.messages[-1].usage == Usage(input_tokens=3, output_tokens=1)


def test_a_responses_exchange_is_a_session() -> None:
    """The counts are with the last item of the answer."""
    content = [{"type": "output_text", "text": "Yes."}]
    response = {
        "output": [
            {"type": "reasoning", "id": "i", "summary": []},
            {"type": "message", "role": "assistant", "content": content},
        ],
        "usage": {
            "input_tokens": 3,
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 1},
        },
    }
    (session,) = read(exchange(URIS["responses"], RESPONSES, response))
    _, reasoning, said = session.messages

    assert (reasoning.usage, said.text) == (None, "Yes.")
    assert said.usage == Usage(input_tokens=3, output_tokens=2, reasoning_tokens=1)


def test_of_a_compaction_only_the_summary_is_new() -> None:
    """What a compacted history repeats of the request is not said twice."""
    repeated = {"type": "message", "role": "user", "content": "Hi."}
    response = {
        "object": "response.compaction",
        "output": [repeated, {"type": "compaction", "encrypted_content": "z"}],
    }
    (session,) = read(exchange(URIS["compact"], RESPONSES, response))

    assert [message.parts for message in session.messages] == [
        (TextPart("Hi."),),
        (CompactionPart(""),),
    ]


def test_an_empty_answer_adds_nothing() -> None:
    """An answer without items leaves the request's messages."""
    (session,) = read(exchange(URIS["responses"], RESPONSES, {"output": []}))

    assert len(session.messages) == 1


def test_a_chat_stream_is_put_together() -> None:
    """Text and calls that came in pieces are whole."""

    def chunk(**delta: Any) -> dict[str, Any]:
        return {"id": "r", "model": "tiny", "choices": [{"delta": delta}], "usage": None}

    first = {
        "index": 0,
        "id": "c",
        "type": "function",
        "function": {"name": "look", "arguments": ""},
    }
    message = answer(
        URIS["chat"],
        CHAT,
        chunk(role="assistant", content="Lo"),
        chunk(content="ok."),
        chunk(tool_calls=[first]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"at":'}}]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": "1}"}}]),
        {"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 2}},
    )

    assert message.parts == (TextPart("Look."), ToolCallPart("c", "look", '{"at":1}'))
    assert message.usage == Usage(input_tokens=4, output_tokens=2)
    assert message.id == "r"


def test_an_anthropic_stream_is_put_together() -> None:
    """Thinking, text with citations and inputs that came in pieces are whole."""

    def start(index: int, **block: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def delta(index: int, **fields: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": fields}

    message = answer(
        URIS["anthropic"],
        ANTHROPIC,
        {"type": "message_start", "message": {"id": "r", "usage": {"input_tokens": 3}}},
        start(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="Hm"),
        delta(0, type="thinking_delta", thinking="."),
        delta(0, type="signature_delta", signature="zz"),
        {"type": "ping"},
        start(1, type="text", text=""),
        delta(1, type="text_delta", text="Look."),
        delta(1, type="citations_delta", citation={"at": 1}),
        start(2, type="tool_use", id="c", name="look", input={}),
        delta(2, type="input_json_delta", partial_json='{"at"'),
        delta(2, type="input_json_delta", partial_json=":1}"),
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "usage": {"input_tokens": None, "output_tokens": 5}},
        {"type": "message_stop"},
    )

    assert message.parts == (
        ReasoningPart("Hm."),
        TextPart("Look."),
        ToolCallPart("c", "look", '{"at":1}'),
    )
    assert message.usage == Usage(input_tokens=3, output_tokens=5)
    assert message.native is not None
    assert '"signature":"zz"' in message.native.item
    assert '"citations":[{"at":1}]' in message.native.item


def test_a_responses_stream_ends_in_the_response() -> None:
    """The last event holds the whole answer."""
    content = [{"type": "output_text", "text": "Yes."}]
    output = [{"type": "message", "role": "assistant", "content": content}]
    message = answer(
        URIS["responses"],
        RESPONSES,
        {"type": "response.created", "response": {"output": []}},
        {"type": "response.completed", "response": {"output": output}},
    )

    assert message.text == "Yes."


@pytest.mark.parametrize(
    ("response", "note"),
    [
        ({"status": {"code": 429}}, "the vendor answered with the status 429 and no message"),
        ({"body": {"string": "data: {"}}, "the vendor's answer could not be read"),
        ({"body": "data: {}"}, "the vendor's answer could not be read"),
        ({"body": ""}, "the vendor's answer could not be read"),
        ({"parsed_body": {"choices": []}}, "the vendor's answer could not be read"),
    ],
)
def test_an_answer_that_cannot_be_read_is_noted(response: dict[str, Any], note: str) -> None:
    """The request's messages stay, and the note says what became of the answer."""
    for uri, body in (
        (URIS["responses"], RESPONSES),
        (URIS["chat"], CHAT),
        (URIS["anthropic"], CHAT),
    ):
        (session,) = read(exchange(uri, body, **response))

        assert len(session.messages) == 1
        assert session.notes[0].startswith(note)


@pytest.mark.parametrize("body", [json.dumps(CHAT), {"string": json.dumps(CHAT)}])
def test_bodies_may_be_text(body: Any) -> None:
    """Older recorders keep bodies as they came, and the way to the vendor may be unknown."""
    exchanges = {"request": {"uri": "https://x.example/ask", "body": body}, "response": {}}

    assert read(exchanges)[0].messages == (Message.user("Hi."),)


def test_bodies_may_be_bytes() -> None:
    """YAML recorders keep bodies that are no text as bytes."""
    data = b"""
interactions:
- request:
    uri: https://x.example/v1/chat/completions
    body: !!binary eyJtb2RlbCI6ICJ0IiwgIm1lc3NhZ2VzIjogW3sicm9sZSI6ICJ1c2VyIiwgImNvbnRlbnQiOiAiSGkuIn1dfQ==
  response: {}
"""
    assert read_sessions(data)[0].messages == (Message.user("Hi."),)


def test_exchanges_without_a_conversation_are_counted() -> None:
    """Lists of models and the like are left out, and a note counts them."""
    models = {"request": {"method": "GET", "uri": "https://x.example/v1/models"}}
    sessions = read(models, exchange(URIS["chat"], CHAT), exchange(URIS["chat"], {"model": "t"}))

    assert [session.id for session in sessions] == ["exchange-1"]
    assert sessions[0].notes[-1] == "records that hold no message were left out: 2 exchange"


def test_a_cassette_without_a_conversation_is_an_error() -> None:
    """Where no exchange carries a conversation, the error says so."""
    with pytest.raises(FormatError, match="no conversation inside: the input is cassette"):
        read({"request": {}})


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (7, "document: exchange 1: the exchange is not an object"),
        (
            exchange(URIS["chat"], {"messages": [{"role": "user"}, 7]}),
            "document: exchange 1: message 1: the message is not an object",
        ),
    ],
)
def test_a_wrong_shape_is_named(bad: Any, message: str) -> None:
    """The error names the exchange and the field."""
    with pytest.raises(FormatError) as caught:
        read(exchange(URIS["chat"], CHAT), bad)

    assert str(caught.value) == message
