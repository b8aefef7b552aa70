"""`foldline repair` for a store on a server."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from foldline.threads.stores.redis.store import RedisStore
from tests.threads.stores.redis_image import image, tell


Run = Callable[..., Any]
Image = dict[bytes, object]

THREADS = "{foldline}/threads/default"
BRANCH = "{foldline}/branch/default/"


def fill(url: str) -> Image:
    """Make the threads one and two, and return what Redis holds then."""

    async def made() -> Image:
        async with RedisStore(url) as store:
            for name in ("one", "two"):
                await (await store.thread(name)).set_metadata({"name": name})
        return await image(url)

    return asyncio.run(made())


async def _damage(url: str) -> None:
    """Take one thread off the list, and give the branch of the other one a number that is none."""
    await tell(url, "ZREM", THREADS, "one")
    branch = await tell(url, "HGET", "{foldline}/thread/default/two", "branch")
    assert isinstance(branch, bytes)
    await tell(url, "HSET", f"{BRANCH}{branch.decode()}", "at", "0.5")


@pytest.fixture
def damaged(redis_url: str) -> Image:
    """Return what Redis held before the damage."""
    before = fill(redis_url)
    asyncio.run(_damage(redis_url))
    return before


def test_what_is_damaged_below_the_threads_is_told(
    run: Run, redis_url: str, damaged: Image
) -> None:
    """
    Without --write it is told, with the code 1 and the advice to write, and nothing is changed.
    """
    changed = asyncio.run(image(redis_url))

    told = run("repair", "--store", redis_url)

    assert told.code == 1
    assert "thread 'one' is not in the list of its tenant 'default'" in told.out
    assert "with --write the store is mended before its threads" in told.out.splitlines()[-1]
    assert asyncio.run(image(redis_url)) == changed != damaged


def test_what_is_below_the_threads_is_mended_before_them(
    run: Run, redis_url: str, damaged: Image
) -> None:
    """With --write every key is as before, no thread has lost anything, and all is whole."""
    repaired = run("repair", "--store", redis_url, "--write", "--json")

    document = repaired.json()
    assert repaired.code == 0
    assert (document["written"], document["threads"], document["store"]) == (True, [], [])
    assert {one["kind"] for one in document["mended"]} == {"store"}
    assert asyncio.run(image(redis_url)) == damaged
    assert run("verify", "--store", redis_url).code == 0
