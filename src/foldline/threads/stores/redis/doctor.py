"""What a Redis keeps with its settings; in any mode a commit is written whole or not at all."""

from collections.abc import AsyncIterator, Mapping
from typing import Final

from foldline.errors import StoreError
from foldline.threads.storage import Fact
from foldline.threads.stores.line import MOST_WAITING
from foldline.threads.stores.redis.link import RedisLink


# By when a Redis writes to its disk what it has acknowledged: `appendfsync`, or without `appendonly` now
# and then (`save`), or never.
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


async def _durability(link: RedisLink) -> str:
    """Return when the Redis of *link* writes to its disk."""
    appends = await _fact(link, "aof_enabled") == "1"
    try:
        answer: list[bytes] = await link.ask("CONFIG", "GET", "appendfsync" if appends else "save")
    except StoreError:
        return "unknown"
    value = b"".join(answer[1:2]).decode().strip()
    if not appends:
        return "snapshot" if value else "memory"
    return value if value in _LOSSES else "unknown"


async def check_policy(link: RedisLink) -> None:
    """Check that the Redis of *link* drops nothing when its memory is full."""
    policy = await _fact(link, "maxmemory_policy")
    # Those that drop only what expires are harmless: no key of a store expires by itself.
    if policy.startswith("allkeys-"):
        raise StoreError(
            f"Redis may drop threads when its memory is full (maxmemory-policy {policy}): "
            "set it to noeviction, or pass allow_eviction=True if threads may get lost"
        )


async def redis_facts(url: str) -> AsyncIterator[Fact]:
    """Yield the facts about the server at *url*."""
    link = RedisLink(url, timeout=_TIMEOUT, max_waiting=MOST_WAITING)
    link.open()
    try:
        version = await _fact(link, "redis_version")
        policy = await _fact(link, "maxmemory_policy")
        durability = await _durability(link)
    finally:
        await link.close()
    yield Fact(name="Redis", value=version)
    advice = "set appendonly yes and appendfsync always to lose nothing"
    yield Fact(
        name="persistence",
        value=f"{durability}; what may be lost: {_LOSSES[durability]}",
        advice="" if durability == "always" else advice,
        is_danger=durability not in _HARMLESS,
    )
    evicts = policy.startswith("allkeys-")
    advice = "set it to noeviction: Redis may drop threads when its memory is full"
    yield Fact(
        name="maxmemory-policy", value=policy, advice=advice if evicts else "", is_danger=evicts
    )


async def _fact(link: RedisLink, name: str) -> str:
    facts: dict[str, object] = await link.ask("INFO")
    return str(facts.get(name, "unknown"))
