"""The work of a turn as spans: the turn, its model calls, its tools and its folds."""

from collections.abc import Mapping
from time import perf_counter

from foldline.agent.events import (
    AgentEvent,
    ReasoningStartEvent,
    RunCompletedEvent,
    TextStartEvent,
    ToolCallStartEvent,
    TurnFinishedEvent,
    TurnStartedEvent,
)
from foldline.agent.telemetry.attributes import (
    FOLD,
    TOOL_ERROR,
    answer_content,
    chat_attributes,
    content_of,
    in_force,
    invocation_attributes,
    model_attributes,
    output_of,
    response_attributes,
    sendable,
    tool_attributes,
    turn_attributes,
)
from foldline.agent.telemetry.names import (
    FINISH_REASONS,
    INPUT_MESSAGES,
    OPERATION_NAME,
    OUTPUT_MESSAGES,
    REQUEST_MODEL,
    TIME_TO_FIRST_CHUNK,
    TOOL_ARGUMENTS,
    TOOL_RESULT,
)
from foldline.agent.telemetry.spans import CONVERSATION, Operation, Tracing
from foldline.agent.tools import Tool, ToolAnswer
from foldline.history.parts import ToolCallPart
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.reduction.event import HistoryReductionEvent


__all__ = ["FoldOperation", "ModelCallOperation", "ToolOperation", "TurnOperation"]


_CALL = "foldline.call"


class TurnOperation(Operation[AgentEvent]):
    """A turn; what is told are its events."""

    def __init__(self, tracing: Tracing, *, agent: str, model: str, thread_id: str) -> None:
        """Start nothing yet."""
        attributes = invocation_attributes(agent, thread_id) | model_attributes(model)
        super().__init__(tracing, f"invoke_agent {agent}", attributes)
        self._thread_id = thread_id

    def values(self) -> Mapping[str, object]:
        """Return the thread, for all spans inside."""
        return {CONVERSATION: self._thread_id}

    def told(self, outcome: AgentEvent) -> None:
        """Put on the span what *outcome* tells of the turn."""
        match outcome:
            case TurnStartedEvent() | TurnFinishedEvent() | RunCompletedEvent():
                self.span.set_attributes(turn_attributes(outcome))
            case TextStartEvent() | ReasoningStartEvent() | ToolCallStartEvent():
                # Events are told where they happen: inside of the call whose model begins to speak.
                call = self._tracing.value(_CALL)
                if isinstance(call, ModelCallOperation):
                    call.heard()
            case _:
                return


class ModelCallOperation(Operation[ChatResponse]):
    """One call of a model; what is told is its response."""

    def __init__(
        self,
        tracing: Tracing,
        request: ChatRequest,
        *,
        model: str,
        streams: bool,
        reduction: HistoryReductionEvent | None,
        with_content: bool,
    ) -> None:
        """Start nothing yet."""
        attributes = chat_attributes(
            model,
            streams=streams,
            is_compacted=in_force(reduction),
            settings=request.settings,
        )
        self._named = model_attributes(model)
        super().__init__(tracing, f"chat {self._named[REQUEST_MODEL]}", attributes, is_client=True)
        self._request = request
        self._reduction = reduction
        self._with_content = with_content
        self._waits = streams
        self._started = perf_counter()
        self._response: ChatResponse | None = None

    def values(self) -> Mapping[str, object]:
        """Return the call itself, which hears of its first piece so."""
        return {_CALL: self}

    def begun(self) -> None:
        """Count the view, and keep it where that is asked for."""
        self._started = perf_counter()
        if self._reduction is not None:
            self._tracing.instruments.viewed(self._reduction)
        if self._with_content and self.span.is_recording():
            self.span.set_attribute(INPUT_MESSAGES, content_of(self._request.messages))

    def heard(self) -> None:
        """Note when the first piece of a stream came."""
        if self._waits:
            self._waits = False
            self.span.set_attribute(TIME_TO_FIRST_CHUNK, perf_counter() - self._started)

    def told(self, outcome: ChatResponse) -> None:
        """Put the response on the span."""
        self._response = outcome
        self.span.set_attributes(response_attributes(outcome))
        if self._with_content and self.span.is_recording():
            self.span.set_attribute(OUTPUT_MESSAGES, output_of(outcome))

    def ending(self, error: str | None) -> None:
        """Count the call."""
        if self._response is None:
            self.span.set_attribute(FINISH_REASONS, ("error",))
        self._tracing.instruments.called(
            perf_counter() - self._started, self._named, self._response, error=error
        )


class ToolOperation(Operation[ToolAnswer]):
    """One run of a tool; what is told is its answer."""

    def __init__(
        self, tracing: Tracing, tool: Tool, call: ToolCallPart, *, with_content: bool
    ) -> None:
        """Start nothing yet."""
        attributes = tool_attributes(tool.name, call.id, tool.description)
        if with_content:
            attributes[TOOL_ARGUMENTS] = sendable(call.arguments)
        super().__init__(tracing, f"execute_tool {tool.name}", attributes)
        self._with_content = with_content

    def told(self, outcome: ToolAnswer) -> None:
        """Put on the span whether the tool failed."""
        if self._with_content:
            self.span.set_attribute(TOOL_RESULT, answer_content(outcome.content))
        if outcome.is_error:
            self._tracing.fail(self.span, TOOL_ERROR)


class FoldOperation(Operation[HistoryReductionEvent]):
    """One fold; what is told is its event."""

    def __init__(self, tracing: Tracing, *, with_content: bool) -> None:
        """Start nothing yet."""
        super().__init__(tracing, FOLD, {OPERATION_NAME: FOLD})
        self._with_content = with_content

    def told(self, outcome: HistoryReductionEvent) -> None:
        """Put on the span what came of the fold, and count it."""
        self._tracing.fold_ended(self.span, outcome, with_content=self._with_content)
