"""Bringing a Redis store of layout 1 up to date."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from math import inf

import pytest

from foldline.errors import StoreVersionError
from foldline.testing.storage.check import Lab
from foldline.threads.stores.flatten import Branch
from foldline.threads.stores.redis.link import RedisLink
from foldline.threads.stores.redis.migration import ordered
from foldline.threads.stores.redis.store import RedisStore
from tests.servers.redis import RedisServer
from tests.threads.stores.recorded import Json, materialize_redis, open_store
from tests.threads.stores.recorded_answers import answers
from tests.threads.stores.redis_image import image, tell


NAME = "redis-1"
KINDS = {"epochs", "format", "live", "names", "replaced", "systems", "tenants", "thread", "threads"}
# How much of a migration is done when it is killed, in the slow tests.
SHARES = (0.02, 0.6, 0.8, 0.95, 0.99)


class Killed(BaseException):
    """What ends a migration in these tests."""


@contextmanager
def counted(most: float = inf) -> Generator[list[str]]:
    """Yield the calls to any Redis; the program is killed after so many."""
    made: list[str] = []

    def watched(call: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def watching(*given: object, **options: object) -> object:
            if len(made) >= most:
                raise Killed
            made.append(call.__name__)
            return await call(*given, **options)

        return watching

    with pytest.MonkeyPatch.context() as patch:
        for name in ("ask", "run"):
            patch.setattr(RedisLink, name, watched(getattr(RedisLink, name)))
        yield made


async def migrate(url: str) -> None:
    """Open and close a store."""
    storage = RedisStore(url).context.storage
    await storage.open()
    await storage.close()


async def answers_of(url: str) -> dict[str, Json]:
    """Return everything that can be read in the store at *url*."""
    async with open_store(NAME, url) as store:
        return await answers(store)


@pytest.fixture(scope="module")
def migrated(redis_server: RedisServer) -> tuple[int, dict[str, Json]]:
    """Return how many calls a migration takes, and what can be read after it."""
    redis_server.flush()

    async def live() -> tuple[int, dict[str, Json]]:
        await materialize_redis(NAME, redis_server.url)
        with counted() as made:
            await migrate(redis_server.url)
        kinds = {key.decode().split("/")[1] for key in await image(redis_server.url)}
        assert kinds <= KINDS, "keys of the old layout"
        return len(made), await answers_of(redis_server.url)

    return asyncio.run(live())


@pytest.mark.parametrize(
    "share", [0.3, 0.9, *(pytest.param(one, marks=pytest.mark.slow) for one in SHARES)]
)
async def test_a_killed_migration_continues(
    migrated: tuple[int, dict[str, Json]], redis_url: str, share: float
) -> None:
    """A migration that is killed at any call is ended by the next open, with the same answers."""
    calls, wanted = migrated
    await materialize_redis(NAME, redis_url)
    with counted(int(calls * share)), pytest.raises(Killed):
        await migrate(redis_url)

    assert await tell(redis_url, "GET", "{foldline}/format") in {b"1", b"migrating"}
    assert await answers_of(redis_url) == wanted
    assert await tell(redis_url, "GET", "{foldline}/format") == b"2"


async def test_a_store_that_is_being_migrated_is_refused(redis_url: str) -> None:
    """While a migration is unfinished a store that is already open neither reads nor writes."""
    storage = RedisStore(redis_url).context.storage
    await storage.open()
    scribe = Lab(storage, lambda: storage, tenant="acme").scribe()
    await scribe.write(1)
    await tell(redis_url, "SET", "{foldline}/format", "migrating")
    for call in (storage.load(scribe.key), scribe.write(1), storage.delete(scribe.key)):
        with pytest.raises(StoreVersionError):
            await call
    await storage.close()


async def test_migrations_at_once(migrated: tuple[int, dict[str, Json]], redis_url: str) -> None:
    """Programs that open an old store at once all find it migrated."""
    await materialize_redis(NAME, redis_url)
    await asyncio.gather(*(migrate(redis_url) for _ in range(3)))

    assert (await answers_of(redis_url)) == migrated[1]


@pytest.mark.parametrize(
    ("links", "current"),
    [
        # Name, branch before it, first number; in the order in which they were opened.
        (("a  0", "b a 5", "c b 8", "d a 3"), "d"),
        (("a x 9", "b a 12", "c x 4"), "c"),
        (("a  0", "b a 2", "c a 2"), "c"),
        (("b  0", "a  0", "c a 3"), "c"),
    ],
    ids=["tree", "fork", "same place", "rewound to the start"],
)
def test_branches_are_put_in_order(links: tuple[str, ...], current: str) -> None:
    """The order of a thread's branches follows from where they begin, and from the newest."""
    parts = [one.split(" ") for one in links]
    branches = [Branch(name, before or None, int(at), int(at) + 1) for name, before, at in parts]

    found = [one.name for one in ordered(reversed(branches), current)]

    assert found == [name for name, _, _ in parts]
