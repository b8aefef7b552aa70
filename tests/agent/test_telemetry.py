"""Telemetry of a loop that is not ours: what spans and metrics say, and how they nest."""

import asyncio
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from foldline.agent.events import RunCompletedEvent, TurnFinishedEvent
from foldline.agent.telemetry import Observer, Telemetry
from foldline.agent.telemetry.conventions import error_type, model_attributes
from foldline.agent.tools import ToolAnswer
from foldline.errors import ContextOverflowError, MissingExtraError, ModelError
from foldline.history.messages import Message
from foldline.history.parts import GenericPart, TextPart, ToolCallPart
from foldline.providers.model import ChatRequest
from tests.agent.telemetry.watched import (
    CALL,
    MODEL,
    REQUEST,
    RESPONSE,
    SECRET,
    TOOL,
    USAGE,
    Watched,
    attributes,
    reduced,
    started,
    watch,
)


async def turn(observer: Observer, thread_id: str = "t-1", *, vendor: trace.Tracer) -> None:
    """Do what the loop does: a fold, a call with two tools at once, and a last call."""
    with observer.turn(agent="helper", model=MODEL, thread_id=thread_id) as tell:
        tell(started(thread_id))
        with observer.fold() as made, vendor.start_as_current_span(f"summarize {thread_id}"):
            await asyncio.sleep(0)
            made(reduced())
        with observer.model_call(REQUEST, model=MODEL, reduction=reduced()) as answered:
            with vendor.start_as_current_span(f"vendor {thread_id}"):
                await asyncio.sleep(0)
            answered(RESPONSE)
        await asyncio.gather(*[run(observer, f"call_{at}", vendor) for at in range(2)])
        with observer.model_call(REQUEST, model=MODEL, reduction=reduced("cache_hit")) as answered:
            answered(RESPONSE)
        tell(TurnFinishedEvent(termination_reason="Completed", iterations=2, message_count=6))
        tell(RunCompletedEvent(run_id="r-1", usage=USAGE, duration=1.0))


async def run(observer: Observer, call_id: str, vendor: trace.Tracer) -> None:
    with observer.tool(TOOL, ToolCallPart(call_id, "lookup", "{}")) as answered:
        await asyncio.sleep(0)
        with vendor.start_as_current_span(f"inside {call_id}"):
            answered(ToolAnswer("found", is_error=False))


def play(watched: Watched, *threads: str) -> None:
    vendor = watched.provider.get_tracer("vendor")

    async def main() -> None:
        await asyncio.gather(*[turn(watched.telemetry, name, vendor=vendor) for name in threads])

    asyncio.run(main())


def test_a_turn_is_a_span_of_the_conventions() -> None:
    """A turn is `invoke_agent` with agent, thread, model, how it ran and what it took."""
    watched = watch()
    play(watched, "t-1")
    span = watched.span("invoke_agent helper")

    assert span.kind is SpanKind.INTERNAL
    assert span.status.status_code is StatusCode.UNSET
    assert attributes(span) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "helper",
        "gen_ai.conversation.id": "t-1",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5-mini",
        "foldline.run.id": "r-1",
        "foldline.run.start": "fresh",
        "foldline.run.termination_reason": "Completed",
        "foldline.run.iterations": 2,
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_write.input_tokens": 30,
        "gen_ai.usage.reasoning.output_tokens": 0,
    }


def test_a_model_call_is_a_span_of_the_conventions() -> None:
    """A model call is a client span `chat` with request, response, usage and thread."""
    watched = watch()
    play(watched, "t-1")
    first, _ = [span for span in watched.spans if span.name == "chat gpt-5-mini"]

    assert first.kind is SpanKind.CLIENT
    assert attributes(first) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5-mini",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.conversation.id": "t-1",
        "gen_ai.conversation.compacted": True,
        "gen_ai.response.model": "gpt-5-mini-1",
        "gen_ai.response.id": "resp_1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_write.input_tokens": 30,
        "gen_ai.usage.reasoning.output_tokens": 0,
    }


