"""Spans that are current while their work is done, and the metrics beside them."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from msgspec import Struct

from foldline.agent.events import (
    AgentEvent,
    IterationFinishedEvent,
    ReasoningStartEvent,
    RequestSentEvent,
    RunCompletedEvent,
    TextStartEvent,
    ToolCallStartEvent,
    TurnFinishedEvent,
    TurnStartedEvent,
)
from foldline.agent.telemetry.conventions import (
    CONVERSATION_ID,
    ERROR_TYPE,
    OPERATION,
    REQUEST_MODEL,
    RESPONSE_MODEL,
    Attributes,
    answer_content,
    error_type,
    fold_attributes,
    is_compacted,
    messages_content,
    model_attributes,
    request_attributes,
    response_attributes,
    sendable,
    usage_attributes,
)
from foldline.agent.tools.answer import ToolAnswer
from foldline.agent.tools.tool import Tool
from foldline.errors import FoldlineError, MissingExtraError, ModelError
from foldline.history.parts import ToolCallPart
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.reduction.event import HistoryReductionEvent


if TYPE_CHECKING:
    from opentelemetry.metrics import Meter, MeterProvider
    from opentelemetry.trace import Span, TracerProvider


_SCOPE = "foldline"
_THREAD = "foldline.conversation"
_CALL = "foldline.call"
# Source: OpenTelemetry GenAI semantic conventions, page gen-ai-metrics.
_TOKEN_BOUNDARIES = tuple(4**power for power in range(14))
_SECOND_BOUNDARIES = tuple(0.01 * 2**power for power in range(14))
_CALLS, _FOLDS = "gen_ai.client.operation.duration", "foldline.fold.duration"
_WAITS = "foldline.lease.wait"
_DURATIONS = {
    _CALLS: "GenAI operation duration.",
    _FOLDS: "Duration of folds.",
    _WAITS: "Waiting of turns for those of others.",
}
_COUNTERS = {
    "folds": ("{fold}", "Folds that were tried."),
    "hits": ("{hit}", "Model calls that used an existing reduction."),
    "tokens.saved": ("{token}", "Estimated tokens that views saved, summed over model calls."),
    "summarizer.calls": ("{call}", "Calls of summarizers."),
    "tokens.resent": (
        "{token}",
        "Estimated tokens that the request before had at the same place, sent again.",
    ),
    "tokens.missed": (
        "{token}",
        "Tokens of the request before that the vendor's cache did not serve.",
    ),
}


class _Call(Struct):
    span: "Span"
    started: float
    awaits_first: bool
    response: ChatResponse | None = None


class Telemetry:
    """
    Makes OpenTelemetry spans and metrics of turns; an `Observer`.

    One instance serves any number of agents and turns at once. No content of a conversation leaves
    with them unless *capture_content* is set.
    """

    def __init__(
        self,
        *,
        tracer_provider: "TracerProvider | None" = None,
        meter_provider: "MeterProvider | None" = None,
        capture_content: bool = False,
    ) -> None:
        """
        Trace and measure with the given providers, or those of the process.

        *capture_content* includes messages, summaries, and the arguments and results of tools.

        Raises:
            MissingExtraError: The `otel` extra is not installed.
        """
        try:
            from opentelemetry import context, metrics, trace  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError(package="opentelemetry-api", extra="otel") from error
        # Reading the version costs as much as half the import of foldline.
        from importlib.metadata import version  # noqa: PLC0415

        made_by = version("foldline")
        self._tracer = trace.get_tracer(_SCOPE, made_by, tracer_provider)
        self._metrics = _Metrics(metrics.get_meter(_SCOPE, made_by, meter_provider))
        self._trace, self._context = trace, context
        self._with_content = capture_content

    @contextmanager
    def turn(
        self, *, agent: str, model: str, thread_id: str
    ) -> Generator[Callable[[AgentEvent], None], None, None]:
        """Observe a turn; see `Observer`."""
        attributes: Attributes = {OPERATION: "invoke_agent", "gen_ai.agent.name": agent}
        named = model_attributes(model)
        attributes |= named
        with (
            self._current(_THREAD, thread_id),
            self._span(f"invoke_agent {agent}", attributes) as span,
        ):

            def told(event: AgentEvent) -> None:
                match event:
                    case TurnStartedEvent():
                        span.set_attribute("foldline.run.id", event.run_id)
                        span.set_attribute("foldline.run.start", event.start)
                        if event.waited:
                            self._metrics.waited(event.waited)
                    case TurnFinishedEvent():
                        span.set_attribute(
                            "foldline.run.termination_reason", event.termination_reason
                        )
                        span.set_attribute("foldline.run.iterations", event.iterations)
                    case RunCompletedEvent():
                        span.set_attributes(usage_attributes(event.usage))
                    case RequestSentEvent() | IterationFinishedEvent():
                        self._metrics.sent(event, named)
                    case TextStartEvent() | ReasoningStartEvent() | ToolCallStartEvent():
                        # Events are reported inside the call whose model begins to answer.
                        call = self._context.get_value(_CALL)
                        if isinstance(call, _Call) and call.awaits_first:
                            call.awaits_first = False
                            seconds = perf_counter() - call.started
                            call.span.set_attribute("gen_ai.response.time_to_first_chunk", seconds)
                    case _:
                        return

            yield told

    @contextmanager
    def model_call(
        self,
        request: ChatRequest,
        *,
        model: str,
        streams: bool = False,
        reduction: HistoryReductionEvent | None = None,
    ) -> Generator[Callable[[ChatResponse], None], None, None]:
        """Observe one model call; see `Observer`."""
        named = model_attributes(model)
        attributes = {OPERATION: "chat"} | named
        attributes |= request_attributes(
            request.settings, streams=streams, is_compacted=is_compacted(reduction)
        )
        if reduction is not None:
            self._metrics.viewed(reduction)
        with self._span(f"chat {named[REQUEST_MODEL]}", attributes, is_client=True) as span:
            captures = self._with_content and span.is_recording()
            if captures:
                span.set_attribute("gen_ai.input.messages", messages_content(request.messages))
            call = _Call(span, perf_counter(), streams)

            def told(response: ChatResponse) -> None:
                call.response = response
                span.set_attributes(response_attributes(response))
                if captures:
                    said = messages_content(response.messages, finish_reason=response.finish_reason)
                    span.set_attribute("gen_ai.output.messages", said)

            with self._current(_CALL, call), self._measured(call, named):
                yield told

    @contextmanager
    def _measured(self, call: _Call, named: Attributes) -> Generator[None, None, None]:
        kind = None
        try:
            yield
        except BaseException as error:
            kind = error_type(error) if isinstance(error, Exception) else "cancelled"
            raise
        finally:
            if call.response is None:
                call.span.set_attribute("gen_ai.response.finish_reasons", ("error",))
            # The span is still the current one, so that the measurement can point to it.
            seconds = perf_counter() - call.started
            self._metrics.called(seconds, named, call.response, error=kind)

    @contextmanager
    def tool(
        self, tool: Tool, call: ToolCallPart
    ) -> Generator[Callable[[ToolAnswer], None], None, None]:
        """Observe one run of a tool; see `Observer`."""
        attributes: Attributes = {
            OPERATION: "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
        }
        if tool.description:
            attributes["gen_ai.tool.description"] = tool.description
        if self._with_content:
            attributes["gen_ai.tool.call.arguments"] = sendable(call.arguments)
        with self._span(f"execute_tool {tool.name}", attributes) as span:

            def told(answer: ToolAnswer) -> None:
                if self._with_content:
                    span.set_attribute("gen_ai.tool.call.result", answer_content(answer.content))
                if answer.is_error:
                    self._fail(span, "tool_error")

            yield told

    @contextmanager
    def fold(self) -> Generator[Callable[[HistoryReductionEvent], None], None, None]:
        """Observe one fold; see `Observer`."""
        with self._span("compact_history", {OPERATION: "compact_history"}) as span:

            def told(event: HistoryReductionEvent) -> None:
                span.set_attributes(fold_attributes(event, with_content=self._with_content))
                if event.status == "failed":
                    self._fail(span, event.reason.name.lower())
                self._metrics.folded(event)

            yield told

    @contextmanager
    def _current(self, key: str, value: object) -> Generator[None, None, None]:
        token = self._context.attach(self._context.set_value(key, value))
        try:
            yield
        finally:
            self._context.detach(token)

    @contextmanager
    def _span(
        self, name: str, attributes: Attributes, *, is_client: bool = False
    ) -> "Generator[Span, None, None]":
        thread_id = self._context.get_value(_THREAD)
        if isinstance(thread_id, str):
            attributes[CONVERSATION_ID] = thread_id
        kinds = self._trace.SpanKind
        with self._tracer.start_as_current_span(
            name,
            kind=kinds.CLIENT if is_client else kinds.INTERNAL,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                self._mark(span, error)
                raise

    def _mark(self, span: "Span", error: BaseException) -> None:
        if not isinstance(error, Exception):
            # Being cancelled is no failure: the status stays unset.
            span.set_attribute("foldline.cancelled", True)  # noqa: FBT003 - a value, not an option
            return
        # Only our own errors are free of content, and a model may raise a ModelError of any text.
        is_ours = isinstance(error, FoldlineError) and not isinstance(error, ModelError)
        self._fail(span, error_type(error), str(error) if is_ours else None)

    def _fail(self, span: "Span", kind: str, description: str | None = None) -> None:
        span.set_attribute(ERROR_TYPE, kind)
        span.set_status(self._trace.StatusCode.ERROR, description)


class _Metrics:
    def __init__(self, meter: "Meter") -> None:
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKEN_BOUNDARIES,
        )
        self._seconds = {
            name: meter.create_histogram(
                name, "s", description, explicit_bucket_boundaries_advisory=_SECOND_BOUNDARIES
            )
            for name, description in _DURATIONS.items()
        }
        self._counts = {
            name: meter.create_counter(f"foldline.{name}", unit, description)
            for name, (unit, description) in _COUNTERS.items()
        }

    def called(
        self,
        seconds: float,
        named: Attributes,
        response: ChatResponse | None,
        *,
        error: str | None = None,
    ) -> None:
        attributes: Attributes = {OPERATION: "chat"} | named
        if response is not None and response.model is not None:
            attributes[RESPONSE_MODEL] = response.model
        if response is not None and response.usage is not None:
            counts = {"input": response.usage.input_tokens, "output": response.usage.output_tokens}
            for kind, tokens in counts.items():
                self._tokens.record(tokens, attributes | {"gen_ai.token.type": kind})
        failed: Attributes = {} if error is None else {ERROR_TYPE: error}
        self._seconds[_CALLS].record(seconds, attributes | failed)

    def sent(self, event: RequestSentEvent | IterationFinishedEvent, named: Attributes) -> None:
        if isinstance(event, IterationFinishedEvent):
            if event.missed_tokens:
                why: Attributes = (
                    {} if event.cache_miss is None else {"foldline.cache.miss": event.cache_miss}
                )
                self._counts["tokens.missed"].add(event.missed_tokens, named | why)
        elif event.resent_because is not None:
            cause: Attributes = {"foldline.resent.because": event.resent_because}
            self._counts["tokens.resent"].add(event.resent_tokens, named | cause)

    def waited(self, seconds: float) -> None:
        self._seconds[_WAITS].record(seconds)

    def folded(self, event: HistoryReductionEvent) -> None:
        attributes = {
            "foldline.fold.status": event.status,
            "foldline.fold.strategy": event.strategy,
        }
        self._counts["folds"].add(1, attributes)
        self._seconds[_FOLDS].record(event.duration, attributes)
        self._counts["summarizer.calls"].add(event.summarizer_calls, attributes)

    def viewed(self, event: HistoryReductionEvent) -> None:
        attributes = {"foldline.fold.strategy": event.strategy}
        if event.status == "cache_hit":
            self._counts["hits"].add(1, attributes)
        if is_compacted(event):
            self._counts["tokens.saved"].add(
                max(0, event.original_tokens - event.reduced_tokens), attributes
            )
