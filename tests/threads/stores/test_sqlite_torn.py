"""One torn page of a SQLite file, and the threads that do not lie on it."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from foldline.threads.stores.sqlite.glance import Glance
from foldline.threads.verification import verify_store

from foldline.errors import StoreCorruptError
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.file import StoreFile
from foldline.threads.stores.sqlite.store import SQLiteStore


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


@pytest.fixture
def unnamed(tmp_path: Path) -> Path:
    """A store in which the index of names has lost half of a page."""
    path = tmp_path / "a.db"
    data = _made(path)
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name LIKE 'sqlite_autoindex_threads%'"
        (root,) = connection.execute(query).fetchone()
    data[root * PAGE - PAGE // 2 : root * PAGE] = bytes(PAGE // 2)
    path.write_bytes(data)
    return path


def test_reads_beside_a_torn_page_are_answered(torn: Path) -> None:
    """Whoever reads in one batch with somebody that meets the torn page reads what is not torn."""

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
            return [
                one.key.id if one.key else None async for one in verify_store(store) if one.faults
            ]

    assert asyncio.run(live()) == ["bad", None]


def test_damage_that_a_read_passes_over_leaves_the_glance_at_work(torn: Path) -> None:
    """A read that meets a torn page and goes on without it has its answer, and so has the next."""

    def pass_over(connection: sqlite3.Connection) -> str:
        try:
            connection.execute("SELECT sum(length(data)) FROM rows").fetchone()
        except sqlite3.DatabaseError as error:
            return error.sqlite_errorname
        return "nothing"

    glance = Glance(StoreFile(torn, durability="full", busy_timeout=1.0))
    with closing(glance.connect()):
        assert glance.answer(pass_over) == ("SQLITE_CORRUPT",)
        assert glance.answer(lambda c: c.execute("SELECT 1").fetchone()) == ((1,),)
    glance.close()


@pytest.mark.parametrize("name", ["bad", "filler", "good"])
def test_a_lost_name_makes_no_second_thread(unnamed: Path, name: str) -> None:
    """
    Where the index of names has lost one, that is told, and no thread of it is made or deleted.
    """

    async def live() -> None:
        async with SQLiteStore(unnamed) as store:
            for ask in (store.find, store.thread, store.delete):
                with pytest.raises(StoreCorruptError, match="SQLITE_CORRUPT_INDEX"):
                    await ask(name)

    asyncio.run(live())

    with closing(sqlite3.connect(unnamed)) as connection:
        query = "SELECT id FROM threads NOT INDEXED ORDER BY pk"
        found = [id for (id,) in connection.execute(query)]
    assert found == ["bad", "filler", "good"]


def test_an_index_without_a_page_makes_no_thread(tmp_path: Path) -> None:
    """An index that says that there are no threads is not believed where there are some."""
    path = tmp_path / "a.db"
    data = _made(path)
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name LIKE 'sqlite_autoindex_threads%'"
        (root,) = connection.execute(query).fetchone()
    # The number of entries on the page.
    data[(root - 1) * PAGE + 3 : (root - 1) * PAGE + 5] = bytes(2)
    path.write_bytes(data)

    async def live() -> None:
        async with SQLiteStore(path) as store:
            await store.thread("good")

    with pytest.raises(StoreCorruptError):
        asyncio.run(live())


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
