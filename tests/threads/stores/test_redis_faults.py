"""Redis that fails: killed, full, slow or emptied."""

import asyncio
import itertools
from contextlib import suppress

import pytest

from foldline.errors import (
    CommitUnknownError,
    FoldlineError,
    StoreError,
    ThreadNotFoundError,
)
from foldline.history.messages import Message
from foldline.threads.stores.redis.store import RedisStore
from tests.servers.redis import RedisServer, Sync
from tests.threads.stores.redis_image import image, tell


SECRET = "the bride wore green"


async def said(url: str) -> list[str]:
    """Return the texts of the thread `t`, as another store reads them."""
    async with RedisStore(url) as store:
        thread = await store.find("t")
        return [] if thread is None else [one.text for one in await thread.get_messages()]


@pytest.mark.usefixtures("redis_url")
async def test_cancelled_reads_leave_the_way_clear(redis_server: RedisServer) -> None:
    """No answer to a read that was cancelled is taken for that to another one."""
    async with RedisStore(redis_server.url) as store:
        for name in ("t", "u"):
            await (await store.thread(name)).add_message(Message.user(name))
        for turn in range(60):
            attempt = asyncio.create_task(store.find("u"))
            await asyncio.sleep(turn * 0.00001)
            attempt.cancel()
            with suppress(asyncio.CancelledError):
                await attempt
            thread = await store.find("t")
            assert thread is not None
            assert thread.id == "t"
        assert [one.text for one in await (await store.thread("t")).get_messages()] == ["t"]


class Crashes:
    """A thread that is written to while its server is killed again and again."""

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        # What was acknowledged before the first kill, between two, and after the last.
        self.known: list[list[str]] = [[]]
        self._news: asyncio.Queue[str] = asyncio.Queue()

    async def write(self, store: RedisStore) -> None:
        thread = await store.thread("t")
        for number in itertools.count():
            try:
                await thread.add_message(Message.user(f"{number}"))
            except FoldlineError:
                await asyncio.sleep(0.002)
                with suppress(StoreError):
                    await thread.refresh()
            else:
                self.known[-1].append(f"{number}")
                self._news.put_nowait(f"{number}")

    async def kill(self, times: int) -> None:
        async with RedisStore(self.server.url) as store:
            writer = asyncio.create_task(self.write(store))
            for _ in range(times):
                await self._go_on()
                self.server.kill()
                # Answers that are on their way belong to the time before.
                await asyncio.sleep(0.02)
                self.known.append([])
                self.server.start()
            await self._go_on()
            writer.cancel()
            await asyncio.wait([writer])

    async def _go_on(self) -> None:
        for _ in range(12):
            await self._news.get()


def crashed(mode: Sync) -> tuple[list[list[str]], set[str]]:
    """Return what a Redis acknowledged around three kills, and what it has after a fourth."""
    with RedisServer(appendfsync=mode) as server:
        crashes = Crashes(server)
        asyncio.run(crashes.kill(3))
        server.kill()
        server.start()
        stored = asyncio.run(said(server.url))
    assert stored == sorted(set(stored), key=int)
    return crashes.known, set(stored)


@pytest.mark.parametrize("mode", ["always", "no"])
def test_kills_lose_nothing_acknowledged(mode: Sync) -> None:
    """
    Redis killed under load has every acknowledged message, in order, unless it puts writes off.
    """
    known, stored = crashed(mode)

    assert len(known) == 4
    assert [text for part in known for text in part if text not in stored] == []


def test_kills_take_the_newest() -> None:
    """
    Flushed once a second, Redis loses the newest messages in a kill, and none before one it kept.
    """
    known, stored = crashed("everysec")

    for part in known:
        kept = [text for text in part if text in stored]
        assert kept == part[: len(kept)]


async def test_heals_after_a_restart(redis_server: RedisServer, redis_url: str) -> None:
    """An open store and its threads go on after a restart, in which Redis forgets all scripts."""
    async with RedisStore(redis_url) as store:
        thread = await store.thread("t")
        await thread.add_message(Message.user("one"))
        redis_server.restart()
        # The event loop was held up and has to hear of it.
        await asyncio.sleep(0.01)
        await thread.add_message(Message.user("two"))
        await tell(redis_url, "SCRIPT", "FLUSH")
        await thread.add_message(Message.user("three"))
        assert [one.text for one in await thread.get_messages()] == ["one", "two", "three"]


async def test_stopped_redis(redis_server: RedisServer, redis_url: str) -> None:
    """While Redis is away every call says so, without a word of what was said, and none hangs."""
    async with RedisStore(redis_url, timeout=3.0) as store:
        thread = await store.thread("t")
        await thread.add_message(Message.user("before"))
        redis_server.kill()
        errors: list[FoldlineError] = []
        for attempt in (
            thread.add_message(Message.user(SECRET)),
            thread.get_messages(),
            store.find("t"),
            store.tenants(),
            store.delete("t"),
            RedisStore(redis_url).open(),
        ):
            with pytest.raises(StoreError) as caught:
                await attempt
            errors.append(caught.value)
        redis_server.start()
        await thread.add_message(Message.user("after"))

    assert {type(error) for error in errors} <= {StoreError, CommitUnknownError}
    assert not any(SECRET in str(error) or error.__cause__ for error in errors)
    assert await said(redis_url) == ["before", "after"]


async def test_emptied_redis(redis_server: RedisServer, redis_url: str) -> None:
    """A Redis that has lost everything is used again: the old thread is gone, new ones are made."""
    async with RedisStore(redis_url) as store:
        thread = await store.thread("t")
        redis_server.flush()
        with pytest.raises(ThreadNotFoundError):
            await thread.add_message(Message.user("lost"))
        new = await store.thread("t")
        await new.add_message(Message.user("new"))
        assert await store.tenants() == ["default"]
    assert await said(redis_url) == ["new"]


async def test_full_redis() -> None:
    """
    A Redis without memory refuses commits as a whole, lets threads be deleted, and then works.
    """
    with RedisServer() as server:
        async with RedisStore(server.url) as store:
            thread = await store.thread("t")
            other = await store.thread("other")
            for _ in range(20):
                await other.add_message(Message.user("x" * 1_000_000))
            before = await image(server.url)
            await tell(server.url, "CONFIG", "SET", "maxmemory", "12mb")
            with pytest.raises(StoreError, match="maxmemory") as caught:
                await thread.add_messages([Message.user(SECRET)] * 50)
            assert SECRET not in str(caught.value)
            assert await image(server.url) == before
            await store.delete("other")
            await thread.add_message(Message.user("works"))
        assert await said(server.url) == ["works"]
