"""A telemetry whose spans and metrics stay in memory, and what is told to it."""

from collections.abc import Mapping
from dataclasses import dataclass

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from foldline.agent.events import TurnStartedEvent
from foldline.agent.telemetry import Telemetry
from foldline.agent.tools import Tool
from foldline.history.messages import Message, Usage
from foldline.history.parts import ToolCallPart
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.reduction.event import HistoryReductionEvent, Reason, ReductionStatus


SECRET = "the cat is called Mulberry"
REQUEST = ChatRequest(messages=(Message.user(SECRET),), settings={"temperature": 0.5, "x": "y"})
USAGE = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=60, cache_write_tokens=30)
RESPONSE = ChatResponse(
    messages=(Message.assistant(SECRET),), usage=USAGE, model="gpt-5-mini-1", id="resp_1"
)
MODEL = "openai:gpt-5-mini"
TOOL = Tool(name="lookup", function=lambda: SECRET, description="Looks things up.")
CALL = ToolCallPart("call_1", "lookup", f'{{"name": "{SECRET}"}}')


@dataclass(frozen=True)
class Watched:
    """A telemetry, and what it has sent."""

    telemetry: Telemetry
    provider: TracerProvider
    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def span(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def points(self, name: str) -> dict[tuple[object, ...], float]:
        data = self.reader.get_metrics_data()
        assert data is not None
        return {
            tuple(dict(point.attributes or {}).values()): (
                point.value if isinstance(point, NumberDataPoint) else float(point.sum)
            )
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        }


def watch(*, capture_content: bool = False) -> Watched:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    meters = MeterProvider([reader], shutdown_on_exit=False)
    telemetry = Telemetry(
        tracer_provider=provider, meter_provider=meters, capture_content=capture_content
    )
    return Watched(telemetry, provider, exporter, reader)


def attributes(span: ReadableSpan) -> Mapping[str, object]:
    return dict(span.attributes or {})


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    identity: int = span.context.span_id
    return identity


def reduced(status: ReductionStatus = "performed") -> HistoryReductionEvent:
    return HistoryReductionEvent(
        status=status,
        reason=Reason.SUMMARIZERS_FAILED if status == "failed" else Reason.THRESHOLD_EXCEEDED,
        strategy="summarizing",
        counting_unit="messages",
        units=9,
        original_count=12,
        reduced_count=5,
        removed_count=8,
        original_tokens=1200,
        reduced_tokens=300,
        summary=SECRET,
        duration=0.25,
        summarizer="digest",
        summarizer_calls=2,
        summarizer_tokens=700,
        failures=(SECRET,),
    )


def started(thread_id: str = "t-1") -> TurnStartedEvent:
    return TurnStartedEvent(
        agent="helper", thread_id=thread_id, run_id="r-1", start="fresh", message_count=1
    )