def test_a_tool_is_a_span_of_the_conventions() -> None:
    """Each run of a tool is `execute_tool` with its name, its call and what it does."""
    watched = watch()
    play(watched, "t-1")
    first, second = [span for span in watched.spans if span.name == "execute_tool lookup"]

    assert attributes(first) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "lookup",
        "gen_ai.tool.call.id": "call_0",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Looks things up.",
        "gen_ai.conversation.id": "t-1",
    }
    assert attributes(second)["gen_ai.tool.call.id"] == "call_1"


def test_a_fold_is_one_span() -> None:
    """A fold is `compact_history` with its counts, tokens, status, reason and summarizer."""
    watched = watch()
    play(watched, "t-1")

    assert attributes(watched.span("compact_history")) == {
        "gen_ai.operation.name": "compact_history",
        "gen_ai.conversation.id": "t-1",
        "foldline.fold.status": "performed",
        "foldline.fold.reason": "threshold_exceeded",
        "foldline.fold.strategy": "summarizing",
        "foldline.fold.counting_unit": "messages",
        "foldline.fold.units": 9,
        "foldline.fold.messages.before": 12,
        "foldline.fold.messages.after": 5,
        "foldline.fold.messages.removed": 8,
        "foldline.fold.tokens.before": 1200,
        "foldline.fold.tokens.after": 300,
        "foldline.fold.summarizer.calls": 2,
        "foldline.fold.summarizer.tokens": 700,
        "foldline.fold.failures": 1,
        "foldline.fold.summarizer.name": "digest",
    }


def test_turns_at_once_are_never_mixed() -> None:
    """Of a hundred turns in one loop each is a trace of its own with all its spans."""
    watched = watch()
    names = [f"t-{at}" for at in range(100)]
    play(watched, *names)
    traces: dict[int, list[ReadableSpan]] = {}
    for span in watched.spans:
        assert span.context is not None
        traces.setdefault(span.context.trace_id, []).append(span)
    threads = [
        {str(attributes(span)["gen_ai.conversation.id"]) for span in spans if span.attributes}
        for spans in traces.values()
    ]

    assert sorted(one for (one,) in threads) == sorted(names)
    assert {len(spans) for spans in traces.values()} == {10}
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_metrics_count_calls_and_folds() -> None:
    """Tokens, durations, folds, hits, saved tokens and summarizer calls are counted once each."""
    watched = watch()
    play(watched, "t-1")
    data = watched.points

    assert data("gen_ai.client.token.usage") == {
        ("chat", "openai", "gpt-5-mini", "gpt-5-mini-1", "input"): 200,
        ("chat", "openai", "gpt-5-mini", "gpt-5-mini-1", "output"): 40,
    }
    assert len(data("gen_ai.client.operation.duration")) == 1
    assert data("foldline.folds") == {("performed", "summarizing"): 1}
    assert data("foldline.fold.duration") == {("performed", "summarizing"): 0.25}
    assert data("foldline.summarizer.calls") == {("performed", "summarizing"): 2}
    assert data("foldline.hits") == {("summarizing",): 1}
    assert data("foldline.tokens.saved") == {("summarizing",): 1800}


def everything(watched: Watched) -> str:
    spans = [span.to_json() for span in watched.spans]
    data = watched.reader.get_metrics_data()
    return "".join([*spans, "" if data is None else data.to_json()])


def work(telemetry: Telemetry, error: BaseException | None = None) -> None:
    with telemetry.turn(agent="helper", model=MODEL, thread_id="t-1"):
        with telemetry.fold() as made:
            made(reduced())
        with telemetry.tool(TOOL, CALL) as answered_tool:
            answered_tool(ToolAnswer((TextPart(SECRET),), is_error=True))
        with telemetry.model_call(REQUEST, model=MODEL) as answered:
            if error is not None:
                raise error
            answered(RESPONSE)


@pytest.mark.parametrize("error", [None, ValueError(SECRET), asyncio.CancelledError(SECRET)])
def test_nothing_that_was_said_is_sent(error: BaseException | None) -> None:
    """No message, argument, result, summary or foreign error text is in a span or a metric."""
    watched = watch()
    if error is None:
        work(watched.telemetry)
    else:
        with pytest.raises(type(error)):
            work(watched.telemetry, error)

    assert len(watched.spans) == 4
    assert "Mulberry" not in everything(watched)


