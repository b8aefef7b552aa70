"""Writes to Redis that were given up: should they still arrive, they do nothing."""

import asyncio
import os

import pytest

from foldline.errors import StoreBusyError, StoreError
from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.step import Branch, Step
from foldline.threads.stores.redis.storage import RedisStorage
from foldline.threads.stores.redis.store import RedisStore
from tests.servers.redis import RedisServer
from tests.servers.wire import Fault, Wire, wire_before
from tests.threads.stores.redis_image import image, tell


KEY = ThreadKey("acme", "t")
EPOCH = "{foldline}/epoch"


def first_step() -> Step:
    """Return the step that makes a thread."""
    branch = os.urandom(16)
    return Step(
        id=b"12345678",
        expected=0,
        head=branch,
        branch=branch,
        opens=Branch(branch, None, 0),
        last_activity=1.0,
    )


def address(wire: Wire) -> str:
    """Return the address of the Redis behind *wire*."""
    return f"unix://{wire.path}"


async def epoch(url: str) -> bytes | None:
    """Return what Redis holds as the epoch of a store."""
    found = await tell(url, "GET", EPOCH)
    assert found is None or isinstance(found, bytes)
    return found


def test_late_making_makes_nothing(redis_server: RedisServer, redis_url: str) -> None:
    """
    A first commit that arrives after it was given up makes no thread, and none that is made anew.
    """

    async def live() -> None:
        async with wire_before(redis_server.socket) as wire:
            storage, step = RedisStorage(address(wire)), first_step()
            await storage.open()
            await storage.commit(ThreadKey("acme", "other"), first_step())
            await wire.strike(Fault.LATE_REQUEST)
            with pytest.raises(StoreError, match="was not made"):
                await storage.commit(KEY, first_step())
            await storage.commit(KEY, step)
            assert await storage.delete(KEY)
            await wire.heal()
            assert await storage.load(KEY) is None
            await storage.close()

    asyncio.run(live())


def test_late_deletion_deletes_nothing(redis_server: RedisServer, redis_url: str) -> None:
    """A deletion that arrives after it was given up leaves the thread that it was meant for."""

    async def live() -> int:
        async with (
            wire_before(redis_server.socket) as wire,
            RedisStore(address(wire)) as store,
        ):
            thread = await store.thread("t")
            # Redis knows the script then, and does not ask for it.
            await store.delete("other")
            await wire.strike(Fault.LATE_REQUEST)
            with pytest.raises(StoreError, match="nothing was deleted"):
                await store.delete("t")
            await wire.heal()
            await thread.add_message(Message.user("x"))
            return thread.count

    assert asyncio.run(live()) == 1


def test_lost_answer_to_a_deletion(redis_server: RedisServer, redis_url: str) -> None:
    """A deletion whose answer was lost is found to be done."""

    async def live() -> bool:
        async with (
            wire_before(redis_server.socket) as wire,
            RedisStore(address(wire)) as store,
        ):
            await store.thread("t")
            await store.delete("other")
            await wire.strike(Fault.LOST_ANSWER)
            return await store.delete("t")

    assert asyncio.run(live())
    assert asyncio.run(image(redis_url)).keys() <= {EPOCH.encode()}


def test_others_send_again_what_the_fence_refused(
    redis_server: RedisServer, redis_url: str
) -> None:
    """
    A store that does not know of the new epoch hears of it with its next write, which is made.
    """

    async def live() -> tuple[int, bytes | None]:
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
            return theirs.count, await epoch(redis_url)

    assert asyncio.run(live()) == (1, b"1")


def test_one_break_is_one_epoch(redis_server: RedisServer, redis_url: str) -> None:
    """Many writes that break at once raise the epoch once, and each of them is settled."""

    async def live() -> tuple[set[type], bytes | None]:
        async with (
            wire_before(redis_server.socket) as wire,
            RedisStore(address(wire)) as store,
        ):
            threads = await asyncio.gather(*(store.thread(f"t{n}") for n in range(8)))
            await wire.strike(Fault.LOST_REQUEST, lasts=True)
            writes = [asyncio.create_task(one.add_message(Message.user("x"))) for one in threads]
            await asyncio.sleep(0.1)
            await wire.heal()
            done = await asyncio.gather(*writes, return_exceptions=True)
            await asyncio.gather(*(one.add_message(Message.user("y")) for one in threads))
            assert {one.count for one in threads} == {1}
            return {type(one) for one in done}, await epoch(redis_url)

    assert asyncio.run(live()) == ({StoreError}, b"1")


def test_a_store_without_breaks_has_no_epoch(redis_url: str) -> None:
    """Where no write was ever given up nothing is kept for it."""

    async def live() -> bytes | None:
        async with RedisStore(redis_url) as store:
            await (await store.thread("t")).add_message(Message.user("x"))
            return await epoch(redis_url)

    assert asyncio.run(live()) is None


def test_an_epoch_that_is_gone(redis_url: str) -> None:
    """A store that knows an epoch goes on with a Redis that has lost everything."""

    async def live() -> int:
        async with RedisStore(redis_url) as store:
            await tell(redis_url, "SET", EPOCH, "7")
            await store.thread("t")
            await tell(redis_url, "FLUSHALL")
            thread = await store.thread("t")
            await thread.add_message(Message.user("x"))
            return thread.count

    assert asyncio.run(live()) == 1


def test_an_epoch_that_never_rests(redis_url: str) -> None:
    """Where every attempt meets another epoch the store is busy, and nothing was written."""

    class Restless(RedisStorage):
        """A storage that forgets the epoch as soon as it has heard of it."""

        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, b"0" if name == "_epoch" else value)

    async def live() -> None:
        await tell(redis_url, "SET", EPOCH, "1")
        storage = Restless(redis_url)
        await storage.open()
        with pytest.raises(StoreBusyError, match="again and again"):
            await storage.commit(KEY, first_step())
        assert await storage.load(KEY) is None
        await storage.close()

    asyncio.run(live())
