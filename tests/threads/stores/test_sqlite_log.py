"""The log of a SQLite file while others read: what is deleted is out of it, or that is said."""

import asyncio
import logging
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from foldline.errors import StoreError
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.file import Durability
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread


SECRET = "what nobody may read"


def is_left(folder: Path) -> bool:
    return any(SECRET.encode() in path.read_bytes() for path in folder.iterdir())


@contextmanager
def reading(path: Path) -> Generator[None]:
    """Read the file as it is now, for a while."""
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM rows").fetchone()
        yield


async def said(store: SQLiteStore) -> ConversationThread:
    thread = await store.thread("one")
    await thread.add_message(Message.user(SECRET))
    return thread


async def test_a_deletion_says_that_the_log_is_not_empty(tmp_path: Path) -> None:
    """While another one reads, deleting fails after a wait; repeated later it leaves nothing."""
    path = tmp_path / "chat.db"
    async with SQLiteStore(path) as store:
        await said(store)
        with reading(path):
            with pytest.raises(StoreError, match="the log still holds what was deleted"):
                await store.delete("one")
            assert is_left(tmp_path)
        assert not await store.delete("one")
        assert not is_left(tmp_path)


@pytest.mark.parametrize("durability", ["full", "relaxed"])
async def test_a_clear_warns_that_the_log_is_not_empty(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, durability: Durability
) -> None:
    """While another one reads, clearing warns, and the next commit empties the log."""
    path = tmp_path / "chat.db"
    async with SQLiteStore(path, durability=durability) as store:
        thread = await said(store)
        with reading(path):
            with caplog.at_level(logging.WARNING, logger="foldline"):
                await thread.clear()
            assert thread.count == 0
            assert is_left(tmp_path)
        await thread.add_message(Message.user("on"))
        assert not is_left(tmp_path)

    assert [one.name for one in caplog.records] == ["foldline"]
    assert "still holds what was deleted" in caplog.text
    assert SECRET not in caplog.text


async def test_closing_empties_the_log(tmp_path: Path) -> None:
    """What a reader kept in the log leaves it on close, even if others have the store open."""
    path = tmp_path / "chat.db"
    async with SQLiteStore(path) as other:
        async with SQLiteStore(path) as store:
            thread = await said(store)
            with reading(path):
                await thread.clear()
            assert is_left(tmp_path)
        assert not is_left(tmp_path)
        assert await other.find("one") is not None


@pytest.mark.parametrize("way", ["clear", "delete"])
async def test_a_cancelled_purge_empties_the_log(tmp_path: Path, way: str) -> None:
    """Wherever a purge is cancelled, what is gone from the file is gone from its log."""
    path = tmp_path / "chat.db"
    async with SQLiteStore(path) as store:
        thread = await said(store)
        purge = thread.clear() if way == "clear" else store.delete("one")
        task = asyncio.ensure_future(purge)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        found = await store.find("one")
        assert is_left(tmp_path) == (found is not None and found.count > 0)
