"""
What a Redis keeps, as it is set up.

Whatever the mode, a commit is written as a whole or not at all, and what a crash takes are the
newest commits: those that stay are a consistent beginning.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, cast

from msgspec import Struct

from foldline.errors import StoreError
from foldline.threads.stores.redis.facts import read_facts
from foldline.threads.stores.redis.link import RedisLink


__all__ = ["RedisDurability", "RedisPromise", "check_policy", "read_promise"]


RedisDurability: TypeAlias = Literal["always", "everysec", "no", "snapshot", "memory", "unknown"]
"""
When a Redis writes to its disk what it has acknowledged.

`always`: before it answers (`appendfsync always`). `everysec`: once a second. `no`: when the
operating system likes. `snapshot`: now and then, all of it (`save`, without `appendonly`).
`memory`: never. `unknown`: it does not say.
"""

_LOSSES: Mapping[RedisDurability, str] = MappingProxyType(
    {
        "always": "nothing that was acknowledged",
        "everysec": "a kill of Redis or a power cut: commits of the last two seconds",
        "no": "a kill of Redis: nothing; a power cut: commits of the last half minute or more",
        "snapshot": "any crash: every commit since the last snapshot",
        "memory": "any end of Redis: everything",
        "unknown": "cannot be told: this user may not read the settings (CONFIG GET)",
    }
)
_MODES: Mapping[bytes, RedisDurability] = MappingProxyType(
    {b"always": "always", b"everysec": "everysec", b"no": "no"}
)


class RedisPromise(Struct, frozen=True):
    """What a Redis may lose."""

    durability: RedisDurability
    """When it writes to its disk."""

    @property
    def loss(self) -> str:
        """
        What a crash may take, in words; a failover takes what the replica has not yet received.
        """
        return _LOSSES[self.durability]


async def read_promise(link: RedisLink) -> RedisPromise:
    """
    Return what the Redis behind *link* may lose.

    Raises:
        StoreError: It cannot be reached.
    """
    facts = await read_facts(link, b"persistence")
    appends = facts.get("aof_enabled") == "1"
    try:
        found = await _setting(link, b"appendfsync" if appends else b"save")
    except StoreError:
        return RedisPromise("unknown")
    if appends:
        return RedisPromise(_MODES.get(found, "unknown"))
    return RedisPromise("snapshot" if found.strip() else "memory")


async def check_policy(link: RedisLink) -> None:
    """
    See that the Redis behind *link* drops nothing when its memory is full.

    Policies that drop only what expires are harmless: no key of a store expires by itself.

    Raises:
        StoreError: It may drop threads, or cannot be reached.
    """
    policy = (await read_facts(link, b"memory")).get("maxmemory_policy", "")
    if policy.startswith("allkeys-"):
        message = (
            f"Redis may drop threads when its memory is full (maxmemory-policy {policy}): "
            "set it to noeviction, or pass allow_eviction=True for threads that may get lost"
        )
        raise StoreError(message)


async def _setting(link: RedisLink, name: bytes) -> bytes:
    answer = await link.ask(b"CONFIG", b"GET", name)
    values = cast("list[bytes]", answer)
    return values[1] if len(values) > 1 else b""
