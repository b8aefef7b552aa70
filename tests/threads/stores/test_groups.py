"""Commits that a store makes together: each is told apart from the others, whatever befalls one."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from foldline.errors import (
    CommitUnknownError,
    StoreBusyError,
    StoreError,
    ThreadConflictError,
)
from foldline.testing.storage.check import Lab, Scribe
from foldline.threads.change import Change, Document
from foldline.threads.storage import ThreadStorage
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer
from tests.servers.wire import Fault, Wire, wire_before
from tests.threads.stores.redis_image import tell
from tests.threads.stores.writing import lab_of


TOGETHER = 8


class Place(NamedTuple):
    """A server, and a store that reaches it through a socket file in a folder."""

    socket: Path
    # So many commits are made at once by themselves; those that come meanwhile are made together.
    first: int
    make: Callable[[Path, int], ThreadStorage]


def on_redis(redis: RedisServer) -> Place:
    """Return a place on *redis*."""

    def make(folder: Path, most: int) -> ThreadStorage:
        url = f"unix://{folder / redis.socket.name}"
        return RedisStore(url, max_waiting=most).context.storage

    return Place(redis.socket, 2, make)


def on_postgres(postgres: PostgresServer, dsn: str) -> Place:
    """Return a place in the database at *dsn* of *postgres*."""

    def make(folder: Path, most: int) -> ThreadStorage:
        address = f"{dsn.partition('?')[0]}?host={folder}"
        return PostgresStore(address, pool_size=2, max_waiting=most).context.storage

    return Place(postgres.folder / ".s.PGSQL.5432", 0, make)


@pytest.fixture(params=["postgres", "redis"])
def place(request: pytest.FixtureRequest) -> Place:
    """Return an empty place on a server of each kind."""
    find = request.getfixturevalue
    if request.param == "redis":
        find("redis_url")
        return on_redis(find("redis_server"))
    return on_postgres(find("postgres_server"), find("postgres_dsn"))


class Group(NamedTuple):
    """Writers of as many threads; the commits of the last ones are made together."""

    wire: Wire
    lab: Lab
    first: int
    scribes: Sequence[Scribe]

    def changes(self) -> list[Change]:
        """Return a commit for each, not yet made."""
        return [scribe.change(scribe.drawn(2)) for scribe in self.scribes]

    def start(self, changes: Sequence[Change]) -> list[asyncio.Task[None]]:
        """Begin to make *changes*, all at once."""
        pairs = zip(self.scribes, changes, strict=True)
        commit = self.lab.storage.commit
        return [asyncio.create_task(commit(one.key, change)) for one, change in pairs]

    async def check(self, changes: Sequence[Change], made: Sequence[bool]) -> None:
        """Check that those of *changes* are there whole that were *made*, and of others nothing."""
        for scribe, change, is_made in zip(self.scribes, changes, made, strict=True):
            if is_made:
                scribe.made(change)
            await scribe.verify()


@asynccontextmanager
async def group(place: Place, *, most: int = 100) -> AsyncGenerator[Group]:
    """Yield writers, whose store has made all connections and statements that it needs."""
    async with wire_before(place.socket) as wire:
        storage = place.make(wire.path.parent, most)
        async with lab_of(storage) as lab:
            scribes = [lab.scribe(f"t{number}") for number in range(place.first + TOGETHER)]
            # A statement is prepared when a connection has run it a few times.
            for scribe in scribes * 4:
                await scribe.write(1)
            await asyncio.gather(*(scribe.write(1) for scribe in scribes[: place.first]))
            wire.requests = 0
            yield Group(wire, lab, place.first, scribes)


async def test_those_that_wait_are_made_together(place: Place) -> None:
    """Commits that come while others are made share one request."""
    async with group(place) as them:
        changes = them.changes()
        await asyncio.gather(*them.start(changes))
        requests = them.wire.requests
        await them.check(changes, [True] * len(changes))

    assert requests == them.first + 1


async def test_a_conflict_fails_alone(place: Place) -> None:
    """Of commits made together the one that expects another revision is refused, and no other."""
    async with group(place) as them:
        changes = them.changes()
        changes[-2] = them.scribes[-2].change(them.scribes[-2].drawn(2), revision=1)
        done = await asyncio.gather(*them.start(changes), return_exceptions=True)
        made = [one is None for one in done]
        await them.check(changes, made)

    assert [place for place, one in enumerate(done) if one] == [len(done) - 2]
    assert isinstance(done[-2], ThreadConflictError)
    assert (done[-2].expected, done[-2].actual) == (1, 4)


async def test_an_error_fails_alone(place: Place) -> None:
    """Of commits made together the one that the server cannot store fails, and no other."""
    async with group(place) as them:
        changes = them.changes()
        # PostgreSQL has no text with NUL, and in Redis the rows of a list follow each other.
        odd = [Document("to\0ol", "", b"x")]  # type: ignore[arg-type]
        gap = them.scribes[-2].drawn(2, at=5)
        changes[-2] = them.scribes[-2].change(gap, put=odd)
        done = await asyncio.gather(*them.start(changes), return_exceptions=True)
        await them.check(changes, [one is None for one in done])

    assert [place for place, one in enumerate(done) if one] == [len(done) - 2]
    assert isinstance(done[-2], StoreError)


async def test_a_foreign_key_fails_one_commit(redis_server: RedisServer, redis_url: str) -> None:
    """If another program has spoiled a thread in Redis, its commit fails, and none beside it."""
    async with group(on_redis(redis_server)) as them:
        key = "{foldline}/names/acme/" + them.scribes[-2].key.id
        await tell(redis_url, "SET", key, "x")
        changes = them.changes()
        done = await asyncio.gather(*them.start(changes), return_exceptions=True)

    assert [place for place, one in enumerate(done) if one] == [len(done) - 2]
    assert "another program" in str(done[-2])


async def test_a_cancelled_caller_stops_nobody(place: Place) -> None:
    """A commit whose caller is cancelled while it waits is not made; those beside it are."""
    async with group(place) as them:
        changes = them.changes()
        tasks = them.start(changes)
        await asyncio.sleep(0)
        tasks[-2].cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        await them.check(changes, [one is None for one in done])

    assert [place for place, one in enumerate(done) if one] == [len(done) - 2]
    assert isinstance(done[-2], asyncio.CancelledError)


async def test_a_caller_cancelled_in_the_middle(place: Place) -> None:
    """A commit whose caller is cancelled while it is made is made whole, as those beside it are."""
    async with group(place) as them:
        changes = them.changes()
        await them.wire.strike(Fault.DELAYED_ANSWER, at=them.first)
        tasks = them.start(changes)
        await them.wire.struck.wait()
        tasks[-2].cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        await them.check(changes, [True] * len(changes))

    assert [place for place, one in enumerate(done) if one] == [len(done) - 2]


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
async def test_a_connection_lost_in_the_middle(place: Place, fault: Fault) -> None:
    """If the connection breaks, each commit made together is known to be made, or not."""
    async with group(place) as them:
        changes = them.changes()
        changes[-2] = them.scribes[-2].change(them.scribes[-2].drawn(2), revision=9)
        await them.wire.strike(fault, at=them.first)
        done = await asyncio.gather(*them.start(changes), return_exceptions=True)
        await them.wire.heal()
        await them.check(changes, [one is None for one in done])
        after = them.changes()
        await asyncio.gather(*them.start(after))

    is_made = fault is Fault.LOST_ANSWER
    together = [one for place, one in enumerate(done) if place not in {0, 1, len(done) - 2}]
    assert {type(one) for one in together} == {type(None) if is_made else StoreError}
    assert isinstance(done[-2], ThreadConflictError)


@pytest.mark.slow
async def test_what_may_still_be_made_is_said(place: Place) -> None:
    """Where a store that ends commits cannot say whether one was made, it says that it may be yet."""
    async with group(place) as them:
        storage, scribe = them.lab.storage, them.scribes[0]
        await them.wire.strike(Fault.LOST_ANSWER, lasts=True)
        with pytest.raises(CommitUnknownError) as caught:
            await storage.commit(scribe.key, scribe.change(scribe.drawn(1)))
        await them.wire.heal()

    assert caught.value.may_arrive == storage.ends_commits


async def test_a_full_line(place: Place) -> None:
    """A commit that finds as many waiting as may is refused at once, and the next one is made."""
    async with group(place, most=TOGETHER - 2) as them:
        changes = them.changes()
        tasks = them.start(changes)
        refused = await asyncio.gather(*tasks[-2:], return_exceptions=True)
        others = await asyncio.gather(*tasks[:-2])
        await them.check(changes, [True] * len(others) + [False, False])
        await them.scribes[-1].write(1)
        await them.scribes[-1].verify()

    assert {type(one) for one in refused} == {StoreBusyError}
