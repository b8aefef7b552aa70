"""Power cuts, drawn from the trace of a workload."""

import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.power import cuts, files_after
from tests.faults.scratch import scratch
from tests.faults.toy import ToyWorkload, broken_promises
from tests.faults.trace import Acked, Created, Deleted, Synced, Trace, Truncated, Written, record


def _traced(workload: ToyWorkload) -> Trace:
    with scratch() as folder, record(folder) as trace:
        workload(folder, trace.ack)
    return trace


def _broken(workload: ToyWorkload, *, count: int = 150) -> Counter[str]:
    broken: Counter[str] = Counter()
    for cut in cuts(_traced(workload), count=count):
        broken.update(broken_promises(cut.folder, cut.acks))
    return broken


@pytest.mark.parametrize("count", [150, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("journal", "synchronous"), [("WAL", "FULL"), ("WAL", "EXTRA"), ("DELETE", "EXTRA")]
)
def test_full_flushes_lose_nothing(journal: str, synchronous: str, count: int) -> None:
    """If each commit is flushed, with the folder if need be, no power cut breaks a promise."""
    workload = ToyWorkload(journal=journal, synchronous=synchronous)

    assert _broken(workload, count=count) == {}


@pytest.mark.parametrize(
    ("workload", "promise", "least"),
    [
        # Acknowledged commits are lost, but whole ones and from the end.
        (ToyWorkload(synchronous="NORMAL"), "lost", 30),
        # A rollback journal that is back after the cut takes its commit with it, as SQLite warns.
        (ToyWorkload(journal="DELETE", synchronous="FULL"), "lost", 1),
        (ToyWorkload(split=True), "half", 15),
    ],
    ids=["relaxed flushes", "deletion without a flush", "split commit"],
)
def test_each_weakness_breaks_its_promise(workload: ToyWorkload, promise: str, least: int) -> None:
    """What is not durable, or not one commit, is caught by power cuts, and as nothing else."""
    broken = _broken(workload)

    assert set(broken) == {promise}
    assert broken[promise] >= least


def test_missing_flushes_damage_the_file() -> None:
    """Without flushes power cuts leave damaged files."""
    assert _broken(ToyWorkload(synchronous="OFF"))["damaged"] >= 3


def test_state_is_drawn_again_from_its_seed() -> None:
    """A seed alone brings a state back."""
    trace = _traced(ToyWorkload(synchronous="OFF"))
    for cut in cuts(trace, count=10, seed=70):
        files = {path.name: path.read_bytes() for path in cut.folder.iterdir()}

        assert files_after(trace, cut.seed) == (cut.events, files)


def test_found_files_are_durable() -> None:
    """What lay in the folder before the trace survives every cut, and the WAL index never does."""
    with scratch() as folder:
        workload = ToyWorkload(batches=5)
        workload(folder, lambda _: None)
        (folder / "toy.db-shm").write_bytes(b"stale")
        with record(folder) as trace:
            workload(folder, trace.ack)
    names = {name for seed in range(30) for name in files_after(trace, seed)[1]}

    assert next(iter(trace.found)) == "toy.db"
    assert names == {"toy.db", "toy.db-wal"}
    for cut in cuts(trace, count=30):
        assert broken_promises(cut.folder, ["0", "1", "2", "3", "4", *cut.acks]) == set()


def test_foreign_files_are_noticed(folder: Path) -> None:
    """A database that was copied into the folder is in the trace from its first opening."""
    workload = ToyWorkload(batches=5, journal="DELETE", synchronous="EXTRA")
    with scratch() as other, record(folder) as trace:
        workload(other, lambda _: None)
        for name in ("toy.db", "removed.db"):
            shutil.copy(other / "toy.db", folder / name)
        with closing(sqlite3.connect(folder / "removed.db")) as connection, connection:
            connection.execute("DELETE FROM rows")
        (folder / "removed.db").unlink()
        with closing(sqlite3.connect(folder / "removed.db")) as connection, connection:
            connection.execute("CREATE TABLE rows (batch)")
        workload(folder, trace.ack)
    kinds = Counter(type(event) for event in trace.events)
    created = [event.name for event in trace.events if isinstance(event, Created)]
    _, files = files_after(trace, 0, at=len(trace.events))

    assert kinds[Acked] == 5
    assert created.count("removed.db") == 2
    assert files["toy.db"] == (folder / "toy.db").read_bytes()


def _trace(folder: Path, *events: Created | Written | Truncated | Synced | Deleted) -> Trace:
    trace = Trace(folder)
    trace.events.extend(events)
    return trace


def _contents(trace: Trace, name: str) -> set[bytes | None]:
    end = len(trace.events)
    return {files_after(trace, seed, at=end)[1].get(name) for seed in range(200)}


def test_synced_bytes_stay(folder: Path) -> None:
    """Of two writes around a sync the first stays and the second is there, absent or noise."""
    trace = _trace(
        folder,
        Created(0, "a-wal"),
        Written(0, 0, b"one"),
        Synced(0, 2, with_folder=True),
        Written(0, 3, b"two"),
    )
    contents = _contents(trace, "a-wal")

    assert {content[:3] for content in contents if content is not None} == {b"one"}
    assert None not in contents
    assert {b"one", b"onetwo"} < contents


def test_late_write_misses_the_sync(folder: Path) -> None:
    """A write of another thread that ended while a flush was under way may be lost."""
    trace = _trace(
        folder, Created(0, "a-wal"), Written(0, 0, b"one"), Synced(0, 1, with_folder=True)
    )

    assert {b"one", b""} <= _contents(trace, "a-wal")


def test_names_wait_for_their_folder(folder: Path) -> None:
    """A file that was created and flushed may be absent until the folder is flushed."""
    events = (Created(0, "a"), Written(0, 0, b"one"), Synced(0, 2, with_folder=False))
    later = (Created(1, "a-wal"), Synced(1, 4, with_folder=True))

    assert _contents(_trace(folder, *events), "a") == {None, b"one"}
    assert _contents(_trace(folder, *events, *later), "a") == {b"one"}


def test_deletion_waits_for_its_folder(folder: Path) -> None:
    """A deleted file may be back, with its durable bytes, unless the folder was flushed."""
    (folder / "a").write_bytes(b"one")

    assert _contents(_trace(folder, Deleted("a", 0, with_folder=False)), "a") == {None, b"one"}
    assert _contents(_trace(folder, Deleted("a", 0, with_folder=True)), "a") == {None}


def test_truncate_waits_for_its_sync(folder: Path) -> None:
    """A cut file may have its old size until it is flushed."""
    (folder / "a").write_bytes(b"one")
    synced = Synced(0, 1, with_folder=False)

    assert _contents(_trace(folder, Truncated(0, 1)), "a") == {b"one", b"o"}
    assert _contents(_trace(folder, Truncated(0, 1), synced), "a") == {b"o"}


def test_sectors_have_fates_of_their_own(folder: Path) -> None:
    """One write is torn at the sectors of the disk, and bytes around it stay."""
    (folder / "a").write_bytes(b"x" * 1536)
    contents = _contents(_trace(folder, Written(0, 500, b"y" * 600)), "a")
    patterns = {
        (content[500:512] == b"y" * 12, content[512:1024] == b"y" * 512, content[1024:1025] == b"y")
        for content in contents
        if content is not None
    }

    assert len(patterns) == 8
    assert {content[:500] + content[1100:] for content in contents if content} == {b"x" * 936}
