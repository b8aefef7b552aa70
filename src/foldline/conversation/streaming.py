"""
An answer that is watched while it is given.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from types import TracebackType
from typing import Self, TypeAlias

from foldline.agent.result import ReductionMetadata
from foldline.agent.streaming import Later
from foldline.conversation.events import ConversationEvent
from foldline.conversation.orchestration import OrchestrationResult
from foldline.errors import TurnStoppedError
from foldline.history.messages import Message


__all__ = ["ConversationStream", "Send"]


Send: TypeAlias = Callable[[Callable[[ConversationEvent], None]], Awaitable[OrchestrationResult]]
"""Answers a message, gives each event to the function it is given, and returns what came of it."""


class ConversationStream:
    """
    The events of an answer as they happen, and what comes of it.

    It begins when somebody iterates, or awaits one of the values, which runs it to its end. Leaving
    it early, by `aclose` or the end of its context, stops it where it is: what was stored stays, and
    the conversation can be resumed. It belongs to the event loop that it is used in.
    """

    def __init__(self, send: Send, messages: Callable[[], Awaitable[list[Message]]]) -> None:
        """
        Watch *send*.

        Args:
            send: Answers the message.
            messages: Gives all messages of the thread.
        """
        self._send = send
        self._messages = messages
        self._events = self._watched()
        self._lock = asyncio.Lock()
        self._answer: asyncio.Future[OrchestrationResult] | None = None
        self._is_closed = False
        self._result: OrchestrationResult | None = None
        self._error: BaseException | None = None
        self.final_result: Later[OrchestrationResult] = Later(self._finish)
        """What came of it."""
        self.final_history: Later[list[Message]] = Later(self._history)
        """All messages of the thread behind it."""
        self.reduction: Later[ReductionMetadata | None] = Later(self._reduction)
        """The newest fold that was made; None without one, also on a cache hit."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConversationEvent:
        async with self._lock:
            return await anext(self._events)

    async def _watched(self) -> AsyncGenerator[ConversationEvent, None]:
        """
        Run it in a task of its own, and give its events.
        """
        queue: asyncio.Queue[ConversationEvent | None] = asyncio.Queue()
        self._error = TurnStoppedError()
        answer = self._answer = asyncio.ensure_future(self._send(queue.put_nowait))
        answer.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            await _ended(answer)
        if answer.cancelled():
            if self._is_closed:
                # Nobody has cancelled the reader.
                return
            raise asyncio.CancelledError
        self._error = answer.exception()
        if self._error is not None:
            raise self._error
        self._result = answer.result()

    async def _finish(self) -> OrchestrationResult:
        async with self._lock:
            async for _ in self._events:
                pass
        if self._result is None:
            raise self._error or TurnStoppedError()
        return self._result

    async def _history(self) -> list[Message]:
        await self._finish()
        return await self._messages()

    async def _reduction(self) -> ReductionMetadata | None:
        return (await self._finish()).reduction

    async def aclose(self) -> None:
        """
        Stop it where it is, unless it has ended; whoever reads it comes to its end.
        """
        self._is_closed = True
        if self._answer is not None:
            await _ended(self._answer)
        async with self._lock:
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


async def _ended(answer: asyncio.Future[OrchestrationResult]) -> None:
    """
    Cancel *answer* unless it has ended, and wait for its end also when cancelled again.
    """
    cancelled = None
    if not answer.done():
        answer.cancel()
    while not answer.done():
        try:
            await asyncio.wait([answer])
        except asyncio.CancelledError as error:
            cancelled = error
    if not answer.cancelled():
        # Looked at, so that nobody is told of it a second time.
        answer.exception()
    if cancelled is not None:
        raise cancelled
