"""Several processes on one thread: nothing lost, nothing doubled, nothing split."""

import asyncio
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from tests.depth import IS_DEEP, by_depth
from tests.threads.concurrency.writers import BATCH, RELAXED, THREAD, Report, store_at, work


_BATCHES = by_depth(12, 60)
_TURNS = by_depth(8, 25)
_FOLDS = by_depth(4, 15)

# One process loads the modules; those that write are forked from it.
_CONTEXT = get_context("spawn" if sys.platform == "win32" else "forkserver")
_CONTEXT.set_forkserver_preload(["tests.threads.concurrency.writers"])


@pytest.fixture(params=["sqlite", "in place", "postgres", "redis"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of an empty store, one of each kind."""
    if request.param in {"sqlite", "in place"}:
        return str(tmp_path / ("shared.db" if request.param == "sqlite" else RELAXED))
    fixture = {"postgres": "postgres_dsn", "redis": "redis_url"}[request.param]
    return str(request.getfixturevalue(fixture))


def run_together(address: str, *jobs: tuple[str, str, int]) -> list[Report]:
    """
    Run a process for each of *jobs* (kind, name, count), all at once; return what each reports.
    """
    asyncio.run(_make(address))
    with _CONTEXT.Manager() as manager, ProcessPoolExecutor(len(jobs), _CONTEXT) as pool:
        start = manager.Barrier(len(jobs))
        reports = [pool.submit(work, address, start, *job) for job in jobs]
        try:
            for one in as_completed(reports):
                one.result()
        except BaseException:
            # The pool waits for its processes, also for one that waits for the one that failed.
            for process in active_children():
                process.kill()
            raise
        return [one.result() for one in reports]


async def _make(address: str) -> None:
    async with store_at(address) as store:
        await store.thread(THREAD)


def stored(address: str) -> tuple[list[Message], HistoryReductionState | None]:
    """Return what the shared thread holds."""

    async def read() -> tuple[list[Message], HistoryReductionState | None]:
        async with store_at(address) as store:
            thread = await store.thread(THREAD)
            return await thread.get_messages(), thread.last_reduction

    return asyncio.run(read())


@pytest.mark.slow
def test_batches_of_eight_processes(address: str) -> None:
    """Batches of eight processes are all there, once, whole and in the order of each."""
    reports = run_together(address, *(("batches", f"p{number}", _BATCHES) for number in range(8)))
    texts = [message.text for message in stored(address)[0]]
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    seen: Counter[str] = Counter()

    assert sum(report["acknowledged"] for report in reports) == 8 * _BATCHES
    assert len(texts) == 8 * _BATCHES * BATCH
    # A few batches may by chance come one after the other.
    assert sum(report["conflicts"] for report in reports) > 0 or not IS_DEEP
    for batch in batches:
        name = batch[0].split()[0]
        assert batch == [f"{name} {seen[name]} {place}" for place in range(BATCH)]
        seen[name] += 1
    assert set(seen.values()) == {_BATCHES}


@pytest.mark.slow
def test_turns_of_four_processes(address: str) -> None:
    """Turns that four processes run on one thread are all there, each before its answer."""
    reports = run_together(address, *(("turns", f"p{number}", _TURNS) for number in range(4)))
    messages, _ = stored(address)
    questions, answers = messages[::2], messages[1::2]

    assert sum(report["acknowledged"] for report in reports) == 4 * _TURNS
    assert [one.text for one in questions] == [one.text for one in answers]
    assert {one.role for one in questions} == {"user"}
    assert len({one.text for one in questions}) == len(answers) == 4 * _TURNS


@pytest.mark.slow
def test_appends_against_folds(address: str) -> None:
    """While one process folds many times, another loses none of its messages."""
    reports = run_together(address, ("append", "a", 6 * _FOLDS), ("folds", "f", _FOLDS))
    messages, reduction = stored(address)
    written = reports[0]["acknowledged"]

    assert reports[1]["acknowledged"] == _FOLDS
    assert [one.text.split()[1] for one in messages] == [str(number) for number in range(written)]
    assert reduction is not None
    assert reduction.summarized_up_to_index > _FOLDS
    assert reduction.validate_integrity(messages)
