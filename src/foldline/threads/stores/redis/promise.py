"""
What a Redis keeps with its settings.

In any mode a commit is written whole or not at all. A crash loses the newest commits: those that
remain are a consistent beginning.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast

from msgspec import Struct

from foldline.errors import StoreError
from foldline.threads.stores.redis.link import RedisLink


__all__ = ["RedisDurability", "RedisPromise", "check_policy", "read_facts", "read_promise"]


RedisDurability: TypeAlias = Literal["always", "everysec", "no", "snapshot", "memory", "unknown"]
"""
When a Redis writes to its disk what it has acknowledged.

`always`: before it answers (`appendfsync always`). `everysec`: once a second. `no`: when the
operating system chooses. `snapshot`: now and then, all of it (`save`, without `appendonly`).
`memory`: never. `unknown`: this user may not read the settings.
"""

_LOSSES: Mapping[RedisDurability, str] = MappingProxyType(
    {
        "always": "nothing that was acknowledged",
        "everysec": "a kill of Redis or a power cut: commits of the last two seconds",
        "no": "a kill of Redis: nothing; a power cut: commits of the last half minute or more",
        "snapshot": "any crash: every commit since the last snapshot",
        "memory": "any end of Redis: everything",
        "unknown": "unknown: this user may not read the settings (CONFIG GET)",
    }
)
_MODES: Mapping[bytes, RedisDurability] = MappingProxyType(
    {b"always": "always", b"everysec": "everysec", b"no": "no"}
)
_FIELD: Final = re.compile(rb"^(\w+):([^\r\n]*)", re.MULTILINE)


class RedisPromise(Struct, frozen=True):
    """What a Redis may lose."""

    durability: RedisDurability
    """When it writes to its disk."""

    @property
    def loss(self) -> str:
        """What a crash may lose, in words; a failover loses what the replica has not received."""
        return _LOSSES[self.durability]


async def read_facts(link: RedisLink, section: bytes) -> dict[str, str]:
    """
    Return the values of one *section* of `INFO` by their names; empty if it is not shown.

    Raises:
        StoreError: Redis cannot be reached.
    """
    answer = await link.ask(b"INFO", section)
    found = _FIELD.findall(answer) if isinstance(answer, bytes) else []
    return {name.decode(): value.decode("utf-8", "replace") for name, value in found}


async def read_promise(link: RedisLink) -> RedisPromise:
    """
    Return what the Redis of *link* may lose.

    Raises:
        StoreError: It cannot be reached.
    """
    facts = await read_facts(link, b"persistence")
    appends = facts.get("aof_enabled") == "1"
    try:
        answer = await link.ask(b"CONFIG", b"GET", b"appendfsync" if appends else b"save")
    except StoreError:
        return RedisPromise("unknown")
    values = cast("list[bytes]", answer)
    found = values[1] if len(values) > 1 else b""
    if appends:
        return RedisPromise(_MODES.get(found, "unknown"))
    return RedisPromise("snapshot" if found.strip() else "memory")


async def check_policy(link: RedisLink) -> None:
    """
    Check that the Redis of *link* drops nothing when its memory is full.

    Policies that drop only what expires are harmless: no key of a store expires by itself.

    Raises:
        StoreError: It may drop threads, or cannot be reached.
    """
    policy = (await read_facts(link, b"memory")).get("maxmemory_policy", "")
    if policy.startswith("allkeys-"):
        message = (
            f"Redis may drop threads when its memory is full (maxmemory-policy {policy}): "
            "set it to noeviction, or pass allow_eviction=True if threads may get lost"
        )
        raise StoreError(message)
