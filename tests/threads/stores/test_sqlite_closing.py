"""A SQLite store that is closed by a task that is cancelled, or by two at once."""

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.stores.sqlite.storage import SQLiteStorage
from foldline.threads.stores.sqlite.store import SQLiteStore


def _threads(path: Path) -> list[str]:
    return [one.name for one in threading.enumerate() if path.name in one.name]


async def _cancelled(store: SQLiteStore, *, turns: int) -> None:
    """Close *store* in a task that is cancelled after so many turns of the event loop."""
    closing = asyncio.create_task(store.close())
    for _ in range(turns):
        await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait([closing])


@pytest.mark.parametrize("turns", range(6))
def test_a_cancelled_closing_ends_and_the_store_opens_again(tmp_path: Path, turns: int) -> None:
    """Wherever closing is cancelled, opening the store behind it makes it work."""
    path = tmp_path / "closing.db"

    async def live() -> None:
        store = await SQLiteStore(path, durability="relaxed").open()
        await (await store.thread("one")).add_message(Message.user("before"))
        await _cancelled(store, turns=turns)
        async with store:
            thread = await store.thread("one")
            await thread.add_message(Message.user("behind"))
            assert thread.count == 2

    asyncio.run(live())

    assert _threads(path) == []


def test_a_closing_that_waits_is_cancelled_and_ends(tmp_path: Path) -> None:
    """
    Cancelled while a job is at work, closing waits for it, releases the file, and is cancelled then.
    """
    path = tmp_path / "waiting.db"
    held, begun = threading.Event(), threading.Event()

    def work(connection: sqlite3.Connection) -> int:
        begun.set()
        held.wait(10)
        return connection.total_changes

    async def live() -> None:
        storage = SQLiteStorage(path, durability="relaxed")
        await storage.open()
        job = asyncio.create_task(storage.writer.run(work))
        await asyncio.to_thread(begun.wait, 10)
        closing = asyncio.create_task(storage.close())
        for _ in range(3):
            await asyncio.sleep(0)
            closing.cancel()
        held.set()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert await job == 0
        assert _threads(path) == []
        assert not path.with_name(f"{path.name}-wal").exists()

    asyncio.run(live())


def test_two_may_close_a_store_and_one_open_it_again(tmp_path: Path) -> None:
    """
    Who opens a store while another one closes it has it open, whatever the other one does then.
    """
    path = tmp_path / "two.db"

    async def live() -> None:
        store = await SQLiteStore(path, durability="relaxed").open()
        closing = [asyncio.create_task(store.close()) for _ in range(2)]
        await asyncio.sleep(0)
        await store.open()
        await asyncio.gather(*closing)
        assert (await store.thread("one")).count == 0
        await store.close()

    asyncio.run(live())

    assert _threads(path) == []


def test_two_may_open_a_store_that_one_closes(tmp_path: Path) -> None:
    """
    However many open a store while one closes it, it has one thread that writes and one that reads.
    """
    path = tmp_path / "three.db"

    async def live() -> None:
        store = await SQLiteStore(path, durability="relaxed").open()
        closing = asyncio.create_task(store.close())
        await asyncio.sleep(0)
        await asyncio.gather(closing, store.open(), store.open())
        assert (await store.thread("one")).count == 0
        assert len(_threads(path)) == 2
        await store.close()

    asyncio.run(live())

    assert _threads(path) == []
    assert not path.with_name(f"{path.name}-wal").exists()


def test_who_opens_a_store_that_still_empties_its_log_waits(tmp_path: Path) -> None:
    """From its first step on closing is over before an opening is, which makes the store work."""
    path = tmp_path / "emptied.db"
    held, begun = threading.Event(), threading.Event()

    async def live() -> None:
        storage = SQLiteStorage(path, durability="relaxed")
        await storage.open()

        def work(connection: sqlite3.Connection) -> int:
            storage.log.ask()
            begun.set()
            held.wait(10)
            return connection.total_changes

        job = asyncio.create_task(storage.writer.run(work))
        await asyncio.to_thread(begun.wait, 10)
        closing = asyncio.create_task(storage.close())
        await asyncio.sleep(0)
        opening = asyncio.create_task(storage.open())
        await asyncio.sleep(0)
        held.set()
        await asyncio.gather(job, closing, opening)
        assert await storage.load(ThreadKey("default", "one")) is None
        await storage.close()

    asyncio.run(live())

    assert _threads(path) == []


def test_a_closing_that_ends_late_leaves_the_store_open_that_was_opened_again(
    tmp_path: Path,
) -> None:
    """Who closes a store and hears of the end behind a new opening takes nothing of that away."""
    path = tmp_path / "late.db"
    storage = SQLiteStorage(path, durability="relaxed")
    begun, opened, read = threading.Event(), threading.Event(), threading.Event()

    async def close_late() -> None:
        closing = asyncio.create_task(storage.close())
        await asyncio.sleep(0)
        begun.set()
        opened.wait(10)
        await closing

    def hold(connection: sqlite3.Connection) -> int:
        read.wait(10)
        return connection.total_changes

    async def live() -> None:
        await storage.open()
        late = asyncio.create_task(asyncio.to_thread(asyncio.run, close_late()))
        await asyncio.to_thread(begun.wait, 10)
        await storage.open()
        await storage.reader.run(lambda connection: connection.total_changes)
        opened.set()
        await late
        job = asyncio.create_task(storage.reader.run(hold))
        await asyncio.sleep(0)
        # It is read at once, and not behind what the thread that reads has to do.
        assert await storage.load(ThreadKey("default", "one")) is None
        assert not job.done()
        read.set()
        assert await job == 0
        await storage.close()

    asyncio.run(live())

    assert _threads(path) == []
