"""Writes to Redis that were given up: if they still arrive, they do nothing."""

import asyncio
import os

import pytest

from foldline.errors import StoreBusyError, StoreError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.stores.redis.store import RedisStorage, RedisStore
from tests.servers.redis import RedisServer
from tests.servers.wire import Fault, Wire, wire_before
from tests.threads.stores.redis_image import tell


KEY = ThreadKey("acme", "t")
FENCE = "{foldline}/fence"


def first() -> Change:
    """Return the commit that makes a thread."""
    epoch = os.urandom(16)
    return Change(id=b"12345678", epoch=epoch, head=epoch, active_at=1.0)


def address(wire: Wire) -> str:
    """Return the address of the Redis that *wire* leads to."""
    return f"unix://{wire.path}"


async def fence(url: str) -> bytes | None:
    """Return how often a write to the store was given up."""
    found = await tell(url, "GET", FENCE)
    assert found is None or isinstance(found, bytes)
    return found


async def test_late_making_makes_nothing(redis_server: RedisServer, redis_url: str) -> None:
    """
    A first commit that arrives after it was given up makes no thread, and spoils none made since.
    """
    async with wire_before(redis_server.socket) as wire:
        storage, made = RedisStore(address(wire)).context.storage, first()
        await storage.open()
        await storage.commit(ThreadKey("acme", "other"), first())
        await wire.strike(Fault.LATE_REQUEST)
        with pytest.raises(StoreError, match="was not made"):
            await storage.commit(KEY, first())
        await storage.commit(KEY, made)
        assert await storage.delete(KEY)
        await wire.heal()
        assert await storage.load(KEY) is None
        await storage.close()


async def test_late_deletion_deletes_nothing(redis_server: RedisServer, redis_url: str) -> None:
    """A deletion that arrives after it was given up leaves the thread."""
    async with wire_before(redis_server.socket) as wire, RedisStore(address(wire)) as store:
        thread = await store.thread("t")
        # Redis knows the script then, and does not ask for it.
        await store.delete("other")
        await wire.strike(Fault.LATE_REQUEST)
        with pytest.raises(StoreError, match="nothing was deleted"):
            await store.delete("t")
        await wire.heal()
        await thread.add_message(Message.user("x"))
        assert thread.head.count == 1


async def test_others_send_again_what_the_fence_refused(
    redis_server: RedisServer, redis_url: str
) -> None:
    """
    A store that does not know of the given-up write learns of it with its next write, which is made.
    """
    async with (
        wire_before(redis_server.socket) as wire,
        RedisStore(address(wire)) as store,
        RedisStore(redis_url) as other,
    ):
        mine, theirs = await store.thread("mine"), await other.thread("theirs")
        await wire.strike(Fault.LOST_REQUEST)
        with pytest.raises(StoreError):
            await mine.add_message(Message.user("lost"))
        await theirs.add_message(Message.user("kept"))
        assert await other.delete("mine")
        assert theirs.head.count == 1
        assert await fence(redis_url) == b"1"


async def test_one_break_is_counted_once(redis_server: RedisServer, redis_url: str) -> None:
    """Many writes that break at once raise the number once, and each of them is settled."""
    async with wire_before(redis_server.socket) as wire, RedisStore(address(wire)) as store:
        threads = await asyncio.gather(*(store.thread(f"t{n}") for n in range(8)))
        await wire.strike(Fault.LOST_REQUEST, lasts=True)
        writes = [asyncio.create_task(one.add_message(Message.user("x"))) for one in threads]
        await asyncio.sleep(0.1)
        await wire.heal()
        done = await asyncio.gather(*writes, return_exceptions=True)
        await asyncio.gather(*(one.add_message(Message.user("y")) for one in threads))
        assert {one.head.count for one in threads} == {1}
        assert {type(one) for one in done} == {StoreError}
        assert await fence(redis_url) == b"1"


async def test_a_fence_that_never_rests(redis_url: str) -> None:
    """If every attempt meets another number, the store is busy and nothing was written."""

    class Restless(RedisStorage):
        """A storage that forgets the number as soon as it has learned it."""

        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, b"0" if name == "_fence" else value)

    await tell(redis_url, "SET", FENCE, "1")
    storage = Restless(
        redis_url, prefix="foldline", timeout=10.0, allow_eviction=False, max_waiting=9
    )
    await storage.open()
    with pytest.raises(StoreBusyError, match="broke repeatedly"):
        await storage.commit(KEY, first())
    assert await storage.load(KEY) is None
    await storage.close()
