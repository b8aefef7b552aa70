"""Processes that are killed at every file operation."""

import asyncio
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.fork import ForkError
from tests.faults.kill import Ending, Moment, Workload, endings, run
from tests.faults.operation import CHANGES
from tests.faults.toy import ToyWorkload, broken_promises


MOMENTS = pytest.mark.parametrize("moment", Moment)


def _found(workload: Workload, moment: Moment) -> tuple[list[Ending], Counter[str]]:
    seen: list[Ending] = []
    broken: Counter[str] = Counter()
    for ending in endings(workload, moment=moment):
        seen.append(ending)
        broken.update(broken_promises(ending.folder, ending.acks))
    return seen, broken


@pytest.mark.slow
@MOMENTS
@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
def test_kills_lose_nothing(moment: Moment, synchronous: str) -> None:
    """No kill loses or halves a commit, whichever way SQLite flushes: the system survives it."""
    seen, broken = _found(ToyWorkload(synchronous=synchronous), moment)

    assert broken == {}
    assert [ending.number for ending in seen] == list(range(1, len(seen) + 1))
    assert [ending.killed for ending in seen] == [True] * (len(seen) - 1) + [False]
    assert len(seen[-1].acks) == 20


def test_every_kind_kills() -> None:
    """Writes, truncates, syncs and deletes are all points to die at, and none loses a commit."""
    seen, broken = _found(ToyWorkload(batches=3), Moment.BEFORE)

    assert broken == {}
    assert {(ending.operation or "none").split()[0] for ending in seen} == {*CHANGES, "none"}


@MOMENTS
def test_split_commit_is_caught(moment: Moment) -> None:
    """A store that commits a batch in two steps is caught with half a batch."""
    _, broken = _found(ToyWorkload(split=True, batches=3), moment)

    assert set(broken) == {"half"}


def test_early_ack_is_caught() -> None:
    """A store that acknowledges before it commits is caught with a lost batch."""

    def hasty(folder: Path, ack: Callable[[str], None]) -> None:
        for batch in range(2):
            ack(str(batch))
            ToyWorkload(batches=1)(folder, lambda _: None)

    _, broken = _found(hasty, Moment.BEFORE)

    assert set(broken) == {"lost"}


def test_torn_write_leaves_a_half(folder: Path) -> None:
    """A torn write leaves the first half of its bytes, a kill before it none."""

    def write(place: Path, ack: Callable[[str], None]) -> None:
        with closing(sqlite3.connect(place / "toy.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA page_size = 1024")
            connection.execute("CREATE TABLE rows (batch)")

    sizes = {}
    for moment in Moment:
        (folder / moment).mkdir()
        ending = run(write, folder / moment, number=1, moment=moment)
        sizes[moment] = (ending.folder / "toy.db").stat().st_size

    assert sizes == {Moment.BEFORE: 0, Moment.TORN: 512}


@pytest.mark.slow
def test_recovery_is_killed_too() -> None:
    """A run that is killed while it recovers from a kill loses nothing either."""
    workload = ToyWorkload(batches=4)
    cases = 0
    broken: Counter[str] = Counter()
    for first in endings(workload, step=5):
        for number in range(1, 20, 3):
            second = run(workload, first.folder, number=number)
            broken.update(broken_promises(second.folder, second.acks))
            cases += 1

    assert broken == {}
    assert cases > 30


def test_loops_and_threads_live_in_the_child() -> None:
    """A workload may run an event loop and write from its threads."""

    def work(folder: Path, ack: Callable[[str], None]) -> None:
        async def main() -> None:
            for _ in range(2):
                await asyncio.to_thread(ToyWorkload(batches=1), folder, ack)

        asyncio.run(main())

    seen, broken = _found(work, Moment.BEFORE)

    assert broken == {}
    assert seen[-1].acks == ("0", "1")


def test_prepared_folder_is_copied() -> None:
    """Each run begins with what was prepared once."""
    prepared: list[Path] = []

    def prepare(folder: Path) -> None:
        prepared.append(folder)
        ToyWorkload(batches=3)(folder, lambda _: None)

    seen = [
        (ending.acks, broken_promises(ending.folder, ["0", "1", "2", *ending.acks]))
        for ending in endings(ToyWorkload(batches=2), prepare=prepare)
    ]

    assert len(prepared) == 1
    assert seen[-1] == (("3", "4"), set())
    assert all(broken == set() for _, broken in seen)


def _stumble(place: Path, ack: Callable[[str], None]) -> None:
    message = "stumbled"
    raise LookupError(message)


@pytest.mark.parametrize(
    ("workload", "told"),
    [
        (_stumble, "LookupError: stumbled"),
        (lambda *_: os._exit(0), "code 0; it told nothing"),
        (lambda *_: time.sleep(60), "hung"),
    ],
    ids=["error", "exit", "hanging"],
)
def test_a_child_that_does_not_end_well_is_an_error(
    folder: Path, workload: Workload, told: str
) -> None:
    """A workload that fails, leaves the process or hangs is an error of the trial that says so."""
    with pytest.raises(ForkError, match=told):
        run(workload, folder, number=1, deadline=1.0 if told == "hung" else 20.0)


def test_threads_forbid_a_fork(folder: Path) -> None:
    """A process with other threads is not forked."""
    leave = threading.Event()
    thread = threading.Thread(target=leave.wait, name="reader")
    thread.start()
    try:
        with pytest.raises(ForkError, match="reader"):
            run(ToyWorkload(), folder, number=1)
    finally:
        leave.set()
        thread.join()

    assert not run(ToyWorkload(), folder, number=10_000).killed
