"""Small reads of a SQLite file in the thread of whoever asks, and when there is no answer."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from foldline.threads.stores.sqlite.glance import Glance

from foldline.errors import StoreCorruptError
from foldline.threads.stores.sqlite.file import StoreFile


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
def glance(file: StoreFile, clock: Clock) -> Iterator[Glance]:
    """A glance at it, beside an open connection of the thread that reads."""
    glance = Glance(file, clock=clock)
    with closing(glance.connect()):
        yield glance
    glance.close()


def one(connection: sqlite3.Connection) -> int:
    """Read next to nothing."""
    (found,) = connection.execute("SELECT 1").fetchone()
    return int(found)


def long(connection: sqlite3.Connection) -> int:
    """Take many steps."""
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000)"
    return int(connection.execute(f"{numbers} SELECT count(*) FROM n").fetchone()[0])


def large(connection: sqlite3.Connection) -> bytes:
    """Read a large value."""
    return bytes(connection.execute("SELECT data FROM rows WHERE id = 1").fetchone()[0])


def test_what_is_small_is_answered(glance: Glance) -> None:
    """A small read has its answer at once, also where that is None."""
    assert glance.answer(one) == (1,)
    assert glance.answer(lambda _: None) == (None,)


def test_one_moment_is_seen(file: StoreFile, glance: Glance) -> None:
    """What others commit in the middle of a read is not seen by it, and by the next one it is."""

    def count(connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT count(*) FROM rows").fetchone()[0])

    def twice(connection: sqlite3.Connection) -> tuple[int, int]:
        before = count(connection)
        with closing(file.writer()) as writer:
            writer.execute("INSERT INTO rows VALUES (1, 0, x'00')")
        return before, count(connection)

    assert glance.answer(twice) == ((0, 0),)
    assert glance.answer(count) == (1,)


@pytest.mark.parametrize("size", [65_000, 70_000, 5_000_000])
def test_what_is_large_is_not_answered(file: StoreFile, glance: Glance, size: int) -> None:
    """
    A value above 64 KiB, and a read of very many steps, are left to the thread; small ones go on.
    """
    with closing(file.writer()) as writer:
        writer.execute("INSERT INTO rows VALUES (1, 0, zeroblob(?))", (size,))

    assert (glance.answer(large) is None) is (size > 65_536)
    assert glance.answer(long) is None
    assert glance.answer(one) == (1,)


def test_no_number_of_reads_is_too_many(glance: Glance) -> None:
    """The steps are counted for each read by itself."""
    assert {glance.answer(one) for _ in range(20_000)} == {(1,)}


def test_a_slow_disk_is_left_alone(glance: Glance, clock: Clock) -> None:
    """
    Behind two reads in a row that took long the thread reads for a second; one alone is forgiven.
    """
    for pace in (0.01, 0.0, 0.01, 0.01):
        clock.pace = pace
        assert glance.answer(one) == (1,)
    clock.pace = 0.0
    assert glance.answer(one) is None
    clock.now += 0.9
    assert glance.answer(one) is None
    clock.now += 0.2
    assert glance.answer(one) == (1,)


def test_nobody_waits_for_another(glance: Glance) -> None:
    """While one thread reads, another has no answer, and does not wait for one."""
    inside, done = threading.Event(), threading.Event()

    def wait(connection: sqlite3.Connection) -> int:
        inside.set()
        done.wait(10)
        return one(connection)

    other = threading.Thread(target=glance.answer, args=[wait])
    other.start()
    inside.wait(10)
    found = glance.answer(one)
    done.set()
    other.join()

    assert found is None
    assert glance.answer(one) == (1,)


def test_a_writer_is_not_waited_for(file: StoreFile, glance: Glance) -> None:
    """While another connection writes, what was there before it is read at once."""
    with closing(file.writer()) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO rows VALUES (1, 0, x'00')")

        assert glance.answer(lambda c: c.execute("SELECT count(*) FROM rows").fetchone()) == ((0,),)


@pytest.mark.parametrize("error", [StoreCorruptError("damage"), ValueError(), sqlite3.Error()])
def test_what_fails_is_asked_of_the_thread(glance: Glance, error: Exception) -> None:
    """A read that fails has no answer, whoever is to blame, and leaves no transaction open."""

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT count(*) FROM rows").fetchone()
        raise error

    assert glance.answer(fail) is None
    assert glance.answer(one) == (1,)


def test_a_read_that_is_broken_off_leaves_nothing_open(glance: Glance) -> None:
    """A Ctrl-C goes through, and the next read begins a transaction of its own."""

    def stop(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT count(*) FROM rows").fetchone()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        glance.answer(stop)

    assert glance.answer(one) == (1,)


def test_a_disk_error_closes_it_until_the_thread_connects(file: StoreFile, glance: Glance) -> None:
    """
    What a failure has left in memory is not used again; a new connection of the thread brings one.
    """

    def break_down(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT * FROM nowhere")

    assert glance.answer(break_down) is None
    assert glance.answer(one) is None

    glance.connect().close()

    assert glance.answer(one) == (1,)


def test_a_closed_one_has_no_answers(glance: Glance) -> None:
    """Closing ends the answers, and may be repeated."""
    glance.close()
    glance.close()

    assert glance.answer(one) is None
