"""The spans of turns that are known by their events alone."""

from collections.abc import Callable
from time import time_ns
from types import TracebackType
from typing import TYPE_CHECKING

from msgspec import Struct

from foldline.agent.events import (
    AgentEvent,
    CheckpointEvent,
    IterationFinishedEvent,
    ReasoningEndEvent,
    RepeatBreakerEvent,
    RequestSentEvent,
    RunCompletedEvent,
    TextEndEvent,
    ToolCallEndEvent,
    ToolResultEvent,
    ToolStartedEvent,
    TurnFinishedEvent,
    TurnStartedEvent,
)
from foldline.agent.telemetry.attributes import (
    FOLD,
    OTHER,
    TOOL_ERROR,
    Attributes,
    answer_content,
    chat_attributes,
    in_force,
    invocation_attributes,
    model_attributes,
    response_attributes,
    tool_attributes,
    turn_attributes,
)
from foldline.agent.telemetry.names import (
    CONVERSATION_ID,
    FINISH_REASONS,
    OPERATION_NAME,
    REQUEST_MODEL,
    TOOL_RESULT,
)
from foldline.agent.telemetry.spans import Tracing
from foldline.providers.model import ChatResponse
from foldline.reduction.event import HistoryReductionEvent


if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span


__all__ = ["Follower"]


_SECOND = 1_000_000_000


class _Asked(Struct):
    """A model call under way."""

    span: "Span"
    named: Attributes
    began: int
    answered: int | None = None
    """When the model had said what it says, in nanoseconds."""


class _Followed(Struct):
    """A turn under way."""

    span: "Span"
    context: "Context"
    thread: Attributes
    reduction: HistoryReductionEvent | None = None
    asked: _Asked | None = None
    tools: "dict[str, Span]" = {}


class Follower:
    """
    Makes spans of the events of turns, one turn after the other.

    Use it as a context manager around the loop that gives the events: leaving it ends what is open.
    """

    def __init__(self, tracing: Tracing, *, with_content: bool) -> None:
        """
        Wait for a turn.

        Args:
            tracing: What makes the spans.
            with_content: Whether they hold results of tools, and summaries.
        """
        self._tracing = tracing
        self._with_content = with_content
        self._turn: _Followed | None = None

    def __enter__(self) -> Callable[[AgentEvent], None]:
        return self.tell

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop(error)

    def tell(self, event: AgentEvent) -> None:
        """Take the next event."""
        if isinstance(event, TurnStartedEvent):
            self._stop(None)
            self._begin(event)
        elif self._turn is not None:
            self._go_on(self._turn, event)

    def _begin(self, event: TurnStartedEvent) -> None:
        attributes = invocation_attributes(event.agent, event.thread_id) | turn_attributes(event)
        span = self._tracing.start(f"invoke_agent {event.agent}", attributes)
        self._turn = _Followed(
            span=span,
            context=self._tracing.context_of(span),
            thread={CONVERSATION_ID: event.thread_id},
        )

    def _go_on(self, turn: _Followed, event: AgentEvent) -> None:
        match event:
            case HistoryReductionEvent():
                self._reduced(turn, event)
            case RequestSentEvent():
                self._ask(turn, event)
            case ToolStartedEvent() | ToolResultEvent():
                self._tool(turn, event)
            case IterationFinishedEvent():
                self._answer(turn, event)
            case TurnFinishedEvent():
                turn.span.set_attributes(turn_attributes(event))
            case RunCompletedEvent():
                turn.span.set_attributes(turn_attributes(event))
                turn.span.end()
                self._turn = None
            case _:
                _hear(turn, event)

    def _reduced(self, turn: _Followed, event: HistoryReductionEvent) -> None:
        self._give_up(turn)
        turn.reduction = event
        if not event.is_attempt:
            return
        span = self._tracing.start(
            FOLD,
            {OPERATION_NAME: FOLD} | turn.thread,
            parent=turn.context,
            began=time_ns() - int(event.duration * _SECOND),
        )
        self._tracing.fold_ended(span, event, with_content=self._with_content)
        span.end()

    def _ask(self, turn: _Followed, event: RequestSentEvent) -> None:
        self._give_up(turn)
        named, reduction, began = model_attributes(event.model), turn.reduction, time_ns()
        attributes = chat_attributes(event.model, is_compacted=in_force(reduction)) | turn.thread
        turn.span.set_attributes(named)
        if reduction is not None:
            self._tracing.instruments.viewed(reduction)
        span = self._tracing.start(
            f"chat {named[REQUEST_MODEL]}",
            attributes,
            is_client=True,
            parent=turn.context,
            began=began,
        )
        turn.asked = _Asked(span, named, began)

    def _tool(self, turn: _Followed, event: ToolStartedEvent | ToolResultEvent) -> None:
        if isinstance(event, ToolStartedEvent):
            attributes = tool_attributes(event.name, event.call_id) | turn.thread
            name = f"execute_tool {event.name}"
            turn.tools[event.call_id] = self._tracing.start(name, attributes, parent=turn.context)
            return
        span = turn.tools.pop(event.call_id, None)
        if span is None:
            # It has not run: its answer was stored, or there is no such tool.
            return
        if self._with_content:
            span.set_attribute(TOOL_RESULT, answer_content(event.result))
        if event.is_error:
            self._tracing.fail(span, TOOL_ERROR)
        span.end()

    def _answer(self, turn: _Followed, event: IterationFinishedEvent) -> None:
        asked, turn.asked = turn.asked, None
        if asked is None:
            return
        response = ChatResponse(
            messages=(),
            usage=event.usage,
            model=event.model,
            id=event.response_id,
            finish_reason=event.finish_reason,
        )
        asked.span.set_attributes(response_attributes(response))
        self._end(asked, response)

    def _end(
        self, asked: _Asked, response: ChatResponse | None, *, error: str | None = None
    ) -> None:
        # The event that tells of the response comes only after its tools have run.
        ended = asked.answered or time_ns()
        seconds = (ended - asked.began) / _SECOND
        self._tracing.instruments.called(seconds, asked.named, response, error=error)
        asked.span.end(ended)

    def _give_up(self, turn: _Followed) -> None:
        """End a model call after which the model is asked once more."""
        asked, turn.asked = turn.asked, None
        if asked is not None:
            asked.span.set_attribute(FINISH_REASONS, ("error",))
            self._tracing.fail(asked.span, OTHER)
            self._end(asked, None, error=OTHER)

    def _stop(self, error: BaseException | None) -> None:
        """End what is open, as *error* ended it; without one nobody listened to the end."""
        turn, self._turn = self._turn, None
        if turn is None:
            return
        reason = GeneratorExit() if error is None else error
        asked = turn.asked
        if asked is not None:
            kind = None
            if asked.answered is None:
                asked.span.set_attribute(FINISH_REASONS, ("error",))
                kind = self._tracing.mark(asked.span, reason)
            self._end(asked, None, error=kind)
        for span in (*turn.tools.values(), turn.span):
            self._tracing.mark(span, reason)
            span.end()


def _hear(turn: _Followed, event: AgentEvent) -> None:
    """Note when the model had said what it says."""
    asked = turn.asked
    if asked is None:
        return
    match event:
        case TextEndEvent() | ReasoningEndEvent() | ToolCallEndEvent():
            asked.answered = time_ns()
        case CheckpointEvent() | RepeatBreakerEvent():
            asked.answered = asked.answered or time_ns()
        case _:
            return
