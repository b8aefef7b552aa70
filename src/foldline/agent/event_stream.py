"""Work that is watched while it runs."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextvars import ContextVar, copy_context
from types import TracebackType
from typing import Generic, Self, TypeVar

from foldline.errors import TurnStoppedError


__all__ = ["EventStream", "Later", "ended"]


_Value = TypeVar("_Value")
_Event = TypeVar("_Event")
_Outcome = TypeVar("_Outcome")


# The streams whose work is being done, in the tasks that do it.
_INSIDE: ContextVar[frozenset[object]] = ContextVar("foldline_streams", default=frozenset())


class Later(Generic[_Value]):
    """A value that is there once the work has ended; awaiting it runs the work to its end."""

    def __init__(self, read: Callable[[], Awaitable[_Value]]) -> None:
        """Be what *read* gives."""
        self._read = read

    def __await__(self) -> Generator[object, None, _Value]:
        return self._read().__await__()


class EventStream(Generic[_Event, _Outcome]):
    """
    The events of some work as they happen, and what comes of it.

    It begins when somebody iterates, or awaits one of the values, which runs it to its end. Leaving
    it early, by `aclose` or the end of its context, stops it where it is: what was stored stays, and
    it can be resumed. It belongs to the event loop that it is used in.
    """

    def __init__(self, run: Callable[[Callable[[_Event], None]], Awaitable[_Outcome]]) -> None:
        """Watch *run*, which gives its events to the function it is given."""
        self._run = run
        self._events = self._watched()
        self._lock = asyncio.Lock()
        self._work: asyncio.Future[_Outcome] | None = None
        self._is_closed = False
        self._token = object()
        self._error: BaseException | None = None
        self.final_result: Later[_Outcome] = Later(self._finish)
        """What came of it."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Event:
        async with self._lock:
            try:
                return await anext(self._events)
            except StopAsyncIteration:
                if self._work is not None and self._work.cancelled() and not self._is_closed:
                    # Whoever waited for an event was cancelled, as by a timeout, and the work with it.
                    raise TurnStoppedError from None
                raise

    async def _watched(self) -> AsyncGenerator[_Event, None]:
        """Run the work in a task of its own, and give its events."""
        queue: asyncio.Queue[_Event | None] = asyncio.Queue()
        context = copy_context()
        context.run(_INSIDE.set, _INSIDE.get() | {self._token})
        work = self._work = asyncio.create_task(
            _worked(self._run, queue.put_nowait), context=context
        )
        work.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            await ended([work])
        if not work.cancelled():
            # Raises what the work has raised.
            work.result()
        elif not self._is_closed:
            raise asyncio.CancelledError

    async def _finish(self) -> _Outcome:
        async with self._lock:
            async for _ in self._events:
                pass
        if self._work is None or self._work.cancelled():
            raise TurnStoppedError
        return self._work.result()

    async def aclose(self) -> None:
        """Stop it where it is, unless it has ended; whoever reads it comes to its end."""
        self._is_closed = True
        if self._work is not None and self._token in _INSIDE.get():
            # A tool of the turn, say, which cannot wait for its own end.
            self._work.cancel()
            return
        if self._work is not None:
            await ended([self._work])
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


async def _worked(
    run: Callable[[Callable[[_Event], None]], Awaitable[_Outcome]], tell: Callable[[_Event], None]
) -> _Outcome:
    # Not a method: what runs must not keep alive a stream that nobody holds any longer.
    return await run(tell)


async def ended(work: list[asyncio.Future[_Outcome]]) -> None:
    """Cancel all of *work* that has not ended, and wait for its end also when cancelled again."""
    cancelled = None
    for one in work:
        one.cancel()
    while not all(one.done() for one in work):
        try:
            await asyncio.wait(work)
        except asyncio.CancelledError as error:
            cancelled = error
    for one in work:
        if not one.cancelled():
            # Looked at, so that nobody is told of it a second time.
            one.exception()
    if cancelled is not None:
        raise cancelled
