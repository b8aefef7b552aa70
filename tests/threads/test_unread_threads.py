"""Verifying a store that refuses to read one of its threads, or that cannot be asked."""

import asyncio

import pytest
from foldline.threads.verification import verify_store, verify_thread

from foldline.errors import StoreError
from foldline.history.messages import Message
from foldline.threads.fault import Fault
from foldline.threads.key import ThreadKey
from foldline.threads.step import StoredRow, StoredThread
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage


BAD = ThreadKey("default", "b")


class Refusing(MemoryStorage):
    """A memory that refuses to read the rows of one thread, and all calls once it is gone."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times
        self.is_going = self.is_gone = False

    async def load(self, key: ThreadKey) -> StoredThread | None:
        if self.is_gone:
            message = "the server cannot be reached"
            raise StoreError(message)
        return await super().load(key)

    async def rows(
        self, key: ThreadKey, branch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        if key == BAD and self.times:
            self.times -= 1
            self.is_gone = self.is_going
            message = "the server refused a call (22003)"
            raise StoreError(message)
        return await super().rows(key, branch, start, stop, system=system)


async def filled(storage: Refusing) -> ThreadStore:
    """Make three threads of one message each."""
    store = ThreadStore(storage)
    for name in "abc":
        await (await store.thread(name)).add_message(Message.user("x"))
    return store


async def told(store: ThreadStore, found: dict[str, list[str]]) -> None:
    """Verify *store* and put what is told of each thread into *found*."""
    async for one in verify_store(store):
        found["" if one.key is None else one.key.id] = [str(fault) for fault in one.faults]


def test_a_thread_that_the_store_refuses_to_read_is_a_fault() -> None:
    """What is refused of one thread is told as its fault, and all others are verified."""

    async def run() -> tuple[dict[str, list[str]], list[Fault]]:
        store = await filled(Refusing(1000))
        found: dict[str, list[str]] = {}
        await told(store, found)
        return found, await verify_thread(store.backing, BAD)

    found, alone = asyncio.run(run())
    problem = "the server refused a call (22003)"

    assert found == {"a": [], "b": [f"unread: {problem}"], "c": []}
    assert alone == [Fault(kind="unread", problem=problem)]


def test_a_connection_that_broke_once_is_no_fault() -> None:
    """Where a thread can be read a moment later, it is whole."""

    async def run() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        await told(await filled(Refusing(1)), found)
        return found

    assert asyncio.run(run()) == {"a": [], "b": [], "c": []}


def test_a_store_that_cannot_be_asked_ends_it() -> None:
    """Where no other thread can be asked for either, no thread is blamed for that."""

    async def run() -> dict[str, list[str]]:
        storage = Refusing(1000)
        store = await filled(storage)
        storage.is_going = True
        found: dict[str, list[str]] = {}
        with pytest.raises(StoreError, match="cannot be reached"):
            await told(store, found)
        return found

    assert asyncio.run(run()) == {"a": []}
