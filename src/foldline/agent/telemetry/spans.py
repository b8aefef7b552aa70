"""Spans that are current while the work is done that they stand for."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Generic, TypeVar

from foldline.agent.telemetry.attributes import (
    Attributes,
    error_type,
    fold_attributes,
)
from foldline.agent.telemetry.instruments import Instruments
from foldline.agent.telemetry.names import (
    CANCELLED,
    CONVERSATION_ID,
    ERROR_TYPE,
)
from foldline.errors import FoldlineError, MissingExtraError, ModelError
from foldline.reduction.event import HistoryReductionEvent


if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider


__all__ = ["CONVERSATION", "Operation", "Tracing"]


_Outcome = TypeVar("_Outcome")

_SCOPE = "foldline"
CONVERSATION = "foldline.conversation"
"""Under what a context holds the thread of the turn that goes on in it."""


class Tracing:
    """What is used of OpenTelemetry; it is loaded when one is made."""

    def __init__(
        self, tracer_provider: "TracerProvider | None", meter_provider: "MeterProvider | None"
    ) -> None:
        """
        Trace with the given providers, or those of the process.

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
        self.instruments = Instruments(metrics.get_meter(_SCOPE, made_by, meter_provider))
        """The metrics."""
        self.context_of = trace.set_span_in_context
        """Returns a context in which a span is current."""
        self.attach = context.attach
        """Makes a context the current one."""
        self.detach = context.detach
        """Makes the context from before the current one."""
        self.value = context.get_value
        """Returns a value of the current context."""
        self.with_value = context.set_value
        """Returns a context with one value more."""
        self._internal = trace.SpanKind.INTERNAL
        self._client = trace.SpanKind.CLIENT
        self._error = trace.StatusCode.ERROR

    def start(
        self,
        name: str,
        attributes: Attributes,
        *,
        is_client: bool = False,
        parent: "Context | None" = None,
        began: int | None = None,
    ) -> "Span":
        """
        Start a span; it is not made the current one.

        Args:
            name: Its name.
            attributes: What is known already.
            is_client: Whether it stands for a call of somebody else.
            parent: The context it begins in; by default the current one.
            began: When it began, in nanoseconds, where that is not now.
        """
        kind = self._client if is_client else self._internal
        return self._tracer.start_span(
            name, parent, kind, attributes=attributes, start_time=began, record_exception=False
        )

    @property
    def conversation(self) -> Attributes:
        """The thread of the turn that goes on in the current context."""
        found = self.value(CONVERSATION)
        return {CONVERSATION_ID: found} if isinstance(found, str) else {}

    def fail(self, span: "Span", kind: str, description: str | None = None) -> None:
        """Mark *span* as failed with an error of *kind*."""
        span.set_attribute(ERROR_TYPE, kind)
        span.set_status(self._error, description)

    def fold_ended(self, span: "Span", event: HistoryReductionEvent, *, with_content: bool) -> None:
        """
        Put on *span* what came of its fold, and count it.

        Args:
            span: The span, which is open.
            event: What was told of the fold.
            with_content: Whether the span holds the summary.
        """
        span.set_attributes(fold_attributes(event, with_content=with_content))
        if event.status == "failed":
            self.fail(span, event.reason.name.lower())
        self.instruments.folded(event)

    def mark(self, span: "Span", error: BaseException | None) -> str | None:
        """
        Mark *span* as *error* ended its work; return the kind of the error.

        Who is cancelled has not failed: such a span says so, and its status stays unset.
        """
        if error is None:
            return None
        if not isinstance(error, Exception):
            span.set_attribute(CANCELLED, True)  # noqa: FBT003 - a value, not an option
            return "cancelled"
        kind = error_type(error)
        # Only our own errors hold no text of a conversation, and of a model anybody may raise them.
        is_ours = isinstance(error, FoldlineError) and not isinstance(error, ModelError)
        self.fail(span, kind, str(error) if is_ours else None)
        return kind


class Operation(Generic[_Outcome]):
    """
    Work under way: a context in which its span is the current one.

    The span starts when the context is entered, and ends with it.
    """

    def __init__(
        self, tracing: Tracing, name: str, attributes: Attributes, *, is_client: bool = False
    ) -> None:
        """
        Start nothing yet.

        Args:
            tracing: What makes the span.
            name: Its name.
            attributes: What is known already; the thread of the turn is added.
            is_client: Whether it is a call of somebody else.
        """
        self._tracing = tracing
        self._name = name
        self._attributes = attributes
        self._is_client = is_client
        self._span: Span | None = None
        self._token: Token[Context] | None = None

    @property
    def span(self) -> "Span":
        """The span, which has started."""
        assert self._span is not None
        return self._span

    def values(self) -> Mapping[str, object]:
        """Return what the context holds besides the span."""
        return {}

    def begun(self) -> None:
        """Do what there is to do once the span has started."""

    def told(self, outcome: _Outcome) -> None:
        """Put *outcome* on the span."""
        raise NotImplementedError

    def ending(self, error: str | None) -> None:
        """
        Do what there is to do before the span ends, over an error of the kind *error* or none.
        """

    def __enter__(self) -> Callable[[_Outcome], None]:
        tracing = self._tracing
        attributes = tracing.conversation | self._attributes
        span = tracing.start(self._name, attributes, is_client=self._is_client)
        context = tracing.context_of(span)
        for key, value in self.values().items():
            context = tracing.with_value(key, value, context)
        self._span, self._token = span, tracing.attach(context)
        self.begun()
        return self.told

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._token is not None
        # The span is still the current one, so that a measurement can point at it.
        self.ending(self._tracing.mark(self.span, error))
        self._tracing.detach(self._token)
        self.span.end()
