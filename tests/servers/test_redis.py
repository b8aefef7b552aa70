"""Redis as the tests run it."""

import asyncio

import pytest
from redis.asyncio import Redis

from tests.servers.redis import RedisServer
from tests.threads.stores.redis_image import tell


async def _setting(url: str, name: str) -> str:
    async with Redis.from_url(url, decode_responses=True) as client:
        return str((await client.config_get(name))[name])


@pytest.mark.parametrize(
    ("name", "value"), [("appendfsync", "always"), ("appendonly", "yes"), ("port", "0")]
)
def test_settings(redis_url: str, name: str, value: str) -> None:
    """The server of the session flushes every write and listens at no port."""
    assert asyncio.run(_setting(redis_url, name)) == value


def test_stopped_server_is_woken(redis_server: RedisServer) -> None:
    """A server that one test left killed runs again, emptied, for the next one."""
    asyncio.run(tell(redis_server.url, "SET", "kept", "x"))
    redis_server.kill()

    redis_server.flush()

    assert asyncio.run(tell(redis_server.url, "GET", "kept")) is None
