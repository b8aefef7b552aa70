"""Redis as the tests run it."""

import asyncio
import os
import signal
from collections.abc import Awaitable
from typing import cast

import pytest
from redis.asyncio import Redis

from tests.servers.redis import RedisServer, Sync


async def _push(url: str, *values: int) -> None:
    async with Redis.from_url(url) as client:
        for value in values:
            await client.rpush("kept", value)


async def _pushed(url: str) -> list[int]:
    async with Redis.from_url(url) as client:
        found = await cast("Awaitable[list[bytes]]", client.lrange("kept", 0, -1))
        return [int(value) for value in found]


async def _setting(url: str, name: str) -> str:
    async with Redis.from_url(url, decode_responses=True) as client:
        return str((await client.config_get(name))[name])


async def _version(url: str) -> str:
    async with Redis.from_url(url) as client:
        return str((await client.info("server"))["redis_version"])


def test_version(redis_url: str) -> None:
    """The server is Redis 6.2 or newer."""
    version = asyncio.run(_version(redis_url))

    assert tuple(int(part) for part in version.split(".")[:2]) >= (6, 2), version


@pytest.mark.parametrize(
    ("name", "value"), [("appendfsync", "always"), ("appendonly", "yes"), ("port", "0")]
)
def test_settings(redis_url: str, name: str, value: str) -> None:
    """The server of the session flushes every write and listens at no port."""
    assert asyncio.run(_setting(redis_url, name)) == value


def test_writes_survive_a_kill(redis_server: RedisServer, redis_url: str) -> None:
    """What was answered before a kill is there after the next start."""
    asyncio.run(_push(redis_url, *range(50)))

    redis_server.kill()
    killed = redis_server.pid
    redis_server.start()

    assert killed is None
    assert asyncio.run(_pushed(redis_url)) == [*range(50)]


def test_restart_keeps_the_data(redis_server: RedisServer, redis_url: str) -> None:
    """A restart gives another process with the same data at the same address."""
    asyncio.run(_push(redis_url, 7))
    before = redis_server.pid

    redis_server.restart()

    assert redis_server.pid not in {None, before}
    assert asyncio.run(_pushed(redis_url)) == [7]


@pytest.mark.parametrize("_attempt", range(2))
def test_server_is_empty(redis_url: str, _attempt: int) -> None:
    """Every test has a Redis without a key."""
    assert asyncio.run(_pushed(redis_url)) == []

    asyncio.run(_push(redis_url, 1))

    assert asyncio.run(_pushed(redis_url)) == [1]


def test_stopped_server_is_woken(redis_server: RedisServer) -> None:
    """A server that one test left killed runs again, emptied, for the next one."""
    redis_server.kill()

    redis_server.flush()

    assert asyncio.run(_pushed(redis_server.url)) == []


@pytest.mark.parametrize("mode", ["always", "everysec", "no"])
def test_close_leaves_nothing(mode: Sync) -> None:
    """
    A second server is separate, flushes as configured, and leaves neither process nor folder.
    """
    with RedisServer(appendfsync=mode) as server:
        pid = server.pid
        assert pid is not None
        assert asyncio.run(_setting(server.url, "appendfsync")) == mode

    assert not server.folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIG_DFL)


def test_second_start_is_refused(redis_server: RedisServer, redis_url: str) -> None:
    """A server that runs is not started again."""
    with pytest.raises(RuntimeError, match="runs already"):
        redis_server.start()

    assert asyncio.run(_pushed(redis_url)) == []
