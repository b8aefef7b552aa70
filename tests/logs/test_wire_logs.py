"""Recorded conversations in the wire formats themselves."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from foldline.history.codec import encode_history, encode_message
from foldline.history.messages import Message, Usage
from foldline.logs import read_sessions
from tests.logs.reading import read


HI = {"role": "user", "content": "Hi."}
BYE = {"role": "user", "content": "Bye."}
YES = {"role": "assistant", "content": "Yes."}
LATER = {"role": "assistant", "content": "Later."}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "n", "input": {}}]}
FUNCTION = {"name": "n", "arguments": "{}"}
CALLS = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": FUNCTION}]}
ANSWER = {"role": "tool", "tool_call_id": "c", "content": "Seen."}
SHOWN = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
SAID = {"type": "text", "text": "Yes."}
ITEM = {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}
OTEL = {"role": "user", "parts": [{"type": "text", "content": "Hi."}]}
OWN = (Message.user("Hi.", id="1"), Message.assistant("Yes."))


def test_every_body_is_a_session() -> None:
    """A log of requests that have nothing to do with each other has a session a line."""
    sessions = read(
        {"model": "t", "messages": [HI], "id": "a"}, {"model": "t", "messages": [BYE, HI]}
    )

    assert [(s.id, len(s.messages)) for s in sessions] == [("a", 1), ("session", 2)]


@pytest.mark.parametrize("key", ["messages", "input"])
def test_growing_bodies_are_one_session(key: str) -> None:
    """Where each body holds the one before, the longest is the session and each was a call."""
    bodies = [{"id": "x", "model": "t", key: [HI, YES] * at + [HI]} for at in range(60)]

    (session,) = read(*bodies)

    assert (session.id, len(session.messages)) == ("x", 119)
    assert session.notes[0].startswith("this session is 60 records")
    assert session.calls == tuple(range(1, 120, 2))


@pytest.mark.parametrize(
    "record",
    [
        lambda asked, answer: {"request": {"body": asked}, "response": {"body": answer}},
        lambda asked, answer: {"request": asked, "response": answer},
        lambda asked, answer: {"call_type": "completion", **asked, "response": answer},
    ],
    ids=["bodies", "wrapped", "LiteLLM"],
)
def test_a_proxys_records_hold_the_answer(record: Callable[..., Any]) -> None:
    """The last answer ends the session; the earlier ones come with the next request."""
    first = {"model": "t", "messages": [HI]}
    second = {"model": "t", "messages": [HI, YES, BYE]}
    answers = [{"choices": [{"message": YES}]}, {"choices": [{"message": LATER}]}]
    pairs = zip([first, second], answers, strict=True)
    lines = [record(asked, answer) for asked, answer in pairs]

    (session,) = read(*lines)

    assert session.format == "openai-chat"
    assert [message.text for message in session.messages] == ["Hi.", "Yes.", "Bye.", "Later."]
    assert session.calls == (1, 3)


@pytest.mark.parametrize("first", range(7))
def test_a_log_of_several_vendors_is_read(first: int) -> None:
    """Each request is read as what it or its answer shows, whichever came first."""
    records = [
        {"request": {"model": "g", "messages": [HI]}, "response": {"choices": [{"message": YES}]}},
        {"request": {"model": "c", "messages": [BYE]}, "response": {"content": [SAID]}},
        {"model": "c", "messages": [{**HI, "content": "Do."}, USE]},
        {"model": "g", "messages": [{**HI, "content": "Go."}, CALLS, ANSWER]},
        {"model": "g", "messages": [{**HI, "content": [SHOWN]}]},
        {"model": "g", "input": "Why?"},
        {"model": "g", "messages": [{**HI, "content": [{"type": "input_text", "text": "Now."}]}]},
    ]

    sessions = read(*records[first:], *records[:first])

    sessions = sessions[-first:] + sessions[:-first]

    told = ["openai-chat", "anthropic", "anthropic", "openai-chat"]
    assert [one.format for one in sessions[:4]] == told
    assert [one.format for one in sessions[5:]] == ["openai-responses"] * 2
    said = [[type(part).__name__ for m in one.messages for part in m.parts] for one in sessions]
    assert said[:2] == [["TextPart"] * 2] * 2
    assert said[2:4] == [
        ["TextPart", "ToolCallPart"],
        ["TextPart", "ToolCallPart", "ToolCallResponsePart"],
    ]
    assert said[4:] == [["UriPart"], ["TextPart"], ["TextPart"]]
    assert not any(one.notes for one in sessions)


def test_an_answer_may_be_in_another_format_than_its_request() -> None:
    """Some programs write every answer as OpenAI does; what is none is left out with a note."""
    asked = {"model": "c", "messages": [HI, USE, BYE]}

    (session,) = read({"request": asked, "response": {"choices": [{"message": LATER}]}})
    (failed,) = read({"request": asked, "response": 5})

    assert len(session.messages[1].tool_calls) == 1
    assert session.messages[-1].text == "Later."
    assert (len(failed.messages), len(failed.notes)) == (3, 1)


@pytest.mark.parametrize("log", [lambda said: {"model": "t", "messages": said}, list])
def test_calls_with_the_names_of_a_client_in_typescript(log: Callable[..., Any]) -> None:
    """Mistral's and OpenRouter's clients and CopilotKit have `toolCalls` and `toolCallId`."""
    calls = {"role": "assistant", "toolCalls": CALLS["tool_calls"]}
    answer = {"role": "tool", "toolCallId": "c", "content": "Seen."}

    (named,), (usual,) = read(log([HI, calls, answer])), read(log([HI, CALLS, ANSWER]))

    assert [one.parts for one in named.messages] == [one.parts for one in usual.messages]
    assert len(named.messages[1].tool_calls) == 1


def test_thinking_is_no_sign_of_a_vendor() -> None:
    """A body of DeepSeek, GLM or Kimi has the field too."""
    body = {"model": "t", "messages": [HI, CALLS, ANSWER], "thinking": {"type": "enabled"}}

    (session,) = read(body)

    assert session.format == "openai-chat"


def test_a_proxys_streams_and_failures_are_read() -> None:
    """A stream is put together; a response that is no answer is named, and its request is kept."""
    chunk = {"choices": [{"delta": {"content": "Yes."}}]}
    streamed = {"request": {"messages": [HI]}, "response": f"data: {json.dumps(chunk)}\n\n"}
    failed = {"request": {"messages": [BYE]}, "response": {"error": {"code": 500}}}

    first, second = read(streamed, failed)

    assert [message.text for message in first.messages] == ["Hi.", "Yes."]
    assert len(second.messages) == 1
    assert second.notes[0].startswith("line 2: the response holds no answer")


def _otlp(value: Any) -> dict[str, Any]:
    """Return *value* as OTLP writes any."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _pairs(value)}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_otlp(one) for one in value]}}
    return {"intValue": f"{value}"} if isinstance(value, int) else {"stringValue": value}


