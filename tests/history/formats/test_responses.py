"""What vendors answer, whole and streamed."""

import json
from typing import Any

import pytest

from foldline.errors import FormatError
from foldline.history.formats.responses import (
    anthropic_usage,
    joined_stream,
    openai_usage,
    read_response,
)
from foldline.history.messages import Message, NativeFormat, Usage
from foldline.history.parts import CompactionPart, ReasoningPart, TextPart, ToolCallPart


CHAT, RESPONSES = NativeFormat.OPENAI_CHAT, NativeFormat.OPENAI_RESPONSES
ANTHROPIC = NativeFormat.ANTHROPIC
COMPACTION = {
    "type": "compaction",
    "input_tokens": 7,
    "cache_read_input_tokens": 70,
    "output_tokens": 5,
}


def streamed(native: NativeFormat, *events: Any) -> Message:
    """Return the last message of an answer that was a stream of *events*."""
    lines = [f"event: x\ndata: {json.dumps(event)}\n" for event in events]
    stream = "\n".join([*lines, "data: [DONE]"])
    return read_response(joined_stream(stream, native), native)[-1]


@pytest.mark.parametrize(
    ("report", "usage"),
    [
        ({"input_tokens": 0, "iterations": []}, None),
        ({"iterations": [{"type": "message", "input_tokens": 9}]}, None),
        ({"input_tokens": 3, "iterations": [COMPACTION]}, Usage(input_tokens=3)),
        ({"output_tokens": 0, "iterations": [COMPACTION]}, Usage(input_tokens=77, output_tokens=5)),
    ],
)
def test_a_compaction_on_demand_has_only_what_is_counted_apart(
    report: dict[str, Any], usage: Usage | None
) -> None:
    """Beside an answer it is left out, since it was no part of the request that was answered."""
    counted = anthropic_usage(report)

    assert (counted and (counted.input_tokens, counted.output_tokens)) == (
        usage and (usage.input_tokens, usage.output_tokens)
    )


