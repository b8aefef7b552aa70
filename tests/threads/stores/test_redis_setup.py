"""The settings of a Redis: what a store requires, and what it says about them."""

import asyncio
import sys

import pytest

from foldline.errors import ConfigError, MissingExtraError, StoreError, StoreVersionError
from foldline.history.messages import Message
from foldline.threads.stores.redis.doctor import redis_facts
from foldline.threads.stores.redis.store import RedisStore
from tests.servers.redis import RedisServer, Sync
from tests.threads.stores.redis_image import tell


async def test_newer_format_is_refused(redis_url: str) -> None:
    """A newer store is not opened, nor read or written by a store that is open."""
    async with RedisStore(redis_url) as store:
        thread = await store.thread("t")
        await tell(redis_url, "SET", "{foldline}/format", "3")
        with pytest.raises(StoreVersionError) as caught:
            await RedisStore(redis_url).open()
        assert (caught.value.found, caught.value.known) == (3, 2)
        with pytest.raises(StoreVersionError):
            await thread.add_message(Message.user("x"))
        with pytest.raises(StoreVersionError):
            await store.find("t")


@pytest.mark.parametrize("odd", ["x", "", "9" * 5000])
async def test_odd_format_is_refused(redis_url: str, odd: str) -> None:
    """A format that is not the number of any format is refused as a newer one."""
    await tell(redis_url, "SET", "{foldline}/format", odd)

    with pytest.raises(StoreVersionError):
        await RedisStore(redis_url).open()


async def test_eviction_is_refused() -> None:
    """A Redis that may drop threads when its memory is full is refused, unless that is allowed."""
    with RedisServer() as server:
        await tell(server.url, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        with pytest.raises(StoreError, match="noeviction"):
            await RedisStore(server.url).open()
        async with RedisStore(server.url, allow_eviction=True) as store:
            await store.thread("t")
        await tell(server.url, "CONFIG", "SET", "maxmemory-policy", "volatile-lru")
        async with RedisStore(server.url) as store:
            assert await store.find("t") is not None


async def persistence(url: str) -> str:
    (found,) = [one.value async for one in redis_facts(url) if one.name == "persistence"]
    return found


@pytest.mark.parametrize(
    ("mode", "save", "expected"),
    [
        ("always", "", "always"),
        ("everysec", "", "everysec"),
        ("no", "", "no"),
        (None, "60 1", "snapshot"),
        (None, "", "memory"),
    ],
)
async def test_what_may_be_lost(mode: Sync | None, save: str, expected: str) -> None:
    """The doctor reports what a Redis may lose with the current settings."""
    with RedisServer(appendfsync=mode or "always") as server:
        await tell(server.url, "CONFIG", "SET", "appendonly", "no" if mode is None else "yes")
        await tell(server.url, "CONFIG", "SET", "save", save)
        found = await persistence(server.url)

    assert found.startswith(f"{expected}; what may be lost: ")
    assert ("nothing that was acknowledged" in found) is (expected == "always")


async def test_what_a_silent_redis_may_lose() -> None:
    """If a user may not read the settings, the durability is unknown."""
    with RedisServer() as server:
        rights = ("~*", "&*", "+@all", "-config")
        await tell(server.url, "ACL", "SETUSER", "app", "on", ">secret", *rights)
        assert (await persistence(f"unix://app:secret@{server.socket}")).startswith("unknown; ")


@pytest.mark.parametrize(
    "url",
    ["http://h", "nonsense", "", "redis://u:hush@h:x/", "redis://h?hush=1", "redis://h?db=hush"],
)
def test_odd_addresses(url: str) -> None:
    """An invalid address is refused without quoting it."""
    with pytest.raises(ConfigError) as caught:
        RedisStore(url)

    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("prefix", ["", "a/b", "{a}", "\ud800", "a" * 201, None])
def test_odd_prefixes(prefix: object) -> None:
    """A prefix that is not a plain name is refused."""
    with pytest.raises(ConfigError, match="prefix"):
        RedisStore("redis://h", prefix=prefix)  # type: ignore[arg-type]


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the driver the error names the extra, at once."""
    for name in ("redis", "redis.asyncio"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(MissingExtraError) as caught:
        RedisStore("redis://h")

    assert (caught.value.package, caught.value.extra) == ("redis", "redis")


def test_store_in_several_loops(redis_url: str) -> None:
    """A store may be opened again, in another event loop."""
    store = RedisStore(redis_url)

    async def live() -> int:
        async with store:
            await store.open()
            thread = await store.thread("t")
            await thread.add_message(Message.user("x"))
            return thread.head.count

    assert [asyncio.run(live()) for _ in range(3)] == [1, 2, 3]
