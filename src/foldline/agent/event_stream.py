"""A turn, or other work, whose events are read while it runs."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextvars import ContextVar, copy_context
from typing import Generic, Protocol, Self, TypeVar

from foldline.agent.events import AgentEvent
from foldline.agent.result import ReductionMetadata, TurnResult
from foldline.errors import TurnStoppedError
from foldline.history.messages import Message


class _Result(Protocol):
    @property
    def reduction(self) -> ReductionMetadata | None: ...


_Value = TypeVar("_Value")
_Event = TypeVar("_Event")
_Outcome = TypeVar("_Outcome", bound=_Result)


# In the tasks of a stream: the streams that they work for.
_INSIDE: ContextVar[frozenset[object]] = ContextVar("foldline_streams", default=frozenset())


class Later(Generic[_Value]):
    """A value that is known once the work has ended; awaiting it runs the work to its end."""

    def __init__(self, read: Callable[[], Awaitable[_Value]]) -> None:
        self._read = read

    def __await__(self) -> Generator[object, None, _Value]:
        return self._read().__await__()


class _State(Generic[_Outcome]):
    """What a stream and its work know of each other."""

    def __init__(self) -> None:
        self.work: asyncio.Future[_Outcome] | None = None
        self.is_closed = False


class EventStream(Generic[_Event, _Outcome]):
    """
    The events of some work as they happen, and its result.

    The work starts with the first iteration, or when one of the values is awaited, which runs it to
    its end. `aclose`, or leaving the context, stops it where it is: what was stored stays, and it can
    be resumed. A stream belongs to the event loop it is used in.
    """

    def __init__(
        self,
        run: Callable[[Callable[[_Event], None]], Coroutine[object, object, _Outcome]],
        messages: Callable[[_Outcome], Awaitable[list[Message]]],
    ) -> None:
        """Stream *run*, which passes its events to the function it is given."""
        self._messages = messages
        self._state = _State[_Outcome]()
        self._events = _watched(run, self._state)
        self._lock = asyncio.Lock()

    @property
    def final_result(self) -> Later[_Outcome]:
        """The result."""
        return Later(self._finish)

    @property
    def final_history(self) -> Later[list[Message]]:
        """All messages of the thread after it."""
        return Later(self._history)

    @property
    def reduction(self) -> Later[ReductionMetadata | None]:
        """The newest fold; None if there was none, also on a cache hit."""
        return Later(self._reduction)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Event:
        async with self._lock:
            try:
                return await anext(self._events)
            except StopAsyncIteration:
                if (
                    self._state.work is not None
                    and self._state.work.cancelled()
                    and not self._state.is_closed
                ):
                    # A reader was cancelled while it waited, by a timeout perhaps, and so was the work.
                    raise TurnStoppedError from None
                raise

    async def _finish(self) -> _Outcome:
        async with self._lock:
            async for _ in self._events:
                pass
        if self._state.work is None or self._state.work.cancelled():
            raise TurnStoppedError
        return self._state.work.result()

    async def _history(self) -> list[Message]:
        return await self._messages(await self._finish())

    async def _reduction(self) -> ReductionMetadata | None:
        return (await self._finish()).reduction

    async def aclose(self) -> None:
        """Stop the work where it is, unless it has ended; readers get no further events."""
        self._state.is_closed = True
        if self._state.work is not None and self._state in _INSIDE.get():
            # A tool of the turn, for example, cannot wait for its own end.
            self._state.work.cancel()
            return
        if self._state.work is not None:
            await ended([self._state.work])
        async with self._lock:
            await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def _watched(
    run: Callable[[Callable[[_Event], None]], Coroutine[object, object, _Outcome]],
    state: _State[_Outcome],
) -> AsyncGenerator[_Event, None]:
    """Run the work in a task of its own, and yield its events."""
    # Not a method: who drops the stream drops the events too, and so ends the work at once.
    queue: asyncio.Queue[_Event | None] = asyncio.Queue()
    context = copy_context()
    context.run(_INSIDE.set, _INSIDE.get() | {state})
    work = state.work = asyncio.create_task(run(queue.put_nowait), context=context)
    work.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
    finally:
        await ended([work])
    if not work.cancelled():
        # Raise what the work has raised.
        work.result()
    elif not state.is_closed:
        raise asyncio.CancelledError


async def ended(work: list[asyncio.Future[_Value]]) -> None:
    """Cancel what of *work* has not ended, and wait for its end, even if cancelled again."""
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
            # Marks it as retrieved, so that asyncio does not log it.
            one.exception()
    if cancelled is not None:
        raise cancelled


class StreamingTurnResult(EventStream[AgentEvent, TurnResult]):
    """The events of a turn as they happen, and its result; see `EventStream`."""

    def __init__(
        self, run: Callable[[Callable[[AgentEvent], None]], Coroutine[object, object, TurnResult]]
    ) -> None:
        """Stream the turn that *run* runs."""
        super().__init__(run, lambda result: result.thread.get_messages())
