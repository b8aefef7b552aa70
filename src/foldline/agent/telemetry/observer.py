"""What the loop reports while it works, and to whom."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar, runtime_checkable

from foldline.agent.events import AgentEvent
from foldline.agent.tools.answer import ToolAnswer
from foldline.agent.tools.tool import Tool
from foldline.history.parts import ToolCallPart
from foldline.providers.model import ChatModel, ChatRequest, ChatResponse, window_of
from foldline.reduction.event import HistoryReductionEvent


_Outcome = TypeVar("_Outcome")

Observation = AbstractContextManager[Callable[[_Outcome], None]]
"""The context that a piece of work runs in; it yields the function that takes the outcome."""


@runtime_checkable
class Observer(Protocol):
    """
    Receives what turns do; safe to share between turns.

    Each method returns a context manager to do the work in, within one task. It yields a function
    that is called with the outcome, unless the work raises.
    """

    def turn(self, *, agent: str, model: str, thread_id: str) -> Observation[AgentEvent]:
        """Observe a turn; the function is called with each of its events."""
        ...

    def model_call(
        self,
        request: ChatRequest,
        *,
        model: str,
        streams: bool = False,
        reduction: HistoryReductionEvent | None = None,
    ) -> Observation[ChatResponse]:
        """Observe one model call; *reduction* says how the view in the request was made."""
        ...

    def tool(self, tool: Tool, call: ToolCallPart) -> Observation[ToolAnswer]:
        """Observe one run of *tool* for *call*."""
        ...

    def fold(self) -> Observation[HistoryReductionEvent]:
        """Observe one fold."""
        ...


class ObservedModel:
    """A model that reports its calls, for calls that the loop does not make, such as summaries."""

    def __init__(self, model: ChatModel, observer: Observer) -> None:
        self._model = model
        self._observer = observer
        self.name = model.name

    @property
    def context_window(self) -> int | None:
        """How many tokens the model can read and write at once; None if it does not say."""
        return window_of(self._model)

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Return the model's answer to *request*."""
        with self._observer.model_call(request, model=self.name) as answered:
            response = await self._model.respond(request)
            answered(response)
        return response
