"""Chat Completions: what is asked, and what compatible vendors answer."""

from typing import Any

import pytest

from foldline.history.codec import decode_json
from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart
from foldline.providers.model import ChatRequest, ReasoningDelta, TextDelta, ToolDefinition
from tests.providers.vendors.asking import ask, ask_stream, opened, request_of
from tests.servers.vendor import Answer, VendorServer


CHAT = "openai-chat:gpt-4o"
STRICT = {
    "type": "object",
    "properties": {"q": {"type": "string"}},
    "required": ["q"],
    "additionalProperties": False,
}
LOOSE = {"type": "object", "properties": {"q": {"type": "string"}}}


def whole(finish: str = "stop", **message: Any) -> Answer:
    """Answer with one message."""
    choice = {"message": {"role": "assistant", "content": None, **message}, "finish_reason": finish}
    return Answer.of({"id": "c1", "model": "m1", "choices": [choice]})


def chunks(*deltas: dict[str, Any], finish: str | None = "stop") -> Answer:
    """Answer with one chunk for each delta."""
    events: list[Any] = [{"id": "c1", "choices": [{"delta": delta}]} for delta in deltas]
    return Answer.stream([*events, {"choices": [{"delta": {}, "finish_reason": finish}]}, "[DONE]"])


def test_the_request(vendor: VendorServer) -> None:
    """System messages, tools and settings stand where the vendor wants them, settings as given."""
    vendor.answers = [whole(content="yes")]
    tools = [
        ToolDefinition(name="find", description="Find it.", parameters=STRICT),
        ToolDefinition(name="loose", parameters=LOOSE),
    ]
    request = request_of(
        Message.system("be brief"),
        Message.user("x"),
        tools=tools,
        temperature=0.5,
        max_completion_tokens=9,
        unknown_setting={"a": 1},
    )

    ask(opened(vendor, CHAT), request)

    assert vendor.asked[0].body == {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "x"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "find",
                    "description": "Find it.",
                    "parameters": STRICT,
                    "strict": True,
                },
            },
            {"type": "function", "function": {"name": "loose", "parameters": LOOSE}},
        ],
        "temperature": 0.5,
        "max_completion_tokens": 9,
        "unknown_setting": {"a": 1},
    }


def test_settings_beside_the_body(vendor: VendorServer) -> None:
    """A vendor's own tools in the settings come after ours; headers are sent as such."""
    vendor.answers = [whole(content="yes")]
    native = {"type": "custom", "custom": {"name": "own"}}
    tool = ToolDefinition(name="loose", parameters=LOOSE)
    settings = {"tools": [native], "extra_headers": {"x-own": "1"}}

    ask(
        opened(vendor, CHAT),
        ChatRequest(messages=(Message.user("x"),), tools=(tool,), settings=settings),
    )

    assert [one["type"] for one in vendor.asked[0].body["tools"]] == ["function", "custom"]
    assert vendor.asked[0].headers["x-own"] == "1"
    assert "extra_headers" not in vendor.asked[0].body


FINISHES = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "error": "error",
    "something new": "stop",
}


def test_finish_reasons(vendor: VendorServer) -> None:
    """Every finish reason has its name here."""
    vendor.answers = [whole(finish, content="x") for finish in FINISHES]
    vendor.answers += [chunks({"content": "x"}, finish=finish) for finish in FINISHES]
    requests = [request_of(Message.user("x"))] * len(FINISHES)
    model = opened(vendor, CHAT)

    assert [one.finish_reason for one in ask(model, *requests)] == [*FINISHES.values()]
    found = [one.response.finish_reason for one in ask_stream(model, *requests)]
    assert found == [*FINISHES.values()]


def test_a_call_with_stop_is_a_call(vendor: VendorServer) -> None:
    """A vendor that says `stop` after a call has stopped for the call."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    vendor.answers = [whole(tool_calls=[call])]

    (response,) = ask(opened(vendor, CHAT), request_of(Message.user("x")))

    assert response.finish_reason == "tool_call"
    assert response.messages[0].parts == (ToolCallPart("a", "f", "{}"),)


def test_an_empty_answer_adds_nothing(vendor: VendorServer) -> None:
    """An answer without content is a response, with at most an empty text."""
    vendor.answers = [whole("length", content=None), whole("length", content="")]

    for response in ask(opened(vendor, CHAT), *[request_of(Message.user("x"))] * 2):
        assert response.finish_reason == "length"
        assert all(message.text == "" for message in response.messages)


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("streams", [False, True])
def test_reasoning_is_read_and_sent_back(vendor: VendorServer, key: str, streams: bool) -> None:
    """The reasoning of a compatible vendor is a part, and goes back under the name it came with."""
    model = opened(vendor, CHAT)
    question = Message.user("x")
    if streams:
        vendor.answers = [chunks({key: "I "}, {key: "think"}, {"content": "so"})]
        (found,) = ask_stream(model, request_of(question))
        assert found.deltas == [ReasoningDelta("I "), ReasoningDelta("think"), TextDelta("so")]
        response = found.response
    else:
        vendor.answers = [whole(content="so", **{key: "I think"})]
        (response,) = ask(model, request_of(question))
    vendor.answers = [whole(content="yes")]
    ask(model, request_of(question, *response.messages, Message.user("y")))

    assert response.messages[0].parts == (ReasoningPart("I think"), TextPart("so"))
    assert vendor.asked[1].body["messages"][1] == {
        "role": "assistant",
        key: "I think",
        "content": "so",
    }


def test_reasoning_details_grow(vendor: VendorServer) -> None:
    """The reasoning items of OpenRouter, in pieces, are put together and sent back whole."""
    text = {"type": "reasoning.text", "index": 0}
    vendor.answers = [
        chunks(
            {"reasoning": "a", "reasoning_details": [{**text, "text": "a", "signature": None}]},
            {"reasoning": "b", "reasoning_details": [{**text, "text": "b"}]},
            {"reasoning_details": [{**text, "signature": "sealed"}]},
            {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x"}]},
            {"content": "so"},
        )
    ]

    (found,) = ask_stream(opened(vendor, CHAT), request_of(Message.user("x")))

    native = found.response.messages[0].native
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
    vendor.answers = [
        chunks({"tool_calls": [call(first, "a")]}, {"tool_calls": [call(second, "b")]})
    ]

    (found,) = ask_stream(opened(vendor, CHAT), request_of(Message.user("x")))

    assert found.calls == [("a", "aa", "{}"), ("b", "bb", "{}")]
    assert [one.id for one in found.response.messages[0].tool_calls] == ["a", "b"]


def test_a_refusal_is_text(vendor: VendorServer) -> None:
    """A refusal is streamed and kept as text."""
    vendor.answers = [chunks({"refusal": "I "}, {"refusal": "won't"})]

    (found,) = ask_stream(opened(vendor, CHAT), request_of(Message.user("x")))

    assert found.text == "I won't"
    assert "I won't" in found.response.messages[0].text
