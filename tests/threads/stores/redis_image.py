"""Looking into a Redis beside the store that is tested."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import cast

from redis.asyncio import Redis


# How the content of a key of each type is read.
_READERS: Mapping[bytes, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        b"hash": ("HGETALL", ()),
        b"list": ("LRANGE", ("0", "-1")),
        b"set": ("SMEMBERS", ()),
        b"string": ("GET", ()),
        b"zset": ("ZRANGE", ("0", "-1", "WITHSCORES")),
    }
)


async def image(url: str) -> dict[bytes, object]:
    """Return every key of the Redis at *url* with its content."""
    async with Redis.from_url(url) as client:
        keys = [key async for key in client.scan_iter()]
        return {key: await _content(client, key) for key in keys}


async def _content(client: Redis, key: bytes) -> object:
    command, options = _READERS[cast("bytes", await client.type(key))]
    ask = cast("Callable[..., Awaitable[object]]", client.execute_command)
    return await ask(command, key, *options)


async def tell(url: str, *words: str | bytes) -> object:
    """Return the answer of the Redis at *url* to one command."""
    async with Redis.from_url(url) as client:
        ask = cast("Callable[..., Awaitable[object]]", client.execute_command)
        return await ask(*words)
