"""
Listing the threads of a tenant.
"""

import asyncio

from foldline.threads.paging import stored_threads
from foldline.threads.stores.memory import MemoryStore


def test_every_thread_is_given_once() -> None:
    """
    450 threads are more than two pages: each comes once, in order, and those of others do not.
    """

    async def run() -> None:
        async with MemoryStore() as store:
            names = [f"t{number:03d}" for number in range(450)]
            for name in reversed(names):
                await store.thread(name)
            await store.thread("t500", tenant="other")
            storage = store.backing.storage

            assert [one.key.id async for one in stored_threads(storage, "default")] == names
            assert [one.key.id async for one in stored_threads(storage, "other")] == ["t500"]
            assert [one async for one in stored_threads(storage, "nobody")] == []

    asyncio.run(run())


def test_threads_may_go_while_they_are_given() -> None:
    """
    Who deletes each thread that is given still gets every other one.
    """

    async def run() -> None:
        async with MemoryStore() as store:
            for number in range(401):
                await store.thread(f"t{number:03d}")
            given = 0
            async for one in stored_threads(store.backing.storage, "default"):
                given += await store.delete(one.key.id)

            assert given == 401

    asyncio.run(run())
