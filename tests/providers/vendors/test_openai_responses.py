"""Responses: what is asked, what comes back, and conversations that the vendor holds."""

from typing import Any

import pytest

from foldline.history.codec import decode_json
from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart
from foldline.providers.model import (
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolDefinition,
)
from foldline.providers.vendors.wire_formats import is_strict
from tests.providers.vendors.asking import ask, ask_stream, opened, request_of
from tests.servers.vendor import Answer, VendorServer


SPEC, THINKER = "openai:gpt-4o", "openai:gpt-5"
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


def whole(*output: dict[str, Any], own_id: str = "resp_1", **fields: Any) -> dict[str, Any]:
    """Return a whole response."""
    return {"id": own_id, "object": "response", "output": list(output), **fields}


def test_the_request(vendor: VendorServer) -> None:
    """
    Nothing is left at the vendor; tools say whether their schema is strict; settings as given.
    """
    vendor.answers = [Answer.of(whole(SAID))]
    strict = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    tools = [
        ToolDefinition(name="a", description="A.", parameters=strict),
        ToolDefinition(name="b", parameters={"type": "object", "properties": {"q": {}}}),
    ]

    ask(
        opened(vendor, SPEC),
        request_of(Message.system("be brief"), QUESTION, tools=tools, temperature=0.5),
    )

    assert vendor.asked[0].path == "/v1/responses"
    assert vendor.asked[0].body == {
        "model": "gpt-4o",
        "input": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "x"}],
        "store": False,
        "tools": [
            {
                "type": "function",
                "name": "a",
                "description": "A.",
                "parameters": strict,
                "strict": True,
            },
            {
                "type": "function",
                "name": "b",
                "parameters": {"type": "object", "properties": {"q": {}}},
                "strict": False,
            },
        ],
        "temperature": 0.5,
    }


def test_reasoning_travels_sealed(vendor: VendorServer) -> None:
    """
    A model that reasons is asked for sealed reasoning, which goes back item by item as it came.
    """
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
    model = opened(vendor, SPEC, holds_history=True)

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
    """
    Summaries, texts and calls come in pieces; a server that leaves its last object empty is read.
    """
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
    vendor.answers = [Answer.stream(events)]

    (found,) = ask_stream(opened(vendor, THINKER), request_of(QUESTION))

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


def test_finish_reasons(vendor: VendorServer) -> None:
    """Why a response is not complete, streamed or not, is its finish reason."""
    cut: dict[str, Any] = {"incomplete_details": {"reason": "max_output_tokens"}}
    filtered: dict[str, Any] = {"incomplete_details": {"reason": "content_filter"}}
    answers = [whole(SAID), whole(SAID, **cut), whole(SAID, **filtered), whole(status="failed")]
    event = {"type": "response.incomplete", "response": whole(SAID, **cut)}
    vendor.answers = [*map(Answer.of, answers), Answer.stream([event])]
    model = opened(vendor, SPEC)

    responses = ask(model, *[request_of(QUESTION)] * 4)
    (streamed,) = ask_stream(model, request_of(QUESTION))

    found = [response.finish_reason for response in responses]
    assert found == ["stop", "length", "content_filter", "error"]
    assert streamed.response.finish_reason == "length"


TEXT = {"type": "string"}


def closed(**properties: Any) -> dict[str, Any]:
    """Return an object that requires all of its *properties* and allows no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


STRICT = [
    closed(),
    closed(a=TEXT),
    closed(a=closed(b={"type": ["string", "null"]})),
    closed(a={"type": "array", "items": closed(b=TEXT)}),
    closed(a={"anyOf": [TEXT, {"type": "null"}]}),
    {**closed(a={"$ref": "#/$defs/b"}), "$defs": {"b": closed(c=TEXT)}},
]
LOOSE: list[dict[str, Any]] = [
    {},
    TEXT,
    {"type": "object"},
    {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
    {**closed(a=TEXT), "required": []},
    {**closed(a=TEXT), "additionalProperties": TEXT},
    closed(a={**TEXT, "default": "x"}),
    closed(a={**TEXT, "pattern": "x"}),
    closed(a={"type": "object"}),
    closed(a={"type": ["object", "null"]}),
    closed(a={"type": "array", "items": {"type": "object"}}),
    closed(a={"anyOf": [{"type": "object"}]}),
    closed(a=True),
    {**closed(a=TEXT), "$defs": {"b": {"type": "object"}}},
]


def test_strict_schemas() -> None:
    """A schema is strict if every object in it is closed, and no key is unknown."""
    assert [schema for schema in STRICT if not is_strict(schema)] == []
    assert [schema for schema in LOOSE if is_strict(schema)] == []
