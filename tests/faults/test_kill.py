"""Processes that are killed at every file operation."""

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
