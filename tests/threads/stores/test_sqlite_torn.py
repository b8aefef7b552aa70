"""One torn page of a SQLite file, and the threads that do not lie on it."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.threads.stores.sqlite.file import StoreFile
from foldline.threads.stores.sqlite.inline_read import InlineReader
from foldline.threads.stores.sqlite.pace import Pace
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.verify import verify_store
from tests.threads.stores.opened import use


PAGE = 4096
COUNT = 60


@pytest.fixture
def torn(tmp_path: Path) -> Path:
    """Return a store in which a page with the newest messages of the thread `bad` is torn."""
    path = tmp_path / "a.db"

    async def make(store: SQLiteStore) -> None:
        for name in ("bad", "filler", "good"):
            thread = await store.thread(name)
            said = [f"{name} {number} " + "x" * 600 for number in range(COUNT)]
            await thread.add_messages([Message.user(text) for text in said])

    use(path, make)
    data = bytearray(path.read_bytes())
    start = data.find(b"bad 55 xxx") // PAGE * PAGE
    data[start : start + 64] = b"\xff" * 64
    path.write_bytes(data)
    return path


def test_reads_beside_a_torn_page_are_answered(torn: Path) -> None:
    """A read in one batch with reads that meet the torn page returns what is not torn."""

    async def count(store: SQLiteStore) -> list[int]:
        good = await store.thread("good")
        counts: list[int] = []
        for _ in range(10):
            # So many that they are read by the thread, with all that wait for it.
            reading = asyncio.ensure_future(good.get_messages())
            await asyncio.gather(*(store.find("bad") for _ in range(2)), reading)
            counts.append(len(await reading))
        return counts

    assert use(torn, count) == [COUNT] * 10


def test_a_torn_page_does_not_end_the_report(torn: Path) -> None:
    """All that is wrong is reported, of the thread and of the file, and of no other thread."""

    async def faulty(store: SQLiteStore) -> list[str | None]:
        found = [one async for one in verify_store(store) if one.faults]
        return [one.key.id if one.key else None for one in found]

    assert use(torn, faulty) == ["bad", None]


def test_damage_that_a_read_passes_over_leaves_inline_reads_at_work(torn: Path) -> None:
    """A read that meets a torn page and continues has its answer, and so has the next."""

    def pass_over(connection: sqlite3.Connection) -> str:
        try:
            connection.execute("SELECT sum(length(data)) FROM rows").fetchone()
        except sqlite3.DatabaseError as error:
            return error.sqlite_errorname
        return "nothing"

    file = StoreFile(torn, durability="full", busy_timeout=1.0)
    # However long a busy machine takes.
    reader = InlineReader(file, pace=Pace(clock=lambda: 0.0))
    with closing(reader.connect()):
        assert reader.answer(pass_over) == ("SQLITE_CORRUPT",)
        assert reader.answer(lambda c: c.execute("SELECT 1").fetchone()) == ((1,),)
    reader.close()


def test_a_thread_is_made_beside_a_name_that_is_not_text(tmp_path: Path) -> None:
    """A damaged name is not in the way of the ones next to it."""
    path = tmp_path / "a.db"

    def listed(name: str) -> list[str]:
        async def live(store: SQLiteStore) -> list[str]:
            await store.thread(name)
            return [thread.id async for thread in store.threads()]

        return use(path, live)

    listed("b")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE threads SET id = CAST(x'62FF' AS TEXT)")

    assert listed("a") == ["a"]
    assert listed("c") == ["a", "c"]
