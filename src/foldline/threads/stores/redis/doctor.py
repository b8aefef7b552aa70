"""What a Redis keeps with its settings; in any mode a commit is written whole or not at all."""

from collections.abc import AsyncIterator, Mapping
from typing import Final, Literal, TypeAlias, cast

from msgspec import Struct

from foldline.errors import StoreError
from foldline.threads.storage import Fact
from foldline.threads.stores.line import MOST_WAITING
from foldline.threads.stores.redis.link import RedisLink


RedisDurability: TypeAlias = Literal["always", "everysec", "no", "snapshot", "memory", "unknown"]
"""
When a Redis writes to its disk what it has acknowledged.

`always`: before it answers (`appendfsync always`). `everysec`: once a second. `no`: when the
operating system chooses. `snapshot`: now and then, all of it (`save`, without `appendonly`).
`memory`: never. `unknown`: this user may not read the settings.
"""

_LOSSES: Mapping[str, str] = {
    "always": "nothing that was acknowledged",
    "everysec": "a kill of Redis or a power cut: commits of the last two seconds",
    "no": "a kill of Redis: nothing; a power cut: commits of the last half minute or more",
    "snapshot": "any crash: every commit since the last snapshot",
    "memory": "any end of Redis: everything",
    "unknown": "unknown: this user may not read the settings (CONFIG GET)",
}
_HARMLESS: Final = ("always", "everysec", "unknown")
_TIMEOUT: Final = 10.0


class RedisPromise(Struct, frozen=True):
    """What a Redis may lose."""

    durability: RedisDurability
    """When it writes to its disk."""

    @property
    def loss(self) -> str:
        """What a crash may lose, in words; a failover loses what the replica has not received."""
        return _LOSSES[self.durability]


async def read_promise(link: RedisLink) -> RedisPromise:
    """Return what the Redis of *link* may lose."""
    appends = await _fact(link, "aof_enabled") == "1"
    try:
        answer: list[bytes] = await link.ask("CONFIG", "GET", "appendfsync" if appends else "save")
    except StoreError:
        return RedisPromise("unknown")
    value = b"".join(answer[1:2]).decode().strip()
    if not appends:
        return RedisPromise("snapshot" if value else "memory")
    return RedisPromise(cast("RedisDurability", value if value in _LOSSES else "unknown"))


async def check_policy(link: RedisLink) -> None:
    """Check that the Redis of *link* drops nothing when its memory is full."""
    policy = await _fact(link, "maxmemory_policy")
    # Those that drop only what expires are harmless: no key of a store expires by itself.
    if policy.startswith("allkeys-"):
        message = (
            f"Redis may drop threads when its memory is full (maxmemory-policy {policy}): "
            "set it to noeviction, or pass allow_eviction=True if threads may get lost"
        )
        raise StoreError(message)


async def redis_facts(url: str) -> AsyncIterator[Fact]:
    """Yield the facts about the server at *url*."""
    link = RedisLink(url, timeout=_TIMEOUT, max_waiting=MOST_WAITING)
    link.open()
    try:
        version = await _fact(link, "redis_version")
        policy = await _fact(link, "maxmemory_policy")
        promise = await read_promise(link)
    finally:
        await link.close()
    yield Fact(name="Redis", value=version)
    advice = "set appendonly yes and appendfsync always to lose nothing"
    yield Fact(
        name="persistence",
        value=f"{promise.durability}; what may be lost: {promise.loss}",
        advice="" if promise.durability == "always" else advice,
        is_danger=promise.durability not in _HARMLESS,
    )
    evicts = policy.startswith("allkeys-")
    advice = "set it to noeviction: Redis may drop threads when its memory is full"
    yield Fact(
        name="maxmemory-policy", value=policy, advice=advice if evicts else "", is_danger=evicts
    )


async def _fact(link: RedisLink, name: str) -> str:
    facts: dict[str, object] = await link.ask("INFO")
    return str(facts.get(name, "unknown"))
