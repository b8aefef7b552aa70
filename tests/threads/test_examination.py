"""Verifying while others write, delete and make anew."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from foldline.threads.verification import verify_store, verify_thread

from foldline.errors import StoreBusyError, StoreKeyError
from foldline.history.messages import Message
from foldline.threads.cipher import AesCipher
from foldline.threads.fault import Fault
from foldline.threads.key import ThreadKey
from foldline.threads.step import StoredRow
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage


Deed = Callable[[ThreadStore, str], Awaitable[object]]

BUSY = ThreadKey("default", "a")
# How often the rows are read in one look at a thread that is never the same: twice, five times.
ATTEMPTS = 10


class Restless(MemoryStorage):
    """A memory in which somebody does something to one thread each time that its rows are read."""

    def __init__(self, deed: Deed | None = None, times: int = 0) -> None:
        super().__init__()
        self.deed = deed
        self.times = times
        self.is_ready = False

    def damage(self, name: str) -> None:
        """Change the head of a thread past every program."""
        self._threads[ThreadKey("default", name)].head = b"damaged"

    async def rows(
        self, key: ThreadKey, branch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        if self.deed and self.is_ready and key == BUSY and self.times:
            self.times -= 1
            self.is_ready = False
            await self.deed(ThreadStore(self), key.id)
            self.is_ready = True
        return await super().rows(key, branch, start, stop, system=system)


class Keyless(MemoryStorage):
    """A memory that lists a thread that it does not find by its name."""

    async def names(self) -> list[tuple[str, str]]:
        found = [(one.tenant, one.id) for one in self._threads]
        return sorted([*found, ("default", "b")])


async def make_anew(store: ThreadStore, name: str) -> None:
    """Delete a thread, and make it anew with as many commits."""
    await store.delete(name)
    thread = await store.thread(name)
    await thread.add_message(Message.user("anew"))


async def clear(store: ThreadStore, name: str) -> None:
    """Clear a thread, which goes on along another branch."""
    thread = await store.thread(name)
    await thread.clear()
    await thread.add_message(Message.user("again"))


async def filled(storage: Restless) -> ThreadStore:
    """Make three threads of one message each, the last of them damaged."""
    store = ThreadStore(storage)
    for name in "abc":
        await (await store.thread(name)).add_message(Message.user("x"))
    storage.damage("c")
    storage.is_ready = True
    return store


async def told(store: ThreadStore, found: list[tuple[str, list[str]]]) -> None:
    """Verify *store* and put what is told of each thread into *found*."""
    async for one in verify_store(store):
        kinds = [str(fault.kind) for fault in one.faults]
        found.append(("" if one.key is None else one.key.id, kinds))


@pytest.mark.parametrize("times", [1, 3])
def test_a_thread_that_was_made_anew_is_not_damaged(times: int) -> None:
    """
    What is missing because the thread was deleted and came to the same revision again is no fault.
    """

    async def run() -> list[Fault]:
        storage = Restless(make_anew, times)
        store = await filled(storage)
        return await verify_thread(store.backing, BUSY)

    assert asyncio.run(run()) == []


@pytest.mark.parametrize("deed", [make_anew, clear])
def test_nothing_is_said_of_a_thread_that_is_always_another(deed: Deed) -> None:
    """Rows that are missing each time, and each time of another branch, are no damage."""

    async def run() -> None:
        storage = Restless(deed, 1000)
        store = await filled(storage)
        with pytest.raises(StoreBusyError):
            await verify_thread(store.backing, BUSY)

    asyncio.run(run())


def test_a_busy_thread_is_verified_behind_the_others() -> None:
    """A thread that others write to all the while is looked at once more when all else was told."""

    async def run() -> list[tuple[str, list[str]]]:
        storage = Restless(clear, ATTEMPTS)
        store = await filled(storage)
        found: list[tuple[str, list[str]]] = []
        await told(store, found)
        return found

    assert asyncio.run(run()) == [("b", []), ("c", ["head", "head"]), ("a", [])]


def test_what_others_write_to_for_ever_is_told_at_last() -> None:
    """A thread of which nothing can be said is an error, when all that can be said was."""

    async def run() -> list[tuple[str, list[str]]]:
        storage = Restless(clear, 1000)
        store = await filled(storage)
        found: list[tuple[str, list[str]]] = []
        with pytest.raises(StoreBusyError, match="'a'"):
            await told(store, found)
        return found

    assert asyncio.run(run()) == [("b", []), ("c", ["head", "head"])]


def test_a_thread_of_another_key_hides_no_damage() -> None:
    """That one thread was encrypted with another key is an error, when all that can be said was."""

    async def run() -> list[tuple[str, list[str]]]:
        storage = Restless()
        store = await filled(storage)
        sealed = ThreadStore(storage, cipher=AesCipher(bytes(32)))
        await sealed.thread("0")
        found: list[tuple[str, list[str]]] = []
        with pytest.raises(StoreKeyError, match="'0'"):
            await told(store, found)
        return found

    assert asyncio.run(run()) == [("a", []), ("b", []), ("c", ["head", "head"])]


def test_a_thread_that_is_listed_and_not_found_is_a_fault() -> None:
    """A thread that its name does not lead to is told of, although nobody can look into it."""

    async def run() -> list[str]:
        store = ThreadStore(Keyless())
        await store.thread("a")
        return [str(fault) async for one in verify_store(store) for fault in one.faults]

    assert asyncio.run(run()) == [
        "store: thread 'b' of tenant 'default' is listed, and not found by its name"
    ]


def test_a_thread_that_was_deleted_meanwhile_is_no_fault() -> None:
    """What was listed and deleted before it was looked at is passed over."""

    async def run() -> list[tuple[str, list[str]]]:
        storage = Restless(lambda store, _: store.delete("b"), 1)
        store = await filled(storage)
        found: list[tuple[str, list[str]]] = []
        await told(store, found)
        return found

    assert asyncio.run(run()) == [("a", []), ("c", ["head", "head"])]
