"""Verifying a store that refuses to read one of its threads, or that stops to answer."""

from contextlib import nullcontext

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


@pytest.mark.parametrize("is_going", [False, True])
async def test_a_thread_that_the_store_refuses_to_read_is_a_fault(is_going: bool) -> None:
    """All others are verified; but if the store stops to answer, no thread is blamed for that."""
    store, found = ThreadStore(Refusing(is_going=is_going)), dict[str, tuple[str, ...]]()
    for name in "abc":
        await (await store.thread(name)).add_message(Message.user("x"))
    with pytest.raises(StoreError, match="cannot be reached") if is_going else nullcontext():
        async for one in verify_store(store):
            found["" if one.key is None else one.key.id] = one.faults

    rest = {} if is_going else {"b": ("unread: the server refused a call (22003)",), "c": ()}
    assert found == {"a": (), **rest}
