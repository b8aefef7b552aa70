"""Calls that wait for a few workers, and time limits that a busy event loop does not use up."""

import asyncio
import gc
import threading
from collections.abc import Iterable, Sequence

import pytest

from foldline.errors import StoreBusyError, StoreError
from foldline.threads.stores.line import PARTS, Job, Line, Patience


class Desk:
    """A line with one worker, which notes what it is given and waits until it may go on."""

    def __init__(self, *, most_waiting: int = 100, ends: bool = False) -> None:
        self.open = asyncio.Event()
        self.begun = asyncio.Event()
        self.taken: list[list[str]] = []
        self.alone: set[str] = set()
        self.line = Line(
            self._serve,
            workers=1,
            most_jobs=3,
            most_size=30,
            most_waiting=most_waiting,
            ends=ends,
        )

    async def _serve(self, jobs: Sequence[Job[str]]) -> Iterable[Job[str]]:
        self.taken.append([job.given for job in jobs])
        self.begun.set()
        await self.open.wait()
        if "away" in self.taken[-1]:
            self.line.give_up(jobs, StoreError("away"))
            raise StoreError(self.taken[-1][0])
        again = [job for job in jobs if job.given in self.alone and len(jobs) > 1]
        for job in jobs:
            if job not in again:
                job.succeed(job.given)
        return again

    def put(self, *names: str, key: str | None = None, size: int = 1) -> list[asyncio.Task[object]]:
        """Put a job for each of *names*."""
        return [asyncio.create_task(self.line.put(name, key=key, size=size)) for name in names]


async def test_jobs_are_taken_in_order() -> None:
    """What waits is taken in its order, so many at a time, but what must be alone, alone."""
    desk = Desk()
    tasks = [*desk.put(*"abcdef"), *desk.put("g", size=0), *desk.put(*"hi")]
    await asyncio.sleep(0)
    desk.open.set()

    assert await asyncio.gather(*tasks) == [*"abcdefghi"]
    assert desk.taken == [["a"], ["b", "c", "d"], ["e", "f"], ["g"], ["h", "i"]]


async def test_large_jobs_are_taken_apart() -> None:
    """Jobs that are too large together are not taken together."""
    desk = Desk()
    tasks = [*desk.put("a"), *desk.put("b", "c", size=20), *desk.put("d", size=90)]
    await asyncio.sleep(0)
    desk.open.set()
    await asyncio.gather(*tasks)

    assert desk.taken == [["a"], ["b"], ["c"], ["d"]]


async def test_one_key_at_a_time() -> None:
    """Of the jobs of one key each is taken after the one before has ended, in their order."""
    desk = Desk()
    tasks = [*desk.put("a", "b", "c", key="t"), *desk.put("x", "y")]
    await asyncio.sleep(0)
    desk.open.set()
    await asyncio.gather(*tasks)

    assert desk.taken == [["a"], ["x", "y", "b"], ["c"]]


async def test_jobs_again() -> None:
    """A job that could not be done with others is given again, alone, before the next of its key."""
    desk = Desk()
    desk.alone.add("b")
    tasks = [*desk.put("a"), *desk.put("b", "c", key="t"), *desk.put("x")]
    await asyncio.sleep(0)
    desk.open.set()
    await asyncio.gather(*tasks)

    assert desk.taken == [["a"], ["b", "x"], ["b"], ["c"]]


async def test_a_full_line_refuses() -> None:
    """A call that finds as many waiting as may is refused at once; those that wait are not."""
    desk = Desk(most_waiting=2)
    tasks = desk.put(*"abc")
    await asyncio.sleep(0)
    with pytest.raises(StoreBusyError, match="2 calls wait"):
        await desk.line.put("d")
    desk.open.set()

    assert await asyncio.gather(*tasks) == [*"abc"]
    assert await desk.line.put("e") == "e"


async def test_cancelled_callers() -> None:
    """A job whose caller has gone is not begun, and those beside one that was begun go on."""
    desk = Desk()
    tasks = [*desk.put("a"), *desk.put("b", "c", key="t"), *desk.put("d")]
    await desk.begun.wait()
    desk.begun.clear()
    tasks[1].cancel()
    tasks[0].cancel()
    await desk.begun.wait()
    tasks[3].cancel()
    desk.open.set()
    done = await asyncio.gather(*tasks, return_exceptions=True)

    assert [isinstance(one, asyncio.CancelledError) for one in done] == [True, True, False, True]
    assert desk.taken == [["a"], ["d", "c"]]