@pytest.mark.parametrize(
    ("native", "answer", "usage"),
    [
        (
            CHAT,
            {
                "choices": [{"message": {"role": "assistant", "content": "Yes.", "refusal": None}}],
                "usage": {
                    "prompt_tokens": 4,
                    "completion_tokens": 1,
                    "prompt_tokens_details": {"cached_tokens": 2},
                },
            },
            Usage(input_tokens=4, output_tokens=1, cache_read_tokens=2),
        ),
        (
            ANTHROPIC,
            {
                "content": [{"type": "text", "text": "Yes."}],
                "usage": {"input_tokens": 3, "output_tokens": 1},
            },
            Usage(input_tokens=3, output_tokens=1),
        ),
        (
            RESPONSES,
            {
                "output": [
                    {"type": "reasoning", "id": "r", "summary": []},
                    {"role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
                ],
                "usage": {
                    "input_tokens": 3,
                    "output_tokens": 2,
                    "output_tokens_details": {"reasoning_tokens": 1},
                },
            },
            Usage(input_tokens=3, output_tokens=2, reasoning_tokens=1),
        ),
    ],
)
def test_an_answer_is_one_message(
    native: NativeFormat, answer: dict[str, Any], usage: Usage
) -> None:
    """The assistant's message carries the vendor's id, the model and the counts."""
    (message,) = read_response({"id": "r", "model": "tiny-1", **answer}, native)

    assert (message.role, message.text, message.id) == ("assistant", "Yes.", "r")
    assert message.metadata == {"model": "tiny-1"}
    assert message.usage == usage


def test_of_a_compaction_only_the_summary_is_new() -> None:
    """What a compacted history repeats of the request is not said twice."""
    repeated = {"type": "message", "role": "user", "content": "Hi."}
    response = {
        "object": "response.compaction",
        "output": [repeated, {"type": "compaction", "encrypted_content": "z"}],
    }
    (message,) = read_response(response, RESPONSES)

    assert message.parts == (CompactionPart(""),)


def test_an_empty_answer_adds_nothing() -> None:
    """An answer without items is no message."""
    assert read_response({"output": []}, RESPONSES) == ()


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
    message = streamed(
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


def test_calls_of_a_chat_stream_stay_apart_without_numbers() -> None:
    """Some vendors number no calls, and repeat id and name in each piece of one, also in a log."""

    def call(own_id: str, arguments: str) -> dict[str, Any]:
        function = {"name": "look", "arguments": arguments}
        return {"choices": [{"delta": {"tool_calls": [{"id": own_id, "function": function}]}}]}

    pieces = (("c1", '{"at"'), ("c1", ":1}"), ("c2", '{"at":2}'))
    message = streamed(CHAT, *(call(*piece) for piece in pieces))

    assert message.tool_calls == (
        ToolCallPart("c1", "look", '{"at":1}'),
        ToolCallPart("c2", "look", '{"at":2}'),
    )


def test_a_name_that_comes_in_pieces_is_whole() -> None:
    """A later piece of a name is appended to it."""
    pieces: tuple[dict[str, Any], ...] = (
        {"id": "c1", "function": {"name": "look_", "arguments": ""}},
        {"function": {"name": "up", "arguments": "{}"}},
    )
    events = ({"choices": [{"delta": {"tool_calls": [one]}}]} for one in pieces)

    assert streamed(CHAT, *events).tool_calls == (ToolCallPart("c1", "look_up", "{}"),)


def test_a_custom_call_of_a_chat_stream_is_whole() -> None:
    """Its input is a text, which comes in pieces too."""
    pieces: tuple[dict[str, Any], ...] = (
        {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** "}},
        {"custom": {"input": "Begin"}},
        {"index": 0},
    )
    events = ({"choices": [{"delta": {"tool_calls": [one]}}]} for one in pieces)

    assert streamed(CHAT, *events).tool_calls == (ToolCallPart("c1", "patch", "*** Begin"),)


def test_an_anthropic_stream_is_put_together() -> None:
    """Thinking, text with citations and inputs that came in pieces are whole."""

    def start(index: int, **block: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def delta(index: int, **fields: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": fields}

    message = streamed(
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
    message = streamed(
        RESPONSES,
        {"type": "response.created", "response": {"output": []}},
        {"type": "response.completed", "response": {"output": output}},
    )

    assert message.text == "Yes."


def test_a_responses_stream_may_say_its_items_one_by_one() -> None:
    """If the last event holds no items, those that were said before are the answer."""
    item = {"type": "message", "role": "assistant", "content": "Yes."}
    message = streamed(
        RESPONSES,
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r", "output": []}},
    )

    assert message.text == "Yes."


def test_what_is_no_count_is_not_counted() -> None:
    """A count that is a text, negative or missing is none, and a report of such alone is no report."""
    report = {"prompt_tokens": "12", "completion_tokens": -1}

    assert openai_usage(report) is None
    assert openai_usage({**report, "input_tokens": 3, "prompt_tokens": 5}) == Usage(input_tokens=5)


@pytest.mark.parametrize("native", [CHAT, RESPONSES, ANTHROPIC])
@pytest.mark.parametrize("stream", ["", "data: {", "data: {}", "data: 7"])
def test_a_stream_without_a_whole_answer_is_an_error(native: NativeFormat, stream: str) -> None:
    """A stream that was cut off, or is none, is refused."""
    with pytest.raises(FormatError):
        joined_stream(stream, native)


@pytest.mark.parametrize("native", [CHAT, RESPONSES, ANTHROPIC])
@pytest.mark.parametrize("response", [7, {}, {"choices": []}, {"error": {"message": "no"}}])
def test_what_is_no_answer_is_an_error(native: NativeFormat, response: Any) -> None:
    """An error of the vendor, or a document of another kind, is refused."""
    with pytest.raises(FormatError):
        read_response(response, native)
