"""
Calls that wait for a few workers, which take many of them at a time.

The store of a server has more callers than connections. They wait here, as long as it takes: time is
counted only while the server is really asked. A call that finds the line full is refused at once.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from typing import Final, Generic, Self, TypeAlias, TypeVar

from msgspec import Struct

from foldline.errors import StoreBusyError, StoreError


MOST_WAITING: Final = 20_000
"""How many calls may wait unless a store says otherwise."""

PARTS: Final = 8
"""
In how many parts a time limit is waited for.

While the event loop is busy with other things no more than one of them passes, and an answer that has
come meanwhile is read in the next.
"""

_Given = TypeVar("_Given")


class Job(Struct, Generic[_Given], eq=False):
    """One call that waits."""

    given: _Given
    # Of several jobs with one key, each is taken after the one before has ended.
    key: Hashable | None
    # A caller that gave up has cancelled it.
    future: asyncio.Future[object]
    # How many jobs had come when it came, and from then on when it was taken.
    number: int
    # 0 if it must be done alone.
    size: int
    # The job with the same key that is taken after this one has ended.
    following: "Job[_Given] | None" = None
    is_begun: bool = False
    is_over: bool = False
    error: BaseException | None = None

    def succeed(self, result: object = None) -> None:
        """Give the caller *result*."""
        self.is_over = True
        if not self.future.done():
            self.future.set_result(result)

    def fail(self, error: BaseException) -> None:
        """Let the caller's call raise *error*."""
        if not self.is_over:
            self.is_over, self.error = True, error
            if isinstance(error, asyncio.CancelledError):
                # As an exception it would be logged if nobody waits for it.
                self.future.cancel()
            elif not self.future.done():
                # Each caller adds its own traceback.
                self.future.set_exception(copy(error))

    async def ended(self) -> BaseException | None:
        """Wait for the end, however often the task is cancelled; return why it has failed."""
        if not self.is_begun:
            return StoreError("not begun when its caller was cancelled")
        while not self.is_over:
            self.future = asyncio.get_running_loop().create_future()
            with suppress(asyncio.CancelledError, Exception):
                await self.future
        return self.error


Serve: TypeAlias = Callable[[Sequence[Job[_Given]]], Awaitable[Iterable[Job[_Given]]]]
"""Ends every job that it is given, but for those it returns: they are given again, each alone."""


class Line(Generic[_Given]):
    """
    Hands jobs to at most *workers* calls of *serve* at once, in the order in which they came.

    Each call gets up to *most_jobs* jobs, of *most_size* together, or a single one that must be done
    alone. A caller that need not wait does its own job; any other is done by a task, which goes on if
    a caller is cancelled.
    """

    def __init__(
        self,
        serve: Serve[_Given],
        *,
        workers: int,
        most_jobs: int,
        most_size: int,
        most_waiting: int,
        ends: bool = False,
    ) -> None:
        self._serve = serve
        self._workers = workers
        self._most_jobs = most_jobs
        self._most_size = most_size
        self._most_waiting = most_waiting
        self._ends = ends
        self._ready = deque[Job[_Given]]()
        # The newest job of each key.
        self._newest: dict[Hashable, Job[_Given]] = {}
        self._waiting = self._count = self._busy = 0
        self._tasks = set[asyncio.Task[None]]()

    async def put(self, given: _Given, *, key: Hashable | None = None, size: int = 0) -> object:
        """Return the result of a job, or raise its error; StoreBusyError if the line is full."""
        if self._waiting >= self._most_waiting:
            raise StoreBusyError(f"{self._waiting:,} calls wait for the server: try again later")
        self._count += 1
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        job = Job(given, key, future, self._count, size)
        before = None
        if key is not None:
            before, self._newest[key] = self._newest.get(key), job
        if before is not None:
            self._waiting += 1
            before.following = job
        elif self._ends or self._ready or self._busy >= self._workers:
            self._waiting += 1
            self._ready.append(job)
            self._wake()
        else:
            self._busy += 1
            try:
                await self._do([job])
            finally:
                self._busy -= 1
                self._wake()
        try:
            return await future
        except asyncio.CancelledError as cancelled:
            if not self._ends:
                raise
            raise cancelled from await job.ended()

    def give_up(self, taken: Sequence[Job[_Given]], error: Exception) -> None:
        """Let every job fail that has waited as long as *taken* took: a server may be away."""
        mark, kept = taken[0].number, list[Job[_Given]]()
        while self._ready:
            job = self._ready.popleft()
            if job.number > mark:
                kept.append(job)
            else:
                self._waiting -= 1
                job.fail(error)
                self._free(job)
        self._ready.extend(kept)

    def _wake(self) -> None:
        if self._ready and self._busy < self._workers:
            self._busy += 1
            task = asyncio.get_running_loop().create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        try:
            while jobs := self._next():
                await self._do(jobs)
        finally:
            self._busy -= 1

    def _next(self) -> list[Job[_Given]]:
        """Take the jobs that are done together now; none if none waits."""
        taken, size = list[Job[_Given]](), 0
        while self._ready and len(taken) < self._most_jobs:
            job = self._ready[0]
            is_fit = job.size and size + job.size <= self._most_size
            if taken and not is_fit and not job.future.done():
                break
            self._ready.popleft()
            self._waiting -= 1
            if job.future.done():
                job.fail(StoreError("its caller was cancelled"))
                self._free(job)
                continue
            job.number = self._count
            taken.append(job)
            size += job.size or self._most_size
        return taken

    async def _do(self, jobs: Sequence[Job[_Given]]) -> None:
        again = set[Job[_Given]]()
        for job in jobs:
            job.is_begun = True
        try:
            again.update(await self._serve(jobs))
        except Exception as error:  # noqa: BLE001 - the callers must get it, whatever it is
            for job in jobs:
                job.fail(error)
        except BaseException:
            # No worker may be left for those that wait to be tried again.
            for job in (*jobs, *self._ready):
                if job.is_begun:
                    job.fail(asyncio.CancelledError())
            raise
        finally:
            for job in jobs:
                if job in again:
                    job.size = 0
                    self._waiting += 1
                    self._ready.append(job)
                else:
                    self._free(job)

    def _free(self, job: Job[_Given]) -> None:
        """Let the next job with the key of *job* be taken."""
        if job.key is None:
            return
        if job.following is not None:
            self._ready.append(job.following)
            self._wake()
        else:
            del self._newest[job.key]


class Patience:
    """A context with a time limit: a function is called if it is still open then."""

    def __init__(self, seconds: float, give_up: Callable[[], None]) -> None:
        self.is_over = False
        self._give_up = give_up
        self._loop = asyncio.get_running_loop()
        self._part = seconds / PARTS
        self._left = PARTS

    def __enter__(self) -> Self:
        self._timer = self._loop.call_later(self._part, self._pass)
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _pass(self) -> None:
        self._left -= 1
        if self._left:
            self._timer = self._loop.call_later(self._part, self._pass)
        else:
            self.is_over = True
            self._give_up()
