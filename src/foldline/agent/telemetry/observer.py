"""Who watches a turn: what the loop tells, and where."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar, runtime_checkable

from foldline.agent.events import AgentEvent
from foldline.agent.tools import Tool, ToolAnswer
from foldline.history.parts import ToolCallPart
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.reduction.event import HistoryReductionEvent


__all__ = ["UNOBSERVED", "Observation", "Observer", "Unobserved"]


_Outcome = TypeVar("_Outcome")

Observation = AbstractContextManager[Callable[[_Outcome], None]]
"""What a piece of work runs inside of; it gives the function that is told what came of it."""


@runtime_checkable
class Observer(Protocol):
    """
    Whoever watches turns; one may watch any number of them at once.

    Each method gives a context to do the work in, in one task, and the context a function to tell
    the outcome to. Work that raises tells none.
    """

    def turn(self, *, agent: str, model: str, thread_id: str) -> Observation[AgentEvent]:
        """
        Watch a turn; the function is told its events.

        Args:
            agent: The name of the agent.
            model: The name of its model.
            thread_id: The thread.
        """
        ...

    def model_call(
        self,
        request: ChatRequest,
        *,
        model: str,
        streams: bool = False,
        reduction: HistoryReductionEvent | None = None,
    ) -> Observation[ChatResponse]:
        """
        Watch one call of a model.

        Args:
            request: What it is asked.
            model: The name of the model.
            streams: Whether it says what it says as it goes.
            reduction: How the view in the request came to be.
        """
        ...

    def tool(self, tool: Tool, call: ToolCallPart) -> Observation[ToolAnswer]:
        """Watch one run of *tool* for *call*."""
        ...

    def fold(self) -> Observation[HistoryReductionEvent]:
        """Watch one fold."""
        ...


def _ignore(_: object) -> None:
    pass


_NOTHING: nullcontext[Callable[[object], None]] = nullcontext(_ignore)


class Unobserved:
    """The observer of those who watch nothing."""

    def turn(self, *, agent: str, model: str, thread_id: str) -> Observation[AgentEvent]:  # noqa: ARG002 - all of the protocol
        """Watch nothing."""
        return _NOTHING

    def model_call(
        self,
        request: ChatRequest,  # noqa: ARG002 - all of the protocol
        *,
        model: str,  # noqa: ARG002 - all of the protocol
        streams: bool = False,  # noqa: ARG002 - all of the protocol
        reduction: HistoryReductionEvent | None = None,  # noqa: ARG002 - all of the protocol
    ) -> Observation[ChatResponse]:
        """Watch nothing."""
        return _NOTHING

    def tool(self, tool: Tool, call: ToolCallPart) -> Observation[ToolAnswer]:  # noqa: ARG002 - all of the protocol
        """Watch nothing."""
        return _NOTHING

    def fold(self) -> Observation[HistoryReductionEvent]:
        """Watch nothing."""
        return _NOTHING


UNOBSERVED = Unobserved()
"""The one of this process; it has no state."""
