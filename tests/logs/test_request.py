"""Whole request bodies, and every one of them that was recorded."""

from pathlib import Path
from typing import Any

import pytest

from foldline.errors import FormatError
from foldline.history.codec import encode_json
from foldline.history.formats import CONVERTERS
from foldline.history.formats.renderings import (
    render_anthropic,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.formats.responses import read_response
from foldline.history.messages import NativeFormat
from foldline.logs.wire_logs import read_request
from foldline.testing.grammars import check_anthropic, check_openai_chat, check_openai_responses
from tests.servers.recordings import recorded_exchanges


CHAT, RESPONSES = NativeFormat.OPENAI_CHAT, NativeFormat.OPENAI_RESPONSES
ANTHROPIC = NativeFormat.ANTHROPIC
HI = {"role": "user", "content": "Hi."}


@pytest.mark.parametrize(
    ("native", "body", "said"),
    [
        (CHAT, {"model": "m", "messages": [HI], "n": 1}, ["Hi."]),
        (CHAT, {"messages": []}, []),
        (ANTHROPIC, {"messages": [], "system": "Be good."}, ["Be good."]),
        (ANTHROPIC, {"system": "", "messages": [HI]}, ["", "Hi."]),
        (ANTHROPIC, {"system": None, "messages": []}, []),
        (ANTHROPIC, {"system": [{"type": "text", "text": "S"}], "messages": [HI]}, ["S", "Hi."]),
        (RESPONSES, {"input": "Hi.", "model": "m"}, ["Hi."]),
        (RESPONSES, {"input": "Hi.", "instructions": "Be good."}, ["Be good.", "Hi."]),
        (RESPONSES, {"instructions": None, "input": [HI]}, ["Hi."]),
        (RESPONSES, {"input": None, "previous_response_id": "r"}, []),
        (RESPONSES, {"model": "m", "instructions": "S"}, ["S"]),
    ],
)
def test_a_body_is_read(native: NativeFormat, body: dict[str, Any], said: list[str]) -> None:
    """The conversation comes from its fields, system instructions first."""
    assert [message.text for message in read_request(body, native)] == said


@pytest.mark.parametrize(
    ("native", "body", "error"),
    [
        (CHAT, [], "request body is not an object"),
        (CHAT, {}, "messages is not a list"),
        (CHAT, {"messages": [{"role": "user", "content": 1}]}, "message 0: content"),
        (ANTHROPIC, {"messages": "x"}, "messages is not a list"),
        (ANTHROPIC, {"messages": [], "system": 5}, "system: .*content"),
        (RESPONSES, {"input": {}}, "not a list"),
        (RESPONSES, {"input": 0}, "not a list"),
        (RESPONSES, {"input": "x", "instructions": []}, "instructions is not a string"),
    ],
)
def test_wrong_bodies_are_named(native: NativeFormat, body: Any, error: str) -> None:
    """A body of the wrong shape is refused with the field that is wrong."""
    with pytest.raises(FormatError, match=error):
        read_request(body, native)


@pytest.fixture(scope="module")
def exchanges(shared_data: Path) -> list[tuple[NativeFormat, Any, Any]]:
    paths = sorted((shared_data / "provider-cassettes").glob("*.yaml"))
    return [exchange for path in paths for exchange in recorded_exchanges(path)]


def test_recorded_items_round_trip(exchanges: list[tuple[NativeFormat, Any, Any]]) -> None:
    """Every recorded item comes out as the same bytes, order of keys included."""
    assert len(exchanges) == 26
    for native, body, _ in exchanges:
        items = body["input" if native is RESPONSES else "messages"]
        converter = CONVERTERS[native]

        assert encode_json(converter.items(converter.messages(items))) == encode_json(items)


def test_recorded_bodies_are_valid(exchanges: list[tuple[NativeFormat, Any, Any]]) -> None:
    """Every recorded conversation, which a vendor accepted, breaks no rule of its grammar."""
    for native, body, _ in exchanges:
        if native is CHAT:
            assert check_openai_chat(body["messages"]) == ()
        elif native is ANTHROPIC:
            assert check_anthropic(body.get("system"), body["messages"]) == ()
        else:
            assert check_openai_responses(body["input"]) == ()


def test_recorded_conversations_cross_over(
    exchanges: list[tuple[NativeFormat, Any, Any]],
) -> None:
    """Every recorded conversation is a valid request for each of the other vendors, too."""
    for native, body, _ in exchanges:
        messages = read_request(body, native)
        anthropic = render_anthropic(messages)

        assert check_openai_chat(render_openai_chat(messages)) == ()
        assert check_openai_responses(render_openai_responses(messages)) == ()
        assert check_anthropic(anthropic.system, anthropic.messages) == ()


def test_recorded_answers_are_read(exchanges: list[tuple[NativeFormat, Any, Any]]) -> None:
    """Every recorded answer, streamed ones included, ends in the assistant's message and its use."""
    for native, _, answer in exchanges:
        last = read_response(answer, native)[-1]

        assert last.role == "assistant"
        assert last.usage
