"""
A log of which SQLite takes only a part: what was committed behind is told and kept.
"""

import asyncio
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.threads.fault import Fault
from foldline.threads.stores.sqlite.frames import Unread, unread_commits
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.verification import verify_store
from tests.faults.rights import without_privileges


HEADER, FRAME, PAGE = 32, 24, 4096
STRIDE = FRAME + PAGE
TURNS = 20


async def _say(path: Path, turns: int, *, before: int = 0) -> None:
    async with SQLiteStore(path, durability="relaxed") as store:
        thread = await store.thread("one")
        for number in range(before):
            await thread.add_message(Message.user(f"before {number} " + "x" * 6_000))
        if before:
            # What is said next begins a new round of the log.
            await store.backing.storage.writer.run(  # type: ignore[attr-defined]
                lambda connection: connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall(),
                is_outside=True,
            )
        for number in range(turns):
            await thread.add_message(Message.user(f"turn {number}"))
        for end in ("", "-wal", ".lock"):
            shutil.copy(f"{path}{end}", path.with_name(f"killed.db{end}"))


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """
    A store whose program was killed.
    """
    (tmp_path / "folder").mkdir()
    asyncio.run(_say(tmp_path / "folder" / "a.db", TURNS))
    return tmp_path / "folder" / "killed.db"


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _copies(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.glob(f"{path.name}-wal.*"))


