"""Whole request bodies, and every one of them that was recorded."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from foldline.errors import FormatError
from foldline.history.codec import canonical_json, encode_json
from foldline.history.formats.renderings import (
    render_anthropic,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.messages import Message, NativeFormat
from foldline.logs.request import read_request, write_request
from foldline.testing.grammars import (
    check_anthropic,
    check_openai_chat,
    check_openai_responses,
)


CASSETTES = Path(__file__).resolve().parents[2] / "../shared/data/provider-cassettes"
ENDPOINTS = {
    "chat/completions": NativeFormat.OPENAI_CHAT,
    "v1/responses": NativeFormat.OPENAI_RESPONSES,
    "v1/messages": NativeFormat.ANTHROPIC,
}

CHAT, RESPONSES = NativeFormat.OPENAI_CHAT, NativeFormat.OPENAI_RESPONSES
ANTHROPIC = NativeFormat.ANTHROPIC

BODIES: list[tuple[NativeFormat, dict[str, Any], int]] = [
    (CHAT, {"model": "m", "messages": [{"role": "user", "content": "x"}], "n": 1}, 1),
    (CHAT, {"messages": []}, 0),
    (ANTHROPIC, {"messages": [], "system": "be brief", "model": "m"}, 1),
    (ANTHROPIC, {"system": "", "messages": [{"role": "user", "content": "x"}]}, 2),
    (ANTHROPIC, {"system": None, "messages": []}, 0),
    (ANTHROPIC, {"system": [], "messages": []}, 1),
    (ANTHROPIC, {"system": [{"type": "text", "text": "x", "zz": 1}], "messages": []}, 1),
    (ANTHROPIC, {"messages": [{"role": "system", "content": "x"}]}, 1),
    (RESPONSES, {"input": "x", "model": "m"}, 1),
    (RESPONSES, {"input": "", "instructions": "be brief"}, 2),
    (RESPONSES, {"instructions": None, "input": [{"role": "user", "content": "x"}]}, 1),
    (RESPONSES, {"input": []}, 0),
    (RESPONSES, {"input": None, "previous_response_id": "r"}, 0),
    (RESPONSES, {"model": "m", "instructions": ""}, 1),
]


@pytest.mark.parametrize(("wire_format", "body", "count"), BODIES)
def test_bodies_round_trip(wire_format: NativeFormat, body: dict[str, Any], count: int) -> None:
    """A body comes out as the same bytes, with the conversation taken from its fields."""
    request = read_request(body, wire_format)

    assert len(request.messages) == count
    assert encode_json(write_request(request)) == encode_json(body)


@pytest.mark.parametrize(
    ("wire_format", "body", "error"),
    [
        (CHAT, [], "request body is not an object"),
        (CHAT, {}, "messages is not a list"),
        (CHAT, {"messages": [{"role": "user", "content": 1}]}, "message 0: content"),
        (ANTHROPIC, {"messages": "x"}, "messages is not a list"),
        (ANTHROPIC, {"messages": [], "system": 5}, "system: content"),
        (RESPONSES, {"input": {}}, "not a list"),
        (RESPONSES, {"input": 0}, "not a list"),
        (RESPONSES, {"input": "x", "instructions": []}, "instructions is not a string"),
        (NativeFormat.OTEL, {}, "otel has no request bodies"),
    ],
)
def test_wrong_bodies_are_named(wire_format: NativeFormat, body: Any, error: str) -> None:
    """A body of the wrong shape is refused with the field that is wrong."""
    with pytest.raises(FormatError, match=error):
        read_request(body, wire_format)


@pytest.mark.parametrize(
    ("wire_format", "body", "messages", "expected"),
    [
        (
            CHAT,
            {"messages": [], "model": "m"},
            [Message.user("y")],
            {"messages": [{"role": "user", "content": "y"}], "model": "m"},
        ),
        (
            ANTHROPIC,
            {"system": "x", "messages": []},
            [Message.user("y")],
            {"messages": [{"role": "user", "content": "y"}]},
        ),
        (ANTHROPIC, {"system": "x", "messages": []}, [], {"messages": []}),
        (
            RESPONSES,
            {"input": "x", "instructions": "i"},
            [Message.user("y")],
            {"input": "y"},
        ),
        (
            RESPONSES,
            {"input": "x"},
            [Message.assistant("y")],
            {"input": [{"role": "assistant", "content": "y"}]},
        ),
        (
            RESPONSES,
            {"input": "x"},
            [Message.user("y"), Message.user("z")],
            {"input": [{"role": "user", "content": "y"}, {"role": "user", "content": "z"}]},
        ),
        (
            RESPONSES,
            {"model": "m"},
            [Message.user("y")],
            {"model": "m", "input": [{"role": "user", "content": "y"}]},
        ),
        (
            RESPONSES,
            {"input": "x"},
            [Message(role="user")],
            {"input": [{"role": "user", "content": ""}]},
        ),
    ],
)
def test_other_messages_can_be_written(
    wire_format: NativeFormat,
    body: dict[str, Any],
    messages: list[Message],
    expected: dict[str, Any],
) -> None:
    """An envelope takes another conversation than the one it came with."""
    read = read_request(body, wire_format)
    request = type(read)(format=wire_format, messages=tuple(messages), envelope=read.envelope)

    assert write_request(request) == expected


def recorded_bodies() -> list[tuple[NativeFormat, dict[str, Any]]]:
    """Return every request body in the shared recordings, with its wire format."""
    if not CASSETTES.exists():
        pytest.skip("the shared data is not beside the checkout")
    bodies: list[tuple[NativeFormat, dict[str, Any]]] = []
    for path in sorted(CASSETTES.glob("*.yaml")):
        document = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
        for interaction in document["interactions"]:
            asked = interaction["request"]
            wire_format = next(ENDPOINTS[end] for end in ENDPOINTS if end in asked["uri"])
            bodies.append((wire_format, asked["parsed_body"]))
    return bodies


def test_recorded_bodies_round_trip() -> None:
    """Every recorded body comes out as the same bytes, in canonical form and with keys in order."""
    bodies = recorded_bodies()
    written = [write_request(read_request(body, kind)) for kind, body in bodies]

    assert len(bodies) == 26
    assert {kind for kind, _ in bodies} == set(ENDPOINTS.values())
    assert [encode_json(body) for body in written] == [encode_json(body) for _, body in bodies]
    assert [canonical_json(body) for body in written] == [
        canonical_json(body) for _, body in bodies
    ]


def test_recorded_bodies_are_valid() -> None:
    """Every recorded conversation, which a vendor accepted, breaks no rule of its judge."""
    for kind, body in recorded_bodies():
        if kind is CHAT:
            assert check_openai_chat(body["messages"]) == ()
        elif kind is ANTHROPIC:
            assert check_anthropic(body.get("system"), body["messages"]) == ()
        else:
            assert check_openai_responses(body["input"]) == ()


def test_recorded_conversations_cross_over() -> None:
    """Every recorded conversation is a valid request for each of the other vendors, too."""
    for kind, body in recorded_bodies():
        messages = read_request(body, kind).messages
        anthropic = render_anthropic(messages)

        assert check_openai_chat(render_openai_chat(messages)) == ()
        assert check_openai_responses(render_openai_responses(messages)) == ()
        assert check_anthropic(anthropic.system, anthropic.messages) == ()
