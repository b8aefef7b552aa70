"""Calls of a model in the records of other programs."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from foldline.history.messages import Usage
from tests.logs.reading import read, read_one


ASKED = {"model": "tiny", "system": "Be brief.", "messages": [{"role": "user", "content": "Hi."}]}
ANSWER = {"content": [{"type": "text", "text": "Yes."}], "usage": {"input_tokens": 9}}
STREAM: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 9}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_stop"},
]


def har(request: str, response: str) -> dict[str, Any]:
    entry = {
        "request": {
            "method": "POST",
            "postData": {"mimeType": "application/json", "text": request},
        },
        "response": {"content": {"text": response}},
    }
    return {"log": {"version": "1.2", "entries": [{"request": {"method": "GET"}}, entry]}}


def bedrock(given: Any, answer: Any) -> dict[str, Any]:
    held = {"input": {"inputBodyJson": given}, "output": {"outputBodyJson": answer}}
    return {"schemaType": "ModelInvocationLog", **held}


@pytest.mark.parametrize(
    "record",
    [
        har(json.dumps(ASKED), json.dumps(ANSWER)),
        har(json.dumps(ASKED), "\n\n".join(f"data: {json.dumps(one)}" for one in STREAM)),
        bedrock(ASKED, ANSWER),
        bedrock(ASKED, STREAM),
        {"request_id": "r", "request_body": ASKED, "response_body": ANSWER},
    ],
    ids=["HAR", "HAR of a stream", "Bedrock", "Bedrock's stream", "Helicone"],
)
def test_a_call_is_read_wherever_it_is_kept(record: dict[str, Any]) -> None:
    """The request is a conversation, and what was answered, whole or in pieces, its end."""
    session = read_one(record)

    assert session.format == "anthropic"
    assert [message.text for message in session.messages] == ["Be brief.", "Hi.", "Yes."]
    assert session.messages[2].usage == Usage(input_tokens=9)


def test_calls_of_converse_continue_each_other() -> None:
    """The answer of a call is the end of its request, and the next request begins with both."""
    turns = [
        {"role": role, "content": [{"text": text}]}
        for role, text in (("user", "Hi."), ("assistant", "Yes."), ("user", "Bye."))
    ]
    first = bedrock({"messages": turns[:1]}, {"output": {"message": turns[1]}})
    (session,) = read(first, bedrock({"messages": turns}, {"message": "refused"}))

    assert session.format == "converse"
    assert [message.text for message in session.messages] == ["Hi.", "Yes.", "Bye."]


@pytest.mark.parametrize(
    "record",
    [
        lambda asked, told: {"request": {"body": asked}, "response": told},
        lambda asked, told: har(json.dumps(asked), json.dumps(told)),
    ],
    ids=["proxy", "HAR"],
)
def test_calls_of_gemini_and_converse_are_read_from_any_record(record: Callable[..., Any]) -> None:
    """Their answers are in the shape of a message, which ends the request."""
    said = {"role": "model", "parts": [{"text": "Yes."}]}
    contents = {"contents": [{"role": "user", "parts": [{"text": "Hi."}]}]}
    turns = {"messages": [{"role": "user", "content": [{"text": "Hi."}]}]}
    answer = {"output": {"message": {"role": "assistant", "content": [{"text": "Yes."}]}}}

    gemini = read_one(record(contents, {"candidates": [{"content": said}]}))
    blocked = read_one(record(contents, {"candidates": [{"finishReason": "SAFETY"}]}))
    converse = read_one(record(turns, answer))

    assert [one.format for one in (gemini, blocked, converse)] == ["gemini", "gemini", "converse"]
    assert [one.text for one in gemini.messages] == ["Hi.", "Yes."]
    assert [one.text for one in converse.messages] == ["Hi.", "Yes."]
    assert len(blocked.messages) == 1
