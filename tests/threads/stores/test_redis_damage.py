"""
One damaged thread in a Redis, beside others.
"""

import asyncio
from datetime import timedelta

import pytest

from foldline.errors import StoreCorruptError
from foldline.history.messages import Message
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.verification import verify_store
from tests.threads.canaries import NOW
from tests.threads.stores.redis_image import tell


DAY = timedelta(days=1)
THREAD = "{foldline}/thread/default/b"
NAMES = "{foldline}/names/default/b"

Commands = tuple[tuple[str | bytes, ...], ...]

DAMAGE: dict[str, Commands] = {
    "a document": (("HDEL", THREAD, "metadata/"),),
    "a document, another beside": (("HDEL", THREAD, "metadata/"), ("HSET", THREAD, "odd", "x")),
    "the head": (("HDEL", THREAD, "head"),),
    "the head, another beside": (("HDEL", THREAD, "head"), ("HSET", THREAD, "odd", "x")),
    "the revision": (("HDEL", THREAD, "revision"),),
    "an odd revision": (("HSET", THREAD, "revision", "x"),),
    "an odd expiry": (("HSET", THREAD, "expires", "x"),),
    "an odd name": (
        ("HSET", THREAD, b"metadata/\xff", "x"),
        ("ZADD", NAMES, "0", b"metadata/\xff"),
    ),
    "the names": (("DEL", NAMES),),
    "other names": (("SET", NAMES, "x"),),
    "another thread": (("SET", THREAD, "x"),),
}


async def prepare(url: str, commands: Commands) -> None:
    """
    Make the threads a, b and c, which live for a day, and damage b.
    """
    async with RedisStore(url, clock=lambda: NOW) as store:
        for name in "abc":
            thread = await store.thread(name, ttl=DAY)
            await thread.set_metadata({"a": 1})
            await thread.add_message(Message.user("x"))
    for words in commands:
        await tell(url, *words)


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_others_are_listed(redis_url: str, damage: str) -> None:
    """
    A list passes a damaged thread over, and asking for it alone tells of the damage.
    """

    async def live() -> list[str]:
        await prepare(redis_url, DAMAGE[damage])
        async with RedisStore(redis_url, clock=lambda: NOW) as store:
            with pytest.raises(StoreCorruptError):
                await store.find("b")
            return [thread.id async for thread in store.threads()]

    assert asyncio.run(live()) == ["a", "c"]


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_others_expire(redis_url: str, damage: str) -> None:
    """
    A damaged thread stays, and the expired ones before and behind it go.
    """

    async def live() -> tuple[int, int, list[str]]:
        await prepare(redis_url, DAMAGE[damage])
        async with RedisStore(redis_url, clock=lambda: NOW + 2 * DAY) as store:
            idle = await store.delete_inactive(DAY, dry_run=True)
            purged = await store.purge_expired()
            left = await store.backing.storage.threads("default")
            return idle, purged, [stored.key.id for stored in left]

    assert asyncio.run(live()) == (2, 2, ["b"])


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_damaged_one_is_named(redis_url: str, damage: str) -> None:
    """
    The verification of a store names the damaged thread and finds the others whole.
    """

    async def live() -> list[tuple[str, int, bool]]:
        await prepare(redis_url, DAMAGE[damage])
        async with RedisStore(redis_url) as store:
            return [
                ("" if one.key is None else one.key.id, one.messages, bool(one.faults))
                async for one in verify_store(store)
            ]

    assert asyncio.run(live()) == [("a", 1, False), ("b", 0, True), ("c", 1, False)]
