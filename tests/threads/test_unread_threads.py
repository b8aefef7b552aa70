"""Verifying a store that refuses to read one of its threads, or that stops to answer."""

import asyncio

import pytest

from foldline.errors import StoreError
from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.row import StoredRow
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.verify import verify_store


BAD = ThreadKey("default", "b")


class Refusing(MemoryStorage):
    """A memory that refuses to read the rows of one thread, and everything once it is going."""

    def __init__(self, *, is_going: bool) -> None:
        super().__init__()
        self.is_going = is_going
        self.is_gone = False

    async def tenants(self) -> list[str]:
        if self.is_gone:
            message = "the server cannot be reached"
            raise StoreError(message)
        return await super().tenants()

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        if key == BAD:
            self.is_gone = self.is_going
            message = "the server refused a call (22003)"
            raise StoreError(message)
        return await super().rows(key, epoch, start, stop, system=system)


async def _verify(storage: Refusing, found: dict[str, tuple[str, ...]]) -> None:
    store = ThreadStore(storage)
    for name in "abc":
        await (await store.thread(name)).add_message(Message.user("x"))
    async for one in verify_store(store):
        found["" if one.key is None else one.key.id] = one.faults


def test_a_thread_that_the_store_refuses_to_read_is_a_fault() -> None:
    """What is refused for one thread is its fault, and all others are verified."""
    found: dict[str, tuple[str, ...]] = {}
    asyncio.run(_verify(Refusing(is_going=False), found))

    assert found == {"a": (), "b": ("unread: the server refused a call (22003)",), "c": ()}


def test_a_store_that_stops_to_answer_ends_it() -> None:
    """If the store cannot be asked for anything any more, no thread is blamed for that."""
    found: dict[str, tuple[str, ...]] = {}
    with pytest.raises(StoreError, match="cannot be reached"):
        asyncio.run(_verify(Refusing(is_going=True), found))

    assert found == {"a": ()}
