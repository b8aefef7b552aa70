"""
A turn that is watched while it runs.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from types import TracebackType
from typing import Generic, Self, TypeVar

from foldline.agent.events import AgentEvent
from foldline.agent.result import ReductionMetadata, TurnResult
from foldline.errors import TurnStoppedError
from foldline.history.messages import Message


__all__ = ["Later", "RunTurn", "StreamingTurnResult"]


_Value = TypeVar("_Value")

RunTurn = Callable[[Callable[[AgentEvent], None]], Awaitable[TurnResult]]
"""Runs a turn, gives each event to the function it is given, and returns what came of it."""


class Later(Generic[_Value]):
    """
    A value that is there once the turn has ended; awaiting it runs the turn to its end.
    """

    def __init__(self, read: Callable[[], Awaitable[_Value]]) -> None:
        """
        Be what *read* gives.
        """
        self._read = read

    def __await__(self) -> Generator[object, None, _Value]:
        return self._read().__await__()


class StreamingTurnResult:
    """
    The events of a turn as they happen, and what comes of it.

    The turn begins when somebody iterates, or awaits one of the values, which runs it to its end.
    Leaving it early, by `aclose` or the end of its context, stops the turn where it is: what was
    stored stays, and the turn can be resumed. It belongs to the event loop that it is used in.
    """

    def __init__(self, run: RunTurn) -> None:
        """
        Watch the turn that *run* runs.
        """
        self._run = run
        self._events = self._watched()
        self._lock = asyncio.Lock()
        self._result: TurnResult | None = None
        self._error: BaseException | None = None
        self.final_result: Later[TurnResult] = Later(self._finish)
        """What came of the turn."""
        self.final_history: Later[list[Message]] = Later(self._history)
        """All messages of the thread behind the turn."""
        self.reduction: Later[ReductionMetadata | None] = Later(self._reduction)
        """The newest fold that the turn has made; None without one, also on a cache hit."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentEvent:
        async with self._lock:
            return await anext(self._events)

    async def _watched(self) -> AsyncGenerator[AgentEvent, None]:
        """
        Run the turn in a task of its own, and give its events.
        """
        queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        self._error = TurnStoppedError()
        turn = asyncio.ensure_future(self._run(queue.put_nowait))
        turn.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            await _ended(turn)
        if turn.cancelled():
            raise asyncio.CancelledError
        self._error = turn.exception()
        if self._error is not None:
            raise self._error
        self._result = turn.result()

    async def _finish(self) -> TurnResult:
        async with self._lock:
            async for _ in self._events:
                pass
        if self._result is None:
            raise self._error or TurnStoppedError()
        return self._result

    async def _history(self) -> list[Message]:
        return await (await self._finish()).thread.get_messages()

    async def _reduction(self) -> ReductionMetadata | None:
        return (await self._finish()).reduction

    async def aclose(self) -> None:
        """
        Stop the turn where it is, unless it has ended.
        """
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


async def _ended(turn: asyncio.Future[TurnResult]) -> None:
    """
    Cancel *turn* unless it has ended, and wait for its end also when cancelled again.
    """
    cancelled = None
    if not turn.done():
        turn.cancel()
    while not turn.done():
        try:
            await asyncio.wait([turn])
        except asyncio.CancelledError as error:
            cancelled = error
    if not turn.cancelled():
        # Looked at, so that nobody is told of it a second time.
        turn.exception()
    if cancelled is not None:
        raise cancelled