def _commits(data: bytes) -> list[int]:
    """
    Return the numbers, from 0, of the frames that end a commit.
    """
    frames = range((len(data) - HEADER) // STRIDE)
    return [one for one in frames if any(data[HEADER + one * STRIDE :][4:8])]


def _flip(path: Path, *places: int) -> bytes:
    """
    Change a bit of the log at each of *places*, and return what it then is.
    """
    data = bytearray(_log(path).read_bytes())
    for place in places:
        data[place] ^= 1
    _log(path).write_bytes(data)
    return bytes(data)


def _page(frame: int) -> int:
    """
    Return a place in the page of *frame*.
    """
    return HEADER + frame * STRIDE + FRAME + 2_000


async def _count(path: Path) -> int:
    async with SQLiteStore(path) as store:
        thread = await store.find("one")
        return 0 if thread is None else thread.count


HEADERS = [0, 3, 4, 10, 13, 16, 20, 24, 28]


@pytest.mark.parametrize("place", [*HEADERS, HEADER, HEADER + 9, HEADER + 17, _page(0), _page(12)])
def test_a_flipped_bit_is_told_and_the_log_is_kept(
    killed: Path, caplog: pytest.LogCaptureFixture, place: int
) -> None:
    """
    Wherever the bit is, the log is copied as it was before SQLite drops what it does not take.
    """
    damaged = _flip(killed, place)

    with caplog.at_level(logging.WARNING, logger="foldline"):
        left = asyncio.run(_count(killed))

    copy = killed.with_name("killed.db-wal.damaged-1")
    assert left < TURNS
    assert copy.read_bytes() == damaged
    assert copy.stat().st_mode & 0o777 == 0o600
    where = "in its header" if place < HEADER else f"at frame {1 + (place - HEADER) // STRIDE}"
    (record,) = caplog.records
    assert f"the log of killed.db is damaged {where}, and " in record.message
    assert record.message.endswith(f"it was copied to {copy.name}")


def test_what_was_kept_is_kept_once(killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    """
    A program that is killed behind the opening leaves nothing of the damage in the log.
    """
    _flip(killed, _page(0))

    async def open_twice() -> None:
        async with SQLiteStore(killed) as store:
            await store.thread("another")
            again = killed.with_name("again.db")
            for end in ("", "-wal", ".lock"):
                shutil.copy(f"{killed}{end}", f"{again}{end}")
            await _count(again)

    with caplog.at_level(logging.WARNING, logger="foldline"):
        asyncio.run(open_twice())

    assert len(caplog.records) == 1
    assert _copies(killed.with_name("again.db")) == []


def test_a_copy_is_never_written_over(killed: Path) -> None:
    """
    A second damaged log is copied beside the copy of the first.
    """
    kept = {}
    for number, place in enumerate((_page(0), _page(1)), 1):
        asyncio.run(_say(killed.with_name("a.db"), TURNS))
        kept[f"killed.db-wal.damaged-{number}"] = _flip(killed, place)
        asyncio.run(_count(killed))

    assert {name: killed.with_name(name).read_bytes() for name in _copies(killed)} == kept


def test_one_commit_behind_the_damage_is_only_told(
    killed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """
    A power cut may leave the same of the commit that was on its way, so that nothing is copied.
    """
    *_, place, _ = _commits(_log(killed).read_bytes())
    _flip(killed, _page(place))

    with caplog.at_level(logging.WARNING, logger="foldline"):
        asyncio.run(_count(killed))

    (record,) = caplog.records
    assert f"at frame {place + 1}, and 1 commit stands behind it" in record.message
    assert _copies(killed) == []


@pytest.mark.parametrize("before", [0, 60], ids=["first round", "later round"])
def test_a_whole_log_is_not_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, before: int
) -> None:
    """
    Behind a kill alone nothing is told and nothing kept, whatever an earlier round has left.
    """
    asyncio.run(_say(tmp_path / "a.db", TURNS, before=before))
    killed = tmp_path / "killed.db"

    with caplog.at_level(logging.WARNING, logger="foldline"):
        assert asyncio.run(_count(killed)) == TURNS + before

    assert caplog.records == []
    assert _copies(killed) == []


def test_a_damaged_later_round_is_told(tmp_path: Path) -> None:
    """
    Only the commits of the round that the log is in are counted.
    """
    asyncio.run(_say(tmp_path / "a.db", TURNS, before=60))
    killed = tmp_path / "killed.db"
    _flip(killed, _page(0))

    assert unread_commits(_log(killed)) == Unread(frame=1, commits=TURNS, is_lost=True)


def test_rests_of_failed_commits_are_no_lost_ones(killed: Path) -> None:
    """
    Commits that do not go on from one another are what flushes that failed may leave.
    """
    ends = _commits(_log(killed).read_bytes())
    # The first frame of each commit: what remains of one does not go on from the one before.
    _flip(killed, *(_page(end + 1) for end in ends[:-1]), _page(0))

    unread = unread_commits(_log(killed))

    assert unread is not None
    assert unread.commits > 2
    assert not unread.is_lost


@pytest.mark.parametrize("size", [0, 20, HEADER, HEADER + 9, HEADER + STRIDE - 1])
def test_the_begin_of_a_log_is_no_damage(killed: Path, size: int) -> None:
    """
    A log that ends before its first frame is whole holds no commit, whatever its header says.
    """
    _flip(killed, *([13] if size > 13 else []))
    os.truncate(_log(killed), size)

    assert unread_commits(_log(killed)) is None


def test_a_log_that_cannot_be_copied_hinders_nobody(
    killed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """
    Where there may be no copy the store is opened all the same, and that is told.
    """
    _flip(killed, _page(0))
    shm = killed.with_name("killed.db-shm")
    shm.touch()

    with caplog.at_level(logging.WARNING, logger="foldline"):
        _in_locked_folder(killed.parent, lambda: asyncio.run(_count(killed)))

    assert "it cannot be copied: " in caplog.text
    assert "(EACCES)" in caplog.text


def _in_locked_folder(folder: Path, work: Callable[[], int]) -> None:
    folder.chmod(0o500)
    try:
        without_privileges(work)
    finally:
        folder.chmod(0o700)


def test_verification_names_the_copy(killed: Path) -> None:
    """
    As long as the copy lies there, it is a fault below the threads.
    """
    _flip(killed, _page(0))

    async def verified() -> list[Fault]:
        async with SQLiteStore(killed) as store:
            return [fault async for one in verify_store(store) for fault in one.faults]

    copy = "killed.db-wal.damaged-1"
    for _ in range(2):
        assert [(one.kind, one.name) for one in asyncio.run(verified())] == [("log", copy)]
    killed.with_name(copy).unlink()
    assert asyncio.run(verified()) == []