def test_content_is_captured_where_that_is_asked_for() -> None:
    """With `capture_content` spans hold messages, arguments, results and summaries."""
    watched = watch(capture_content=True)
    work(watched.telemetry)
    chat, tool = watched.span("chat gpt-5-mini"), watched.span("execute_tool lookup")
    said = f'"parts":[{{"type":"text","content":"{SECRET}"}}]'

    assert attributes(chat)["gen_ai.input.messages"] == f'[{{"role":"user",{said}}}]'
    assert attributes(chat)["gen_ai.output.messages"] == (
        f'[{{"role":"assistant",{said},"finish_reason":"stop"}}]'
    )
    assert attributes(tool)["gen_ai.tool.call.arguments"] == CALL.arguments
    assert SECRET in str(attributes(tool)["gen_ai.tool.call.result"])
    assert attributes(watched.span("compact_history"))["foldline.fold.summary"] == SECRET


def test_content_that_is_no_text_is_captured_too() -> None:
    """Damaged arguments, halves of surrogate pairs and unknown parts make no span fail."""
    watched = watch(capture_content=True)
    odd = Message(role="user", parts=(TextPart("\ud800"), GenericPart("new", "{"), CALL))
    with watched.telemetry.model_call(ChatRequest(messages=(odd,)), model=MODEL) as answered:
        answered(RESPONSE)

    with watched.telemetry.tool(TOOL, CALL) as ran:
        ran(ToolAnswer("\ud800", is_error=False))

    assert "new" in str(attributes(watched.span("chat gpt-5-mini"))["gen_ai.input.messages"])
    assert attributes(watched.span("execute_tool lookup"))["gen_ai.tool.call.result"] == "?"


def test_a_failing_call_fails_its_span_and_its_turn() -> None:
    """An error of a model gives its code and no text, and the call a finish reason `error`."""
    watched = watch()
    error = ContextOverflowError(model="m", window=10, tokens=20)
    with pytest.raises(type(error)):
        work(watched.telemetry, error)
    chat = watched.span("chat gpt-5-mini")

    for span in (chat, watched.span("invoke_agent helper")):
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description is None
        assert attributes(span)["error.type"] == "context_overflow"
        assert span.events == ()
    assert attributes(chat)["gen_ai.response.finish_reasons"] == ("error",)
    assert list(watched.points("gen_ai.client.operation.duration")) == [
        ("chat", "openai", "gpt-5-mini", "context_overflow")
    ]


def test_a_tool_that_answers_with_an_error_fails_its_span_alone() -> None:
    """The turn goes on over an error of a tool, so only the span of the tool tells of it."""
    watched = watch()
    work(watched.telemetry)

    assert attributes(watched.span("execute_tool lookup"))["error.type"] == "tool_error"
    assert watched.span("execute_tool lookup").status.status_code is StatusCode.ERROR
    assert watched.span("invoke_agent helper").status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai-chat:gpt-5", "openai", "gpt-5"),
        ("google-vertex:gemini", "gcp.vertex_ai", "gemini"),
        ("ollama:llama:8b", "ollama", "llama:8b"),
        ("scripted", "_OTHER", "scripted"),
    ],
)
def test_providers_have_the_names_of_the_conventions(name: str, provider: str, model: str) -> None:
    """A name `vendor:model` becomes a provider of the conventions and the model alone."""
    assert model_attributes(name) == {
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
    }


def test_errors_have_short_kinds() -> None:
    """An error of ours is its code, a builtin its name and any other its full name."""
    assert error_type(ModelError("no")) == "model"
    assert error_type(ValueError("no")) == "ValueError"
    assert error_type(asyncio.QueueFull()) == "asyncio.queues.QueueFull"


def test_without_the_package_telemetry_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without OpenTelemetry, creating a telemetry raises the name of the extra."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with pytest.raises(MissingExtraError, match=r"foldline\[otel\]"):
        Telemetry()
