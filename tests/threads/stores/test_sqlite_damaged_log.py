"""A log of which SQLite takes only a part: what was committed behind is told and kept."""

import asyncio
import logging
import os
import shutil
import sqlite3
import struct
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread

import pytest
from foldline.threads.stores.sqlite.frames import Unread, looks_unread, unread_commits
from foldline.threads.stores.sqlite.header import lock_of
from foldline.threads.verification import verify_store

from foldline.errors import StoreBusyError
from foldline.history.messages import Message
from foldline.threads.fault import Fault
from foldline.threads.stores.sqlite.backup import back_up
from foldline.threads.stores.sqlite.file import StoreFile
from foldline.threads.stores.sqlite.lock import FileLock
from foldline.threads.stores.sqlite.store import SQLiteStore
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
    """A store whose program was killed."""
    (tmp_path / "folder").mkdir()
    asyncio.run(_say(tmp_path / "folder" / "a.db", TURNS))
    return tmp_path / "folder" / "killed.db"


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _copies(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.glob(f"{path.name}-wal.*"))


def _commits(data: bytes) -> list[int]:
    """Return the numbers, from 0, of the frames that end a commit."""
    frames = range((len(data) - HEADER) // STRIDE)
    return [one for one in frames if any(data[HEADER + one * STRIDE :][4:8])]


def _flip(path: Path, *places: int) -> bytes:
    """Change a bit of the log at each of *places*, and return what it then is."""
    data = bytearray(_log(path).read_bytes())
    for place in places:
        data[place] ^= 1
    _log(path).write_bytes(data)
    return bytes(data)


def _page(frame: int) -> int:
    """Return a place in the page of *frame*."""
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

    (name,) = _copies(killed)
    copy = killed.with_name(name)
    assert left < TURNS
    assert copy.read_bytes() == damaged
    assert copy.stat().st_mode & 0o777 == 0o600
    where = "in its header" if place < HEADER else f"at frame {1 + (place - HEADER) // STRIDE}"
    (record,) = caplog.records
    assert f"the log of killed.db is damaged {where}, and " in record.message
    assert record.message.endswith(f"its copy is {name}")
    assert name.endswith(f"-{0 if place < HEADER else 1 + (place - HEADER) // STRIDE}")


def test_what_was_kept_is_kept_once(killed: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A program that is killed behind the opening leaves nothing of the damage in the log."""
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
    """A second damaged log is copied beside the copy of the first."""
    kept = []
    for place in (_page(0), _page(1)):
        asyncio.run(_say(killed.with_name("a.db"), TURNS))
        kept.append(_flip(killed, place))
        asyncio.run(_count(killed))

    assert {killed.with_name(name).read_bytes() for name in _copies(killed)} == set(kept)


def test_one_commit_behind_the_damage_is_only_told(
    killed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """
    A power cut may leave the same of an unfinished commit: nothing is copied, nobody is warned.
    """
    *_, place, _ = _commits(_log(killed).read_bytes())
    _flip(killed, _page(place))

    with caplog.at_level(logging.INFO, logger="foldline"):
        asyncio.run(_count(killed))

    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert f"from frame {place + 1} on: 1 commit stands behind it, as a killed" in record.message
    assert _copies(killed) == []


async def _overwritten(path: Path) -> int:
    """Return what is whole where one program writes over what another one, killed, has left."""
    left, beside = path.with_name("left.db"), path.with_name("beside.db")
    async with SQLiteStore(path) as store:
        thread = await store.thread("one")
        await thread.add_message(Message.user("acknowledged"))
        for end in ("", "-wal", ".lock"):
            shutil.copy(f"{path}{end}", f"{left}{end}")
        async with SQLiteStore(left) as killed:
            other = await killed.thread("other")
            await other.add_messages([Message.user("x" * 900) for _ in range(200)])
            unfinished = _log(left).read_bytes()
        # Its frames are there, but the first that it wrote was not flushed, and no commit of it is.
        with _log(path).open("r+b") as log:
            place = log.seek(0, os.SEEK_END)
            log.write(unfinished[place:])
        await thread.add_message(Message.user("acknowledged too"))
        for end in ("", "-wal", ".lock"):
            shutil.copy(f"{path}{end}", f"{beside}{end}")
    return await _count(beside)


def test_what_a_live_program_writes_over_a_killed_one_is_no_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """
    The rest of a long commit that a kill cut off stands behind a shorter one: nobody is warned.
    """
    with caplog.at_level(logging.INFO, logger="foldline"):
        assert asyncio.run(_overwritten(tmp_path / "a.db")) == 2

    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert "1 commit stands behind it, as a killed program" in record.message
    assert list(tmp_path.glob("*.damaged-*")) == []


def test_beside_a_live_program_one_damage_is_kept_once(tmp_path: Path) -> None:
    """While SQLite still takes the frames, later looks make no second copy, and the one has all."""
    path = tmp_path / "a.db"

    async def look(number: int) -> tuple[bytes, int]:
        back_up(path, path.with_name(f"{number}.copy"))
        await _count(path)
        (name,) = _copies(path)
        return path.with_name(name).read_bytes(), path.with_name(name).stat().st_mtime_ns

    async def live() -> None:
        async with SQLiteStore(path) as store:
            thread = await store.thread("one")
            for number in range(9):
                await thread.add_message(Message.user(f"turn {number}"))
            damaged = _flip(path, _page(6))
            with closing(sqlite3.connect(path, isolation_level=None)) as reader:
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM threads").fetchone()
                first = await look(1)
                assert first[0] == damaged
                assert await look(2) == first
                await thread.add_message(Message.user("one more"))
                second = await look(3)
                assert second[0] == _log(path).read_bytes() != damaged
                assert await look(4) == second

    asyncio.run(live())


def _fed(log: Path, first: bytes, *, at_first: Callable[[], None]) -> Thread:
    """
    Have whoever opens *log* first read *first*, in the middle of *at_first*, and others what it is.
    """
    sound, fifo = log.with_name("sound"), log.with_name("fifo")
    log.rename(sound)
    os.mkfifo(fifo)
    log.symlink_to(fifo)

    def feed() -> None:
        # It can be opened as soon as the reader has opened it too.
        with fifo.open("wb") as pipe:
            sound.replace(log)
            at_first()
            pipe.write(first)

    feeder = Thread(target=feed, daemon=True)
    feeder.start()
    return feeder


def test_the_log_is_looked_through_while_others_may_write(killed: Path) -> None:
    """Who opens a store does not keep others from writing while a sound log is looked through."""
    lock = FileLock(lock_of(killed), timeout=0)
    is_free: list[bool] = []

    def write() -> None:
        with suppress(StoreBusyError), lock:
            is_free.append(True)

    file = StoreFile(killed, durability="full", busy_timeout=1)
    feeder = _fed(_log(killed), _log(killed).read_bytes(), at_first=write)
    file.writer().close()
    feeder.join(timeout=60)
    file.close()
    lock.close()

    assert is_free == [True]


def test_what_others_write_in_the_meantime_is_no_damage(killed: Path) -> None:
    """What was found at the first look and not at the second one was only about to be written."""
    sound = _log(killed).read_bytes()
    torn = _flip(killed, _page(0))
    _log(killed).write_bytes(sound)
    feeder = _fed(_log(killed), torn, at_first=lambda: None)

    assert unread_commits(_log(killed)) is None
    feeder.join(timeout=60)
    assert not _log(killed).is_symlink()


@pytest.mark.parametrize("swapped", [False, True], ids=["own order", "other order"])
def test_sums_are_those_of_sqlite(killed: Path, *, swapped: bool) -> None:
    """
    A log whose sums were made pair by pair, in either order of bytes, is whole; any flip is seen.
    """
    data = bytearray(_log(killed).read_bytes())
    if swapped:
        _resummed(data, ">" if sys.byteorder == "little" else "<")
    _log(killed).write_bytes(data)
    last = _commits(bytes(data))[-3]

    assert not looks_unread(_log(killed))
    for place in (0, 1, last // 2, last):
        _log(killed).write_bytes(data)
        _flip(killed, _page(place))
        unread = unread_commits(_log(killed))
        assert unread is not None
        assert (unread.frame, unread.is_lost) == (place + 1, True)


def test_a_long_log_is_looked_through_to_its_end(tmp_path: Path) -> None:
    """Of a log with more frames than are summed up at once each is checked."""
    asyncio.run(_say(tmp_path / "a.db", 400))
    log = _log(tmp_path / "killed.db")
    place = (log.stat().st_size - HEADER) // STRIDE - 50

    assert place > 600
    assert not looks_unread(log)
    _flip(tmp_path / "killed.db", _page(place))
    unread = unread_commits(log)
    assert unread is not None
    assert (unread.frame, unread.is_lost) == (place + 1, True)


def _resummed(data: bytearray, order: str) -> None:
    """Make the sums of a log anew, with the words in *order*."""
    data[:4] = bytes.fromhex("377f0682" if order == "<" else "377f0683")
    sums = _summed(bytes(data[:24]), (0, 0), order)
    data[24:HEADER] = struct.pack(">II", *sums)
    for start in range(HEADER, len(data), STRIDE):
        page = data[start + FRAME : start + STRIDE]
        sums = _summed(bytes(data[start : start + 8] + page), sums, order)
        data[start + 16 : start + FRAME] = struct.pack(">II", *sums)


def _summed(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = before
    for even, odd in struct.iter_unpack(f"{order}II", data):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


@pytest.mark.parametrize("before", [0, 60], ids=["first round", "later round"])
def test_a_whole_log_is_not_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, before: int
) -> None:
    """Behind a kill alone nothing is told and nothing kept, whatever an earlier round has left."""
    asyncio.run(_say(tmp_path / "a.db", TURNS, before=before))
    killed = tmp_path / "killed.db"

    with caplog.at_level(logging.WARNING, logger="foldline"):
        assert asyncio.run(_count(killed)) == TURNS + before

    assert caplog.records == []
    assert _copies(killed) == []


def test_a_damaged_later_round_is_told(tmp_path: Path) -> None:
    """Only the commits of the round that the log is in are counted."""
    asyncio.run(_say(tmp_path / "a.db", TURNS, before=60))
    killed = tmp_path / "killed.db"
    _flip(killed, _page(0))

    salts = _log(killed).read_bytes()[16:24]
    expected = Unread(salts=salts, frame=1, commits=TURNS, is_lost=True)
    assert unread_commits(_log(killed)) == expected


def test_rests_of_failed_commits_are_no_lost_ones(killed: Path) -> None:
    """Commits that do not go on from one another are what flushes that failed may leave."""
    ends = _commits(_log(killed).read_bytes())
    # The first frame of each commit: what remains of one does not go on from the one before.
    _flip(killed, *(_page(end + 1) for end in ends[:-1]), _page(0))

    unread = unread_commits(_log(killed))

    assert unread is not None
    assert unread.commits > 2
    assert not unread.is_lost


@pytest.mark.parametrize("size", [0, 20, HEADER, HEADER + 9, HEADER + STRIDE - 1])
def test_the_begin_of_a_log_is_no_damage(killed: Path, size: int) -> None:
    """A log that ends before its first frame is whole holds no commit, whatever its header says."""
    _flip(killed, *([13] if size > 13 else []))
    os.truncate(_log(killed), size)

    assert unread_commits(_log(killed)) is None


def test_a_log_that_cannot_be_copied_hinders_nobody(
    killed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where there may be no copy the store is opened all the same, and that is told."""
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
    """As long as the copy lies there, it is a fault below the threads."""
    _flip(killed, _page(0))

    async def verified() -> list[Fault]:
        async with SQLiteStore(killed) as store:
            return [fault async for one in verify_store(store) for fault in one.faults]

    (first,) = asyncio.run(verified())
    (copy,) = _copies(killed)
    assert (first.kind, first.name) == ("log", copy)
    assert asyncio.run(verified()) == [first]
    killed.with_name(copy).unlink()
    assert asyncio.run(verified()) == []
