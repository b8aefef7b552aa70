"""Contents of Gemini."""

import base64
import json
from typing import Any

import pytest

from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    UriPart,
)
from foldline.logs.gemini import is_content
from tests.logs.reading import read, read_one


ASKED = {"role": "user", "parts": [{"text": "What is in both rooms?"}]}
CALLED = {
    "role": "model",
    "parts": [
        {"text": "Hm.", "thought": True},
        {"functionCall": {"name": "look", "args": {"room": 1}}, "thoughtSignature": "c2ln"},
        {"function_call": {"name": "look", "args": {"room": 2}}},
    ],
}
RESULTS = {
    "role": "user",
    "parts": [
        {"functionResponse": {"name": "look", "response": {"result": "A table."}}},
        {"function_response": {"name": "look", "response": {"chairs": 2}}},
        {"text": "Go on."},
    ],
}
SAID = {"role": "model", "parts": [{"text": "A table and chairs."}]}


def part_of(part: dict[str, Any]) -> Part:
    (message,) = read_one([{"role": "user", "parts": [part]}]).messages
    (only,) = message.parts
    return only


def test_a_list_of_contents() -> None:
    """Each result is a message that answers its call, though neither has an id."""
    messages = read_one([ASKED, CALLED, RESULTS, SAID]).messages

    assert [one.role for one in messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
    ]
    thought, first, second = messages[1].parts
    assert thought == ReasoningPart("Hm.")
    assert isinstance(first, ToolCallPart)
    assert isinstance(second, ToolCallPart)
    assert (first.name, first.arguments) == ("look", '{"room":1}')
    answers = [
        (part.id, part.response) for one in messages[2:4] for part in one.tool_call_responses
    ]
    assert answers == [(first.id, "A table."), (second.id, '{"chairs":2}')]
    assert first.id != second.id
    assert messages[2].name == "look"


def test_requests_that_grow_are_one_session() -> None:
    """A log of bodies is a conversation, with the instructions of the body or of its settings."""
    rules = {"parts": [{"text": "Be brief."}]}
    for beside in ({"systemInstruction": rules}, {"config": {"system_instruction": "Be brief."}}):
        bodies = [{"contents": [ASKED], **beside}, {"contents": [ASKED, CALLED, RESULTS], **beside}]

        session = read_one(*bodies)

        assert session.messages[0] == Message.system("Be brief.")
        assert len(session.messages) == 6


@pytest.mark.parametrize(
    ("part", "read"),
    [
        ({"text": "Hi."}, TextPart("Hi.")),
        ({"text": "", "thoughtSignature": "c2ln"}, TextPart("")),
        (
            {"inlineData": {"mimeType": "image/png", "data": "-_8="}},
            BlobPart("image", "image/png", "+/8="),
        ),
        (
            {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/a"}},
            UriPart("video", "gs://b/a"),
        ),
        (
            {"executableCode": {"code": "1"}, "thought": False},
            GenericPart("executableCode", '{"executableCode":{"code":"1"},"thought":false}'),
        ),
    ],
)
def test_parts(part: dict[str, Any], read: Part) -> None:
    """Every part says what it says in the formats of other vendors."""
    assert part_of(part) == read


def test_a_result_with_a_picture() -> None:
    """What a tool answers beside its object, as a screenshot, is part of its result."""
    picture = {"inlineData": {"mimeType": "image/png", "data": "+/8="}}
    answer = {"name": "look", "response": {"url": "a"}, "parts": [picture]}

    answered = {"role": "user", "parts": [{"functionResponse": answer}]}
    (result,) = read_one([ASKED, CALLED, answered]).messages[2].tool_call_responses

    assert result.response == (TextPart('{"url":"a"}'), BlobPart("image", "image/png", "+/8="))


def test_a_part_that_says_nothing() -> None:
    """What is beside a part alone is none."""
    contents = [ASKED, {"role": "user", "parts": [{"thoughtSignature": "c2ln"}]}, SAID]

    assert len(read_one(contents).messages) == 3


def test_bytes_are_base64() -> None:
    """What the SDK writes as JSON is read; its base64 is that of addresses."""
    data = base64.urlsafe_b64encode(bytes(range(248, 256))).decode()

    part = part_of({"inline_data": {"mime_type": "image/png", "data": data}})

    assert isinstance(part, BlobPart)
    assert base64.b64decode(part.content, validate=True) == bytes(range(248, 256))


@pytest.mark.parametrize(
    ("value", "is_gemini"),
    [
        (ASKED, True),
        ({"parts": [{"text": "Hi."}]}, True),
        ({"role": "user", "parts": [{"type": "text", "content": "Hi."}]}, False),
        ({"role": "user", "parts": []}, False),
        ({"role": "assistant", "parts": [{"text": "Hi."}]}, False),
        ({"role": "user", "parts": ["Hi."]}, False),
        ({"role": "user", "content": [{"text": "Hi."}]}, False),
        ("Hi.", False),
    ],
)
def test_what_is_a_content(value: Any, is_gemini: bool) -> None:
    """Parts of OpenTelemetry and of foldline say of which type they are."""
    assert is_content(value) == is_gemini


def test_conversations_stay_apart() -> None:
    """Lists that do not continue each other are sessions of their own, with ids if they have them."""
    other = {"role": "user", "parts": [{"text": "Where is AB1?"}]}

    sessions = read({"id": "a", "contents": [ASKED]}, {"id": "b", "contents": [other]})

    assert [(one.id, len(one.messages)) for one in sessions] == [("a", 1), ("b", 1)]
    assert json.dumps([ASKED]) != json.dumps([other])
