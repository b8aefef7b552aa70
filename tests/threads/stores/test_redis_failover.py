"""A Redis whose address suddenly leads to another server, as after a failover."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from foldline.errors import StoreError
from foldline.history.messages import Message
from foldline.threads.stores.redis.store import RedisStore
from tests.servers.redis import RedisServer
from tests.threads.stores.redis_image import tell


class Failover:
    """An address that leads to one server and then to another."""

    def __init__(self, folder: Path, old: RedisServer, new: RedisServer) -> None:
        self.old = old
        self.new = new
        self._link = folder / "redis.sock"
        self._link.symlink_to(old.socket)

    @property
    def url(self) -> str:
        return f"unix://{self._link}"

    async def happen(self) -> None:
        await tell(self.old.url, "REPLICAOF", "127.0.0.1", "1")
        self._link.unlink()
        self._link.symlink_to(self.new.socket)


@pytest.fixture(name="failover")
def _failover(tmp_path: Path) -> Iterator[Failover]:
    with RedisServer() as old, RedisServer() as new:
        yield Failover(tmp_path, old, new)


async def warm(store: RedisStore, url: str) -> None:
    """Have all four connections of *store* to the Redis at *url* made, so none is made later."""
    # Threads that exist are only read, so each round makes threads of its own.
    for turn in itertools.count():
        if await clients(url) == 4:
            return
        finds = (store.find(f"warm{number}") for number in range(100))
        makes = (store.thread(f"warm{turn}-{number}") for number in range(100))
        await asyncio.gather(*finds, *makes)


async def clients(url: str) -> int:
    """Return how many connections a Redis has beside the one that asks."""
    told = await tell(url, "INFO", "clients")
    assert isinstance(told, dict)
    return int(told["connected_clients"]) - 1


async def test_first_write_finds_the_new_primary(failover: Failover) -> None:
    """A write that the old primary refuses is done by the new one, once, and reads follow it."""
    async with RedisStore(failover.url) as store:
        await store.thread("old")
        await warm(store, failover.url)
        await failover.happen()
        thread = await store.thread("new")
        await thread.add_message(Message.user("hello"))

        assert await store.find("old") is None
        assert [one.text for one in await thread.get_messages()] == ["hello"]
        assert thread.head.revision == 2


async def test_many_writes_find_the_new_primary(failover: Failover) -> None:
    """
    Of many calls in progress at the failover no write fails, and no connection is left.
    """
    async with RedisStore(failover.url) as store:
        await store.thread("old")
        await warm(store, failover.url)
        await failover.happen()
        calls = (
            store.thread(f"new{number:02}") if number % 2 else store.find("old")
            for number in range(80)
        )
        await asyncio.gather(*calls)
        found = [thread.id async for thread in store.threads()]

        assert found == [f"new{number:02}" for number in range(1, 80, 2)]
        assert await clients(failover.old.url) == 0


async def test_read_finds_the_new_primary(failover: Failover) -> None:
    """A read that the old primary refuses without its own primary is answered by the new one."""
    async with RedisStore(failover.url) as store:
        await store.thread("old")
        await tell(failover.old.url, "CONFIG", "SET", "replica-serve-stale-data", "no")
        await failover.happen()

        assert await store.find("old") is None


async def test_closing_while_calls_wait(redis_url: str) -> None:
    """Calls that wait while a store is closed say that it is not open, and connect nowhere."""
    store = await RedisStore(redis_url).open()
    calls = [asyncio.create_task(store.find("t")) for _ in range(100)]
    await asyncio.sleep(0)
    await store.close()
    ended = await asyncio.gather(*calls, return_exceptions=True)

    assert {type(one) for one in ended} <= {StoreError, type(None)}
    assert "not open" in f"{ended[-1]}"
    assert await clients(redis_url) == 0
