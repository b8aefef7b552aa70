"""What vendors answer in each wire format, whole and in pieces."""

from typing import Any

import pytest

from foldline.history.codec import decode_json
from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart
from foldline.providers.model import ReasoningDelta, TextDelta, ToolCallDelta
from tests.providers.vendors.asking import Streamed, ask, ask_stream, opened, request_of
from tests.servers.vendor import Answer, VendorServer


CHAT, CLAUDE = "openai-chat:gpt-4o", "anthropic:claude-sonnet-4-6"
RESPONSES, THINKER = "openai:gpt-4o", "openai:gpt-5"
SEALED = "reasoning.encrypted_content"
QUESTION = Message.user("x")
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "thought"}],
    "encrypted_content": "sealed",
}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "find",
    "arguments": '{"q":1}',
}
SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "so", "annotations": [], "logprobs": []}],
}


def chat(finish: str = "stop", **message: Any) -> Answer:
    choice = {"message": {"role": "assistant", "content": None, **message}, "finish_reason": finish}
    return Answer.of({"id": "c1", "model": "m1", "choices": [choice]})


def chunks(*deltas: dict[str, Any], finish: str | None = "stop") -> Answer:
    events: list[Any] = [{"id": "c1", "choices": [{"delta": delta}]} for delta in deltas]
    return Answer.stream([*events, {"choices": [{"delta": {}, "finish_reason": finish}]}, "[DONE]"])


def whole(*output: dict[str, Any], own_id: str = "resp_1", **fields: Any) -> dict[str, Any]:
    return {"id": own_id, "object": "response", "output": list(output), **fields}


def claude(stop: str) -> Answer:
    content = [{"type": "text", "text": "so"}]
    return Answer.of({"id": "m", "role": "assistant", "content": content, "stop_reason": stop})


def stream_of(vendor: VendorServer, spec: str, answer: Answer) -> Streamed:
    vendor.answers = [answer]
    (found,) = ask_stream(opened(vendor, spec), request_of(QUESTION))
    return found


FINISHES = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "error": "error",
    "something new": "stop",
}
STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_call",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "something_new": "stop",
}
CUT: dict[str, Any] = {"incomplete_details": {"reason": "max_output_tokens"}}
FILTERED: dict[str, Any] = {"incomplete_details": {"reason": "content_filter"}}
ENDS = [whole(SAID), whole(SAID, **CUT), whole(SAID, **FILTERED), whole(status="failed")]


@pytest.mark.parametrize(
    ("spec", "answers", "reasons"),
    [
        (CHAT, [chat(one, content="x") for one in FINISHES], [*FINISHES.values()]),
        (RESPONSES, [*map(Answer.of, ENDS)], ["stop", "length", "content_filter", "error"]),
        (CLAUDE, [*map(claude, STOPS)], [*STOPS.values()]),
    ],
)
def test_finish_reasons(
    vendor: VendorServer, spec: str, answers: list[Answer], reasons: list[str]
) -> None:
    """Every reason to stop has its name here."""
    vendor.answers = answers

    responses = ask(opened(vendor, spec), *[request_of(QUESTION)] * len(reasons))

    assert [response.finish_reason for response in responses] == reasons


def test_finish_reasons_of_streams(vendor: VendorServer) -> None:
    """A stream says why it ended as a whole response does."""
    event = {"type": "response.incomplete", "response": whole(SAID, **CUT)}
    streams = [chunks({"content": "x"}, finish=finish) for finish in FINISHES]

    found = [stream_of(vendor, CHAT, stream).response.finish_reason for stream in streams]
    assert found == [*FINISHES.values()]
    found = [stream_of(vendor, RESPONSES, Answer.stream([event])).response.finish_reason]
    assert found == ["length"]


