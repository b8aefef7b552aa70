"""One torn page of a SQLite file, and the threads that do not lie on it."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.threads.stores.sqlite.file import StoreFile
from foldline.threads.stores.sqlite.inline_read import InlineReader
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.verify import verify_store


PAGE = 4096
COUNT = 60


def _made(path: Path) -> bytearray:
    """Return the bytes of a store with two threads, each of which fills pages of its own."""

    async def make() -> None:
        async with SQLiteStore(path, durability="relaxed") as store:
            for name in ("bad", "filler", "good"):
                thread = await store.thread(name)
                await thread.add_messages(
                    [Message.user(f"{name} {number} " + "x" * 600) for number in range(COUNT)]
                )

    asyncio.run(make())
    return bytearray(path.read_bytes())


@pytest.fixture
def torn(tmp_path: Path) -> Path:
    """A store in which a page with the newest messages of the thread `bad` is torn."""
    path = tmp_path / "a.db"
    data = _made(path)
    start = data.find(b"bad 55 xxx") // PAGE * PAGE
    data[start : start + 64] = b"\xff" * 64
    path.write_bytes(data)
    return path


def test_reads_beside_a_torn_page_are_answered(torn: Path) -> None:
    """Anyone who reads in one batch with somebody that meets the torn page reads what is not torn."""

    async def live() -> list[int]:
        async with SQLiteStore(torn) as store:
            good = await store.thread("good")
            counts = []
            for _ in range(10):
                *_, found = await asyncio.gather(
                    *(store.find("bad") for _ in range(2)),
                    # So many that they are read by the thread, with all who wait for it.
                    good.get_messages(),
                )
                assert isinstance(found, list)
                counts.append(len(found))
            return counts

    assert asyncio.run(live()) == [COUNT] * 10


def test_a_torn_page_does_not_end_the_report(torn: Path) -> None:
    """All that is wrong is told, of the thread and of the file, and of no other thread."""

    async def live() -> list[str | None]:
        async with SQLiteStore(torn) as store:
            found = [one async for one in verify_store(store) if one.faults]
            return [one.key.id if one.key else None for one in found]

    assert asyncio.run(live()) == ["bad", None]


def test_damage_that_a_read_passes_over_leaves_the_glance_at_work(torn: Path) -> None:
    """A read that meets a torn page and goes on without it has its answer, and so has the next."""

    def pass_over(connection: sqlite3.Connection) -> str:
        try:
            connection.execute("SELECT sum(length(data)) FROM rows").fetchone()
        except sqlite3.DatabaseError as error:
            return error.sqlite_errorname
        return "nothing"

    reader = InlineReader(StoreFile(torn, durability="full", busy_timeout=1.0))
    with closing(reader.connect()):
        assert reader.answer(pass_over) == ("SQLITE_CORRUPT",)
        assert reader.answer(lambda c: c.execute("SELECT 1").fetchone()) == ((1,),)
    reader.close()


def test_a_thread_is_made_beside_a_name_that_is_no_text(tmp_path: Path) -> None:
    """A damaged name is not in the way of the ones next to it."""
    path = tmp_path / "a.db"

    async def live(name: str) -> list[str]:
        async with SQLiteStore(path) as store:
            await store.thread(name)
            return [thread.id async for thread in store.threads()]

    asyncio.run(live("b"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE threads SET id = CAST(x'62FF' AS TEXT)")
        connection.commit()

    assert asyncio.run(live("a")) == ["a"]
    assert asyncio.run(live("c")) == ["a", "c"]
