"""A turn that is watched while it runs."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from foldline.agent.event_stream import EventStream, Later
from foldline.agent.events import AgentEvent
from foldline.agent.result import ReductionMetadata, TurnResult
from foldline.history.messages import Message


__all__ = ["RunTurn", "StreamingTurnResult"]


RunTurn: TypeAlias = Callable[[Callable[[AgentEvent], None]], Awaitable[TurnResult]]
"""Runs a turn, gives each event to the function it is given, and returns what came of it."""


class StreamingTurnResult(EventStream[AgentEvent, TurnResult]):
    """
    The events of a turn as they happen, and what comes of it.

    The turn begins when somebody iterates, or awaits one of the values, which runs it to its end.
    Leaving it early, by `aclose` or the end of its context, stops the turn where it is: what was
    stored stays, and the turn can be resumed. It belongs to the event loop that it is used in.
    """

    def __init__(self, run: RunTurn) -> None:
        """Watch the turn that *run* runs."""
        super().__init__(run)
        self.final_history: Later[list[Message]] = Later(self._history)
        """All messages of the thread behind the turn."""
        self.reduction: Later[ReductionMetadata | None] = Later(self._reduction)
        """The newest fold that the turn has made; None without one, also on a cache hit."""

    async def _history(self) -> list[Message]:
        return await (await self.final_result).thread.get_messages()

    async def _reduction(self) -> ReductionMetadata | None:
        return (await self.final_result).reduction
