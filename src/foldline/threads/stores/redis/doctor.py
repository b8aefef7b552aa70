"""The environment of a Redis store: the server and its settings."""

from collections.abc import AsyncIterator

from foldline.threads.stores.fact import Fact
from foldline.threads.stores.redis.link import RedisLink
from foldline.threads.stores.redis.promise import RedisPromise, read_facts, read_promise


__all__ = ["redis_facts"]


_TIMEOUT = 10.0
_HARMLESS = ("always", "everysec", "unknown")
_UNKNOWN = "unknown"


async def redis_facts(url: str) -> AsyncIterator[Fact]:
    """
    Yield the facts about the server at *url*.

    Raises:
        MissingExtraError: The `redis` extra is not installed.
        StoreError: The server cannot be reached.
    """
    link = RedisLink(url, timeout=_TIMEOUT)
    link.open()
    try:
        facts = {**await read_facts(link, b"server"), **await read_facts(link, b"memory")}
        promise = await read_promise(link)
    finally:
        await link.close()
    yield Fact(name="Redis", value=facts.get("redis_version", _UNKNOWN))
    yield _persistence(promise)
    yield _policy(facts.get("maxmemory_policy", _UNKNOWN))


def _persistence(promise: RedisPromise) -> Fact:
    advice = "set appendonly yes and appendfsync always to lose nothing"
    return Fact(
        name="persistence",
        value=f"{promise.durability}; what may be lost: {promise.loss}",
        advice="" if promise.durability == "always" else advice,
        is_danger=promise.durability not in _HARMLESS,
    )


def _policy(policy: str) -> Fact:
    evicts = policy.startswith("allkeys-")
    advice = "set it to noeviction: Redis may drop threads when its memory is full"
    return Fact(
        name="maxmemory-policy", value=policy, advice=advice if evicts else "", is_danger=evicts
    )
