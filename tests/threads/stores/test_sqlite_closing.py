"""A SQLite store that is closed by a task that is cancelled, or by two at once."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.stores.sqlite.store import SQLiteStorage, SQLiteStore


KEY = ThreadKey("default", "one")


def _threads(path: Path) -> list[str]:
    return [one.name for one in threading.enumerate() if path.name in one.name]


@pytest.fixture
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Return the path of a store, of which no thread and no log may be left."""
    path = tmp_path / f"{request.node.name}.db"
    yield path
    assert _threads(path) == []
    assert not path.with_name(f"{path.name}-wal").exists()


class Held:
    """A job that holds a thread of the store until it is let go."""

    def __init__(self, also: Callable[[], None] = lambda: None) -> None:
        self.begun, self.over, self._also = threading.Event(), threading.Event(), also

    def __call__(self, connection: sqlite3.Connection) -> int:
        self._also()
        self.begun.set()
        self.over.wait(60)
        return connection.total_changes


@pytest.mark.parametrize("turns", range(6))
async def test_a_cancelled_closing_ends_and_the_store_opens_again(path: Path, turns: int) -> None:
    """Wherever closing is cancelled, opening the store after it makes it work."""
    store = await SQLiteStore(path, durability="relaxed").open()
    await (await store.thread("one")).add_message(Message.user("before"))
    closing = asyncio.create_task(store.close())
    for _ in range(turns):
        await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait([closing])
    async with store:
        thread = await store.thread("one")
        await thread.add_message(Message.user("after"))
        assert thread.head.count == 2


async def test_a_closing_that_waits_is_cancelled_and_ends(path: Path) -> None:
    """Closing that is cancelled during a job waits for it, releases the file, and then raises."""
    held = Held()
    storage = SQLiteStorage(path, durability="relaxed")
    await storage.open()
    job = asyncio.create_task(storage.writer.run(held))
    await asyncio.to_thread(held.begun.wait, 60)
    closing = asyncio.create_task(storage.close())
    for _ in range(3):
        await asyncio.sleep(0)
        closing.cancel()
    held.over.set()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert await job == 0


@pytest.mark.parametrize(("closers", "openers"), [(2, 1), (1, 2)])
async def test_a_store_that_is_opened_while_it_is_closed_is_open(
    path: Path, closers: int, openers: int
) -> None:
    """However many open and close a store at once, one thread writes then and one reads."""
    store = await SQLiteStore(path, durability="relaxed").open()
    closing = [asyncio.create_task(store.close()) for _ in range(closers)]
    await asyncio.sleep(0)
    await asyncio.gather(*(store.open() for _ in range(openers)))
    await asyncio.gather(*closing)
    assert (await store.thread("one")).head.count == 0
    assert len(_threads(path)) == 2
    await store.close()


async def test_an_opening_waits_for_a_closing_that_empties_the_log(path: Path) -> None:
    """From its first step on closing is over before an opening is, which makes the store work."""
    storage = SQLiteStorage(path, durability="relaxed")
    held = Held(storage.log.ask)
    await storage.open()
    job = asyncio.create_task(storage.writer.run(held))
    await asyncio.to_thread(held.begun.wait, 60)
    closing = asyncio.create_task(storage.close())
    await asyncio.sleep(0)
    opening = asyncio.create_task(storage.open())
    await asyncio.sleep(0)
    held.over.set()
    await asyncio.gather(job, closing, opening)
    assert await storage.load(KEY) is None
    await storage.close()


async def test_a_closing_that_ends_late_leaves_the_next_opening_alone(path: Path) -> None:
    """A task that learns of the end of its closing after a new opening takes nothing from that."""
    storage = SQLiteStorage(path, durability="relaxed")
    begun, opened, held = threading.Event(), threading.Event(), Held()

    async def close_late() -> None:
        closing = asyncio.create_task(storage.close())
        await asyncio.sleep(0)
        begun.set()
        opened.wait(60)
        await closing

    await storage.open()
    late = asyncio.create_task(asyncio.to_thread(asyncio.run, close_late()))
    await asyncio.to_thread(begun.wait, 60)
    await storage.open()
    await storage.reader.run(lambda connection: connection.total_changes)
    opened.set()
    await late
    job = asyncio.create_task(storage.reader.run(held))
    await asyncio.sleep(0)
    # It is read at once, and not after what the thread that reads has to do.
    assert await storage.load(KEY) is None
    assert not job.done()
    held.over.set()
    assert await job == 0
    await storage.close()
