"""Listing the threads of a tenant."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from foldline.errors import StoreCorruptError
from foldline.threads.storage import StoredThread
from foldline.threads.store import ThreadStore, stored_threads
from foldline.threads.stores.memory import MemoryStorage, MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore


class ShortStorage(MemoryStorage):
    """
    A memory that gives a few threads at once, as a database that limits the size of its answers.
    """

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        return (await super().threads(tenant, after=after, limit=limit))[:70]


async def test_every_thread_is_given_once() -> None:
    """
    450 threads are more than two pages: each comes once, in order, and those of others do not.
    """
    async with MemoryStore() as store:
        names = [f"t{number:03d}" for number in range(450)]
        for name in reversed(names):
            await store.thread(name)
        await store.thread("t500", tenant="other")
        storage = store.context.storage

        assert [one.key.id async for one in stored_threads(storage, "default")] == names
        assert [one.key.id async for one in stored_threads(storage, "other")] == ["t500"]
        assert [one async for one in stored_threads(storage, "nobody")] == []


async def test_threads_may_go_while_they_are_given() -> None:
    """Who deletes each thread that is given still gets every other one."""
    async with MemoryStore() as store:
        for number in range(401):
            await store.thread(f"t{number:03d}")
        given = 0
        async for one in stored_threads(store.context.storage, "default"):
            given += await store.delete(one.key.id)

        assert given == 401


async def test_a_damaged_name_stops_no_other_thread(tmp_path: Path) -> None:
    """A thread whose id or tenant was changed to none is passed over, and the store opens."""
    path = tmp_path / "a.db"

    async def ids() -> list[str]:
        async with SQLiteStore(path) as store:
            for name in ("a", "b", "c"):
                await store.thread(name)
            assert await store.purge_expired() == 0
            return [thread.id async for thread in store.threads()]

    assert await ids() == ["a", "b", "c"]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE threads SET id = 'a/../a' WHERE id = 'a'")
        connection.execute("UPDATE threads SET tenant = '' WHERE id = 'b'")
        connection.commit()
    assert await ids() == ["a", "b", "c"]


async def test_a_page_that_is_not_full_is_not_the_last() -> None:
    """Every thread is given by a storage that gives fewer than it is asked for."""
    storage = ShortStorage()
    store = ThreadStore(storage)
    for number in range(250):
        await store.thread(f"t{number:03d}")
    assert [one.key.id async for one in stored_threads(storage, "default")] == [
        f"t{number:03d}" for number in range(250)
    ]


class RepeatingStorage(MemoryStorage):
    """A memory whose pages come again and again, as behind a damaged index."""

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        return await super().threads(tenant, after=min(after, "b"), limit=limit)


@pytest.mark.parametrize("call", ["threads", "purge_expired", "delete_inactive"])
async def test_a_page_that_does_not_move_on_is_an_error(call: str) -> None:
    """A listing whose pages repeat ends with an error instead of never."""
    store = ThreadStore(RepeatingStorage())
    for name in "abc":
        await store.thread(name)

    async def run() -> None:
        if call == "threads":
            assert [one.id async for one in store.threads()] == []
        elif call == "purge_expired":
            await store.purge_expired()
        else:
            await store.delete_inactive(timedelta(days=1), dry_run=True)

    with pytest.raises(StoreCorruptError, match="'c' comes after 'c'"):
        await run()


async def test_damaged_names_hide_no_thread(tmp_path: Path) -> None:
    """Behind more damaged names than a page holds the next thread is still given."""
    path = tmp_path / "a.db"

    async def ids() -> list[str]:
        async with SQLiteStore(path) as store:
            return [thread.id async for thread in store.threads()]

    async with SQLiteStore(path) as store:
        for number in range(450):
            await store.thread(f"t{number:03d}")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE threads SET id = 't ' || id WHERE id < 't400' AND id > 't000'")
        connection.commit()

    assert await ids() == ["t000", *(f"t{number}" for number in range(400, 450))]