@pytest.mark.parametrize("fails", [False, True], ids=["done", "failed"])
@pytest.mark.parametrize("times", [1, 3])
async def test_a_begun_job_is_waited_for(times: int, fails: bool) -> None:
    """A line that ends jobs lets a cancelled caller wait for the end, and a cause says why not."""
    desk = Desk(ends=True)
    (task,) = desk.put("away" if fails else "a")
    await desk.begun.wait()
    for _ in range(times):
        task.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
    was_waiting = not task.done()
    desk.open.set()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task

    assert was_waiting
    assert str(caught.value.__cause__) == ("away" if fails else "None")


@pytest.mark.parametrize("steps", [0, 1])
async def test_a_job_that_ends_as_its_caller_is_cancelled(steps: int) -> None:
    """A caller cancelled right before or after the end of its job waits for no other one."""
    desk = Desk(ends=True)
    (task,) = desk.put("a")
    await desk.begun.wait()
    desk.open.set()
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(10):
        await asyncio.wait([task])

    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert caught.value.__cause__ is None


async def test_a_job_not_begun_is_not_waited_for() -> None:
    """A caller cancelled before its job was begun goes at once, and the cause says so."""
    desk = Desk(ends=True)
    (first,) = desk.put("a")
    await desk.begun.wait()
    (second,) = desk.put("b")
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await second
    desk.open.set()
    await first
    last = await desk.line.put("c")

    assert isinstance(caught.value.__cause__, StoreError)
    assert desk.taken == [["a"], ["c"]]
    assert last == "c"


async def test_a_job_is_not_tried_again_for_nobody() -> None:
    """A job that was not done with others is not tried alone if its caller is cancelled just then."""
    desk = Desk(ends=True)
    desk.alone.add("b")
    tasks = desk.put(*"ab")
    await desk.begun.wait()
    desk.open.set()
    tasks[1].cancel()
    async with asyncio.timeout(10):
        await asyncio.wait(tasks)
    with pytest.raises(asyncio.CancelledError) as caught:
        await tasks[1]

    assert isinstance(caught.value.__cause__, StoreError)
    assert desk.taken == [["a", "b"]]


def test_a_loop_that_ends_keeps_no_caller() -> None:
    """When an event loop is closed, those who wait for the end of jobs go with it."""
    desks = list[Desk]()

    async def live() -> None:
        desks.append(Desk(ends=True))
        desks[0].put("a", "b", "c", "d")
        await desks[0].begun.wait()

    asyncio.run(live())

    assert desks[0].taken == [["a", "b", "c"]]


def test_a_loop_that_ends_keeps_no_caller_of_a_second_try() -> None:
    """When an event loop is closed, those whose jobs wait to be tried alone go with it, too."""
    taken = list[list[str]]()

    async def live() -> None:
        is_alone = asyncio.Event()

        async def serve(jobs: Sequence[Job[str]]) -> Iterable[Job[str]]:
            taken.append([job.given for job in jobs])
            if len(jobs) == 1:
                is_alone.set()
                await asyncio.Event().wait()
            return jobs

        line = Line(serve, workers=1, most_jobs=3, most_size=30, most_waiting=9, ends=True)
        tasks = [asyncio.create_task(line.put(name, size=1)) for name in "abc"]
        await is_alone.wait()
        assert not any(task.done() for task in tasks)

    runner = threading.Thread(target=asyncio.run, args=(live(),), daemon=True)
    runner.start()
    runner.join(10)

    assert not runner.is_alive()
    assert taken == [["a", "b", "c"], ["a"]]


async def test_a_caller_cancelled_in_its_own_job_leaves_no_error() -> None:
    """The event loop reports nothing of a caller that did its own job when it was cancelled."""
    desk, reports = Desk(), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
    (task,) = desk.put("a")
    await desk.begun.wait()
    task.cancel()
    await asyncio.wait([task])
    was_cancelled = task.cancelled()
    del task
    gc.collect()

    assert was_cancelled
    assert reports == []


async def test_a_server_that_is_away() -> None:
    """What waited for as long as a call to a server that is away fails with it, and later ones go on."""
    desk = Desk()
    tasks = [*desk.put("a"), *desk.put("away", size=0), *desk.put("b", "c", key="t")]
    await asyncio.sleep(0)
    desk.open.set()
    done = await asyncio.gather(*tasks, return_exceptions=True)

    assert [str(one) for one in done] == ["a", "away", "away", "away"]
    assert await desk.line.put("d", key="t") == "d"


async def test_a_busy_loop_uses_up_no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the event loop does other things, that counts as one part of a time limit."""
    loop, given_up, now = asyncio.get_running_loop(), list[bool](), 0.0
    began, over = loop.time(), list[bool]()
    monkeypatch.setattr(loop, "time", lambda: began + now)
    with Patience(8.0, lambda: given_up.append(True)) as patience:
        for _ in range(PARTS):
            over.append(patience.is_over)
            now += 1000.0
            for _ in range(3):
                await asyncio.sleep(0)

    assert over == [False] * PARTS
    assert patience.is_over
    assert given_up == [True]