def test_a_call_with_stop_is_a_call(vendor: VendorServer) -> None:
    """A vendor that says `stop` after a call has stopped for the call."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    vendor.answers = [chat(tool_calls=[call])]

    (response,) = ask(opened(vendor, CHAT), request_of(QUESTION))

    assert response.finish_reason == "tool_call"
    assert response.messages[0].parts == (ToolCallPart("a", "f", "{}"),)


def test_an_empty_answer_adds_nothing(vendor: VendorServer) -> None:
    """An answer without content is a response, with at most an empty text."""
    vendor.answers = [chat("length", content=None), chat("length", content="")]
    empty = {"id": "m", "role": "assistant", "content": [], "stop_reason": "refusal"}

    responses = ask(opened(vendor, CHAT), *[request_of(QUESTION)] * 2)
    vendor.answers = [Answer.of(empty)]
    (refusal,) = ask(opened(vendor, CLAUDE), request_of(QUESTION))

    assert [response.finish_reason for response in responses] == ["length", "length"]
    assert {message.text for response in responses for message in response.messages} <= {""}
    assert (refusal.messages, refusal.finish_reason) == ((), "content_filter")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("streams", [False, True])
def test_reasoning_is_read_and_sent_back(vendor: VendorServer, key: str, streams: bool) -> None:
    """The reasoning of a compatible vendor is a part, and goes back under the name it came with."""
    model = opened(vendor, CHAT)
    if streams:
        vendor.answers = [chunks({key: "I "}, {key: "think"}, {"content": "so"})]
        (found,) = ask_stream(model, request_of(QUESTION))
        assert found.deltas == [ReasoningDelta("I "), ReasoningDelta("think"), TextDelta("so")]
        response = found.response
    else:
        vendor.answers = [chat(content="so", **{key: "I think"})]
        (response,) = ask(model, request_of(QUESTION))
    vendor.answers = [chat(content="yes")]
    ask(model, request_of(QUESTION, *response.messages, Message.user("y")))

    assert response.messages[0].parts == (ReasoningPart("I think"), TextPart("so"))
    assert vendor.asked[1].body["messages"][1] == {
        "role": "assistant",
        key: "I think",
        "content": "so",
    }


@pytest.mark.parametrize("streams", [False, True])
def test_blocks_of_mistral_are_read_and_sent_back(vendor: VendorServer, streams: bool) -> None:
    """What a model of Mistral thinks in its content is reasoning, no word of the answer is lost."""

    def thinking(text: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}

    model, said = opened(vendor, CHAT), [thinking("I think"), {"type": "text", "text": "so be it"}]
    if streams:
        turned = [thinking("ink"), {"type": "text", "text": "so"}]
        pieces = [[thinking("I th")], turned, " be it"]
        vendor.answers = [chunks(*({"content": one} for one in pieces))]
        (found,) = ask_stream(model, request_of(QUESTION))
        thoughts, texts = [ReasoningDelta("I th"), ReasoningDelta("ink")], ["so", " be it"]
        assert found.deltas == [*thoughts, *map(TextDelta, texts)]
        response = found.response
    else:
        vendor.answers = [chat(content=said)]
        (response,) = ask(model, request_of(QUESTION))
    vendor.answers = [chat(content="yes")]
    ask(model, request_of(QUESTION, *response.messages, Message.user("y")))

    assert response.messages[0].parts == (ReasoningPart("I think"), TextPart("so be it"))
    assert vendor.asked[1].body["messages"][1] == {"role": "assistant", "content": said}


def test_reasoning_details_grow(vendor: VendorServer) -> None:
    """The reasoning items of OpenRouter, in pieces, are put together and sent back whole."""
    text = {"type": "reasoning.text", "index": 0}
    answer = chunks(
        {"reasoning": "a", "reasoning_details": [{**text, "text": "a", "signature": None}]},
        {"reasoning": "b", "reasoning_details": [{**text, "text": "b"}]},
        {"reasoning_details": [{**text, "text": None, "signature": "sealed"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x"}]},
        {"content": "so"},
    )

    native = stream_of(vendor, CHAT, answer).response.messages[0].native

    assert native is not None
    assert decode_json(native.item)["reasoning_details"] == [
        {**text, "text": "ab", "signature": "sealed"},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
    ]


@pytest.mark.parametrize("numbers", [(0, 1), (0, 0), (None, None)])
def test_calls_however_they_are_numbered(
    vendor: VendorServer, numbers: tuple[int | None, int | None]
) -> None:
    """Two calls stay two, also where the vendor gives them one number or none."""

    def call(number: int | None, own_id: str) -> dict[str, Any]:
        index = {} if number is None else {"index": number}
        return {**index, "id": own_id, "function": {"name": own_id * 2, "arguments": "{}"}}

    first, second = numbers
    deltas = ({"tool_calls": [call(first, "a")]}, {"tool_calls": [call(second, "b")]})

    found = stream_of(vendor, CHAT, chunks(*deltas))

    assert found.calls == [("a", "aa", "{}"), ("b", "bb", "{}")]
    assert [one.id for one in found.response.messages[0].tool_calls] == ["a", "b"]


def test_a_refusal_is_text(vendor: VendorServer) -> None:
    """A refusal is streamed and kept as text."""
    found = stream_of(vendor, CHAT, chunks({"refusal": "I "}, {"refusal": "won't"}))

    assert found.text == "I won't"
    assert "I won't" in found.response.messages[0].text


def test_reasoning_travels_sealed(vendor: VendorServer) -> None:
    """A model that reasons is asked for sealed reasoning, which goes back as it came."""
    vendor.answers = [Answer.of(whole(REASONING, CALL)), Answer.of(whole(SAID))]
    model = opened(vendor, THINKER)

    (response,) = ask(model, request_of(QUESTION))
    messages = (QUESTION, *response.messages, Message.tool("call_1", "found"))
    ask(model, request_of(*messages, include=[SEALED, "other"]))

    assert vendor.asked[0].body["include"] == [SEALED]
    assert vendor.asked[1].body["include"] == [SEALED, "other"]
    assert [message.parts for message in response.messages] == [
        (ReasoningPart("thought"), ToolCallPart("call_1", "find", '{"q":1}')),
    ]
    assert response.finish_reason == "tool_call"
    assert vendor.asked[1].body["input"] == [
        {"role": "user", "content": "x"},
        REASONING,
        CALL,
        {"type": "function_call_output", "call_id": "call_1", "output": "found"},
    ]


def test_a_conversation_that_the_vendor_holds(vendor: VendorServer) -> None:
    """With a held history the response, streamed or not, names what the next request continues."""
    event = {"type": "response.completed", "response": whole(SAID, own_id="resp_2")}
    vendor.answers = [Answer.of(whole(CALL)), Answer.stream([event])]
    model = opened(vendor, RESPONSES, holds_history=True)

    (first,) = ask(model, request_of(Message.system("be brief"), QUESTION))
    answer = Message.tool("call_1", "found")
    (second,) = ask_stream(model, request_of(answer, thread=first.service_thread_id))

    assert (first.service_thread_id, second.response.service_thread_id) == ("resp_1", "resp_2")
    assert vendor.asked[0].body["store"] is True
    assert "previous_response_id" not in vendor.asked[0].body
    assert vendor.asked[1].body["previous_response_id"] == "resp_1"
    assert vendor.asked[1].body["input"] == [
        {"type": "function_call_output", "call_id": "call_1", "output": "found"}
    ]


@pytest.mark.parametrize("is_listed", [True, False])
def test_the_pieces_of_a_stream(vendor: VendorServer, is_listed: bool) -> None:
    """Summaries, texts and calls come in pieces; an empty last object does no harm."""
    done = [{"type": "response.output_item.done", "item": item} for item in (REASONING, CALL, SAID)]
    final = whole(*((REASONING, CALL, SAID) if is_listed else ()))
    events = [
        {"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "tho"},
        {"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 1},
        {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "ught"},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {**CALL, "arguments": ""},
        },
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"q"'},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": ":1}"},
        {"type": "response.function_call_arguments.delta", "output_index": 9, "delta": "lost"},
        {"type": "response.output_text.delta", "output_index": 2, "delta": "so"},
        {"type": "response.refusal.delta", "output_index": 2, "delta": "no"},
        *done,
        {"type": "response.completed", "response": final},
    ]

    found = stream_of(vendor, THINKER, Answer.stream(events))

    assert found.deltas == [
        ReasoningDelta("tho"),
        ReasoningDelta("\n"),
        ReasoningDelta("ught"),
        ToolCallDelta(index=0, id="call_1", name="find"),
        ToolCallDelta(index=0, arguments='{"q"'),
        ToolCallDelta(index=0, arguments=":1}"),
        TextDelta("so"),
        TextDelta("no"),
    ]
    (answer,) = found.response.messages
    assert answer.parts == (
        ReasoningPart("thought"),
        ToolCallPart("call_1", "find", '{"q":1}'),
        TextPart("so"),
    )
    native = answer.native
    assert native is not None
    assert decode_json(native.item)[0] == REASONING


def test_a_streamed_call(vendor: VendorServer) -> None:
    """Calls come in numbered pieces, and those of the vendor's own tools do not."""

    def started(index: int, **block: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def grown(index: int, text: str) -> dict[str, Any]:
        delta = {"type": "input_json_delta", "partial_json": text}
        return {"type": "content_block_delta", "index": index, "delta": delta}

    events = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}},
        started(0, type="text", text="hm"),
        started(1, type="server_tool_use", id="s", name="web_search", input={}),
        grown(1, '{"query": "x"}'),
        started(2, type="tool_use", id="a", name="find", input={}),
        grown(2, ""),
        grown(2, '{"q":'),
        grown(2, " 1}"),
        started(3, type="tool_use", id="b", name="stop", input={}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]

    found = stream_of(vendor, CLAUDE, Answer.stream(events))

    assert found.text == "hm"
    assert found.calls == [("a", "find", '{"q": 1}'), ("b", "stop", "")]
    assert [call.arguments for call in found.response.messages[0].tool_calls] == ['{"q":1}', "{}"]
    assert found.response.finish_reason == "tool_call"
