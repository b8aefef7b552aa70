"""Small reads of a SQLite file in the thread of the caller, and when there is no answer."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from foldline.errors import StoreCorruptError
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.file import StoreFile
from foldline.threads.stores.sqlite.inline_read import InlineReader
from foldline.threads.stores.sqlite.pace import Pace
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread


class Clock:
    """A clock that goes on by a set time whenever it is read."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pace = 0.0

    def __call__(self) -> float:
        self.now += self.pace
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> StoreFile:
    """An empty store."""
    file = StoreFile(tmp_path / "a.db", durability="full", busy_timeout=5.0)
    file.writer().close()
    return file


@pytest.fixture
def reader(file: StoreFile, clock: Clock) -> Iterator[InlineReader]:
    """A reader at it, beside an open connection of the thread that reads."""
    reader = InlineReader(file, pace=Pace(clock=clock, waits=count().__next__))
    with closing(reader.connect()):
        yield reader
    reader.close()


def one(connection: sqlite3.Connection) -> int:
    """Read next to nothing."""
    (found,) = connection.execute("SELECT 1").fetchone()
    return int(found)


def in_turn(reader: InlineReader) -> tuple[int] | None:
    """Read next to nothing in another turn of the event loop."""
    reader.pace.begin_turn()
    return reader.answer(one)


def long(connection: sqlite3.Connection) -> int:
    """Take many steps."""
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000)"
    return int(connection.execute(f"{numbers} SELECT count(*) FROM n").fetchone()[0])


def large(connection: sqlite3.Connection) -> bytes:
    """Read a large value."""
    return bytes(connection.execute("SELECT data FROM rows WHERE id = 1").fetchone()[0])


def test_what_is_small_is_answered(reader: InlineReader) -> None:
    """A small read has its answer at once, also if that is None; steps are counted for each."""
    assert reader.answer(lambda _: None) == (None,)
    assert {in_turn(reader) for _ in range(5_000)} == {(1,)}


def test_one_moment_is_seen(file: StoreFile, reader: InlineReader) -> None:
    """What others commit in the middle of a read is not seen by it, and by the next one it is."""

    def count(connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT count(*) FROM rows").fetchone()[0])

    def twice(connection: sqlite3.Connection) -> tuple[int, int]:
        before = count(connection)
        with closing(file.writer()) as writer:
            writer.execute("INSERT INTO rows VALUES (1, 0, x'00')")
        return before, count(connection)

    assert reader.answer(twice) == ((0, 0),)
    assert reader.answer(count) == (1,)


@pytest.mark.parametrize("size", [65_000, 70_000, 5_000_000])
def test_what_is_large_is_not_answered(file: StoreFile, reader: InlineReader, size: int) -> None:
    """A value above 64 KiB, and a read of very many steps, are left to the thread; no others."""
    with closing(file.writer()) as writer:
        writer.execute("INSERT INTO rows VALUES (1, 0, zeroblob(?))", (size,))

    assert (reader.answer(large) is None) is (size > 65_536)
    assert reader.answer(long) is None
    assert reader.answer(one) == (1,)


def test_a_slow_disk_is_left_alone(reader: InlineReader, clock: Clock) -> None:
    """After two reads in a row that took long the thread reads for a second; one is forgiven."""
    for pace in (0.01, 0.0, 0.01, 0.01):
        clock.pace = pace
        assert in_turn(reader) == (1,)
    clock.pace = 0.0
    assert in_turn(reader) is None
    clock.now += 0.9
    assert in_turn(reader) is None
    clock.now += 0.2
    assert in_turn(reader) == (1,)


def test_nobody_waits_for_another(reader: InlineReader) -> None:
    """While one thread reads, another has no answer, and does not wait for one."""
    inside, done = threading.Event(), threading.Event()

    def wait(connection: sqlite3.Connection) -> int:
        inside.set()
        done.wait(60)
        return one(connection)

    other = threading.Thread(target=reader.answer, args=[wait])
    other.start()
    inside.wait(60)
    found = reader.answer(one)
    done.set()
    other.join()

    assert found is None
    assert reader.answer(one) == (1,)


def test_a_writer_is_not_waited_for(file: StoreFile, reader: InlineReader) -> None:
    """While another connection writes, what was there before it is read at once."""
    with closing(file.writer()) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO rows VALUES (1, 0, x'00')")

        assert reader.answer(lambda c: c.execute("SELECT count(*) FROM rows").fetchone()) == ((0,),)


@pytest.mark.parametrize(
    "error", [StoreCorruptError("damage"), ValueError(), sqlite3.Error(), KeyboardInterrupt()]
)
def test_what_fails_is_asked_of_the_thread(reader: InlineReader, error: BaseException) -> None:
    """A read that fails has no answer and leaves no transaction open; a Ctrl-C goes through."""

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT count(*) FROM rows").fetchone()
        raise error

    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            reader.answer(fail)
    else:
        assert reader.answer(fail) is None
    assert reader.answer(one) == (1,)


def test_a_disk_error_closes_it_until_the_thread_connects(reader: InlineReader) -> None:
    """What a failure has left in memory is not used again; the thread's new connection helps."""
    assert reader.answer(lambda connection: connection.execute("SELECT * FROM nowhere")) is None
    assert reader.answer(one) is None

    reader.connect().close()
    assert reader.answer(one) == (1,)

    for _ in range(2):
        reader.close()
        assert reader.answer(one) is None


async def test_a_task_that_polls_can_be_timed_out(tmp_path: Path) -> None:
    """A loop that does nothing but refresh a thread ends when its time is over, and others run."""
    reads = turns = 0

    async def poll(thread: ConversationThread) -> None:
        nonlocal reads
        # A number, so that the test fails, and does not hang, if it cannot be ended.
        while thread.head.count < 2 and reads < 200_000:
            await thread.refresh()
            reads += 1

    async def tick() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with SQLiteStore(tmp_path / "a.db") as store:
        thread = await store.thread("t")
        await thread.add_message(Message.user("question"))
        other = asyncio.create_task(tick())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(poll(thread), 0.1)
        other.cancel()

    assert reads > 0
    assert turns >= reads // 32


def test_a_turn_of_the_loop_is_due_after_32_answers(reader: InlineReader, clock: Clock) -> None:
    """Of many answers every 32nd asks for a turn of the event loop, and of slow ones each."""

    def asked() -> bool:
        assert reader.answer(one)
        is_over = reader.pace.is_turn_over
        if is_over:
            assert reader.answer(one) is None
            reader.pace.begin_turn()
        return is_over

    quick = [asked() for _ in range(96)]
    clock.pace = 0.0011
    slow = [asked() for _ in range(3)]

    assert [number for number, is_due in enumerate(quick, 1) if is_due] == [32, 64, 96]
    assert slow == [True, True, True]
