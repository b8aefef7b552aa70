"""What endangers a Redis store: the modes of the server."""

from collections.abc import AsyncIterator

from foldline.threads.finding import Finding, Weight
from foldline.threads.stores.redis.facts import read_facts
from foldline.threads.stores.redis.link import RedisLink
from foldline.threads.stores.redis.promise import RedisPromise, read_promise


__all__ = ["diagnose_redis"]


_TIMEOUT = 10.0
_ASKED = "appendonly yes and appendfsync always keep everything"


async def diagnose_redis(url: str) -> AsyncIterator[Finding]:
    """
    Give the findings about the server at *url*.

    Raises:
        MissingExtraError: The `redis` extra is not installed.
        StoreError: The server cannot be asked.
    """
    link = RedisLink(url, timeout=_TIMEOUT)
    link.open()
    try:
        facts = {**await read_facts(link, b"server"), **await read_facts(link, b"memory")}
        promise = await read_promise(link)
    finally:
        await link.close()
    yield Finding(name="Redis", value=facts.get("redis_version", "not told"))
    yield _durability(promise)
    yield _policy(facts)


def _durability(promise: RedisPromise) -> Finding:
    weights: dict[str, Weight] = {"always": "fine", "everysec": "note", "unknown": "note"}
    weight = weights.get(promise.durability, "danger")
    return Finding(
        name="persistence",
        value=f"{promise.durability}; what may be lost: {promise.loss}",
        weight=weight,
        advice="" if weight == "fine" else _ASKED,
    )


def _policy(facts: dict[str, str]) -> Finding:
    policy = facts.get("maxmemory_policy", "not told")
    is_bad = policy.startswith("allkeys-")
    return Finding(
        name="maxmemory-policy",
        value=policy,
        weight="danger" if is_bad else "fine",
        advice="Redis may drop threads when its memory is full: set it to noeviction"
        if is_bad
        else "",
    )