def _pairs(fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _otlp(value)} for key, value in fields.items()]


def _exported(*spans: dict[str, Any]) -> dict[str, Any]:
    written = [{"attributes": _pairs(one)} for one in spans]
    return {"resourceSpans": [{"scopeSpans": [{"spans": written}]}]}


def _structured(*spans: dict[str, Any]) -> dict[str, Any]:
    """Return log records of *spans*, whose messages are values and not JSON text."""
    texts = ("gen_ai.input.messages", "gen_ai.output.messages")
    values = [
        {key: json.loads(value) if key in texts else value for key, value in one.items()}
        for one in spans
    ]
    written = [{"eventName": "x", "attributes": _pairs(one)} for one in values]
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": written}]}]}


def _with_events(span: dict[str, Any]) -> dict[str, Any]:
    """Return *span* with its messages in an event and all else beside it."""
    held = {key: value for key, value in span.items() if key.endswith(".messages")}
    own = {key: value for key, value in span.items() if key not in held}
    return {"attributes": own, "events": [{"attributes": {}}, {"attributes": held}]}


@pytest.mark.parametrize(
    "records",
    [
        lambda spans: spans[1:],
        lambda spans: [{"name": "chat", "attributes": one} for one in spans],
        lambda spans: [[{"name": "chat", "attributes": one} for one in spans]],
        lambda spans: [_exported(*spans)],
        lambda spans: [_exported(one) for one in spans],
        lambda spans: [_structured(*spans)],
        lambda spans: [_with_events(one) for one in spans],
    ],
    ids=["bare", "SDK", "list", "OTLP", "lines of OTLP", "log records", "events"],
)
def test_exported_spans_are_read(records: Callable[..., list[Any]]) -> None:
    """An SDK and a collector put messages and counts into spans, beside spans without messages."""
    said = {"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}
    asked, answered, named = (
        f"gen_ai.{name}" for name in ("input.messages", "output.messages", "conversation.id")
    )
    counts = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.cache_read.input_tokens": 4}
    spans = [
        {"gen_ai.operation.name": "execute_tool"},
        {named: "c", asked: json.dumps([OTEL]), answered: json.dumps([said]), **counts},
        {named: "c", asked: json.dumps([OTEL, said, OTEL])},
    ]

    (session,) = read(*records(spans))

    assert (session.id, session.format, session.calls) == ("c", "otel", (1, 3))
    assert [message.text for message in session.messages] == ["Hi.", "Yes.", "Hi."]
    assert session.messages[1].usage == Usage(input_tokens=9, cache_read_tokens=4)


def test_the_span_of_an_agent_is_no_second_conversation() -> None:
    """What it was given and answered is in the spans of its calls; without these it is read."""
    said = {"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}
    asked, answered = "gen_ai.input.messages", "gen_ai.output.messages"
    held = {asked: json.dumps([OTEL]), answered: json.dumps([said])}
    call = {"gen_ai.operation.name": "chat", asked: json.dumps([OTEL, OTEL]), answered: "[]"}
    agent = {"gen_ai.operation.name": "invoke_agent", **held}

    assert [len(one.messages) for one in read(_exported(call, agent))] == [2]
    assert [one.messages[1].text for one in read(_exported(agent))] == ["Yes."]


def test_items_are_sorted_by_conversation() -> None:
    """Two conversations whose lines are mixed are two sessions."""
    sessions = read(*({**item, "thread_id": name} for item in (HI, USE) for name in "ab"))

    assert [(one.id, one.format, len(one.messages)) for one in sessions] == [
        ("a", "anthropic", 2),
        ("b", "anthropic", 2),
    ]


def test_a_named_format_reads_what_shows_no_sign() -> None:
    """Plain messages are read as the vendor's whose format is named."""
    (session,) = read([HI], format="anthropic")

    assert (session.format, session.messages) == ("anthropic", (Message.user("Hi."),))


@pytest.mark.parametrize("packed", [False, True])
def test_a_span_holds_all_sides(packed: bool) -> None:
    """System instructions, input and output of a span are one conversation, also as JSON text."""
    output = {"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}
    span = {
        "gen_ai.system_instructions": [{"type": "text", "content": "Be good."}],
        "gen_ai.input.messages": [OTEL],
        "gen_ai.output.messages": [output],
    }
    if packed:
        span = {key: json.dumps(value) for key, value in span.items()}
    (session,) = read(span)

    assert [message.text for message in session.messages] == ["Be good.", "Hi.", "Yes."]


@pytest.mark.parametrize(
    "data",
    [
        encode_history(OWN),
        b"\n".join(map(encode_message, OWN)),
        json.dumps(json.loads(encode_history(OWN)), indent=1).encode(),
    ],
)
def test_what_foldline_wrote_comes_back(data: bytes) -> None:
    """Our own document and our own lines give equal messages back."""
    (session,) = read_sessions(data)

    assert (session.format, session.messages) == ("foldline", OWN)
