"""
The network between a store and its server, broken at every request of everything a store does.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from foldline.errors import CommitUnknownError, StoreError
from foldline.history.messages import Message
from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer
from tests.servers.wire import Fault, Wire, wire_before
from tests.threads.stores.operations import OPERATIONS, prepare, texts_of


TIMEOUT = 0.5
# A machine under load is late itself.
SLACK = 0.7
GRACE = 1.0
# What a client of PostgreSQL waits at least for a connection that never comes.
RECONNECT = 2.0
KINDS = ("postgres", "redis")
# The requests of the first opening: on PostgreSQL the migrations are among them.
OPENING = {"postgres": 19, "redis": 7}
HARMLESS = {Fault.ENDED_BEFORE, Fault.DELAYED_ANSWER, Fault.DRIPPED_ANSWER}
# The time limit of those who are not cut off.
PATIENCE = 10.0
ROOM = 8
# Of so many openings one is run where not all are.
STRIDE = 4

_EACH_KIND = pytest.mark.parametrize("kind", KINDS)
_EACH_FAULT = pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.value)
_EACH_FAULT_ON_THE_WAY = pytest.mark.parametrize(
    "fault",
    [fault for fault in Fault if fault is not Fault.ENDED_BEFORE],
    ids=lambda fault: fault.value,
)
# These take seconds, so that half of them are left to the long run.
_EACH_LASTING_FAULT = pytest.mark.parametrize(
    "fault",
    [
        Fault.LOST_ANSWER,
        Fault.SWALLOWED_ANSWER,
        pytest.param(Fault.LOST_REQUEST, marks=pytest.mark.long),
        pytest.param(Fault.SWALLOWED_REQUEST, marks=pytest.mark.long),
    ],
    ids=lambda fault: fault.value,
)


class Case(NamedTuple):
    """One fault at one request of one operation."""

    kind: str
    name: str
    at: int
    fault: Fault
    lasts: bool = False

    def __str__(self) -> str:
        return f"{self.name}, request {self.at}"


class Place(NamedTuple):
    """A server, and how to make a store that reaches it through a socket file in a folder."""

    socket: Path
    make: Callable[[Path, float], ThreadStore]


Places = Callable[[], Place]


def calls(kind: str, fault: Fault) -> list[Case]:
    """Return the cases of one fault, one for each request of each operation."""
    return [
        Case(kind, name, at, fault)
        for name, operation in OPERATIONS.items()
        for at in range(operation.requests[KINDS.index(kind)])
        if at == 0 or fault is not Fault.ENDED_BEFORE
    ]


def openings(kind: str, fault: Fault) -> list[Case]:
    """Return the cases of one fault, one for each request of the first opening."""
    return [Case(kind, "open", at, fault) for at in range(OPENING[kind])]


@pytest.fixture(scope="module")
def postgres_places(postgres_server: PostgresServer) -> Iterator[Places]:
    """Return what gives empty places in a PostgreSQL: schemas in a database of these tests."""
    numbers = count(1)
    with postgres_server.database() as dsn:
        database = dsn.partition("?")[0]

        def place() -> Place:
            schema = f"case_{next(numbers)}"

            def make(folder: Path, timeout: float) -> ThreadStore:
                address = f"{database}?host={folder}"
                return PostgresStore(address, schema=schema, timeout=timeout, pool_size=1)

            return Place(postgres_server.folder / ".s.PGSQL.5432", make)

        yield place


@pytest.fixture(scope="module")
def redis_places(redis_server: RedisServer) -> Places:
    """Return what gives empty places in a Redis that knows all scripts: beginnings of its keys."""
    numbers = count(1)
    redis_server.flush()

    def place() -> Place:
        prefix = f"case-{next(numbers)}"

        def make(folder: Path, timeout: float) -> ThreadStore:
            url = f"unix://{folder / redis_server.socket.name}"
            return RedisStore(url, prefix=prefix, timeout=timeout)

        return Place(redis_server.socket, make)

    asyncio.run(_warm(place()))
    return place


async def _warm(place: Place) -> None:
    async with place.make(place.socket.parent, PATIENCE) as store:
        for name, operation in OPERATIONS.items():
            await operation.act(store, await prepare(store, name))


@pytest.fixture
def places(request: pytest.FixtureRequest, kind: str) -> Places:
    """Return what gives empty places of the kind that the test is about."""
    found: Places = request.getfixturevalue(f"{kind}_places")
    return found


@asynccontextmanager
async def wired(place: Place) -> AsyncGenerator[tuple[Wire, ThreadStore]]:
    """Give a wire, and a store behind it that is not open."""
    async with wire_before(place.socket) as wire:
        store = place.make(wire.path.parent, TIMEOUT)
        try:
            yield wire, store
        finally:
            await store.close()


async def attempt(call: Awaitable[object]) -> tuple[str, float]:
    """Return what a call tells, and how many seconds it takes; any other error is a failure."""
    began = time.monotonic()
    try:
        await call
    except CommitUnknownError:
        told = "unknown"
    except StoreError:
        told = "refused"
    else:
        told = "done"
    return told, time.monotonic() - began


def lies(case: Case, told: str, *, is_there: bool) -> set[str]:
    """Return what is wrong with what a call has told."""
    found = {
        "acknowledged, and not there": told == "done" and not is_there,
        "refused, and there": told == "refused" and is_there,
        "unknown, though it could be known": told == "unknown" and not case.lasts,
        "refused for nothing": told != "done" and case.fault in HARMLESS,
    }
    return {name for name, is_wrong in found.items() if is_wrong}


async def works(store: ThreadStore, name: str) -> bool:
    """Make a thread, write to it and read it, all at the first attempt."""
    try:
        thread = await store.thread(name)
        await thread.add_message(Message.user("again"))
        return await texts_of(store, name) == ["again"]
    except StoreError:
        return False


async def heals(store: ThreadStore, name: str) -> bool:
    """Return whether *store* works again, not later than when it has tried to connect once more."""
    until = time.monotonic() + RECONNECT + SLACK
    while time.monotonic() < until:
        with suppress(StoreError):
            await store.find(name)
            return await works(store, name)
    return False


async def broken_in(case: Case, place: Place, witness: ThreadStore) -> set[str]:
    """Return which promises are broken in *case*, as *witness* sees it, who is not cut off."""
    operation, name = OPERATIONS[case.name], f"{case.name}-{case.at}"

    async def is_done() -> bool:
        return operation.effect is not None and await operation.effect(witness, name)

    async with wired(place) as (wire, store):
        await store.open()
        thread = await prepare(store, name)
        await wire.strike(case.fault, at=case.at, lasts=case.lasts)
        told, seconds = await attempt(operation.act(store, thread))
        broken = set() if wire.has_struck else {"not struck"}
        await wire.heal()
        was_done = await is_done()
        if operation.effect is not None:
            broken |= lies(case, told, is_there=was_done)
        # What cannot be settled is read once more, which takes its own time.
        if seconds > TIMEOUT + SLACK + (GRACE + TIMEOUT if case.lasts else 0.0):
            broken.add(f"late: {seconds:.1f} s")
        if not await (heals if case.lasts else works)(store, f"{name}-after"):
            broken.add("does not work again")
        if await is_done() != was_done:
            broken.add("changed afterwards")
    return broken


async def broken_in_opening(case: Case, place: Place) -> set[str]:
    """Return which promises are broken where a store is opened for the first time."""
    async with wired(place) as (wire, store):
        await wire.strike(case.fault, at=case.at)
        told, seconds = await attempt(store.open())
        # How many requests an opening makes depends on what the server knows already: a fault at a
        # later one may not be met.
        broken: set[str] = set()
        await wire.heal()
        if told == "refused":
            await store.open()
        broken |= lies(case, told, is_there=told == "done")
        if seconds > TIMEOUT + SLACK:
            broken.add(f"late: {seconds:.1f} s")
        if not await works(store, "after"):
            broken.add("does not work again")
    return broken


async def found_in(
    cases: Sequence[Case], judge: Callable[[Case], Awaitable[set[str]]]
) -> dict[str, set[str]]:
    """Return what *judge* finds in which of *cases*, several at a time."""
    room = asyncio.Semaphore(ROOM)

    async def one(case: Case) -> set[str]:
        async with room:
            try:
                return await judge(case)
            except StoreError as error:
                return {f"stopped where nothing was broken: {error}"}

    found = await asyncio.gather(*(one(case) for case in cases))
    return {str(case): wrong for case, wrong in zip(cases, found, strict=True) if wrong}


def broken_calls(cases: Sequence[Case], places: Places) -> dict[str, set[str]]:
    """Return which promises are broken in which of *cases*, all in one place."""

    async def judged() -> dict[str, set[str]]:
        place = places()
        async with place.make(place.socket.parent, PATIENCE) as witness:
            return await found_in(cases, lambda case: broken_in(case, place, witness))

    return asyncio.run(judged())


def broken_openings(cases: Sequence[Case], places: Places) -> dict[str, set[str]]:
    """Return which promises are broken in which of *cases*, each in a place of its own."""

    async def judged() -> dict[str, set[str]]:
        return await found_in(cases, lambda case: broken_in_opening(case, places()))

    return asyncio.run(judged())


def broken_each_time(
    judged: Callable[[Sequence[Case], Places], dict[str, set[str]]],
    cases: Sequence[Case],
    places: Places,
) -> dict[str, set[str]]:
    """
    Return what is broken in which of *cases*, and is so again with those alone.

    A fault strikes at the same request each time; what a machine under load delays does not.
    """
    found = judged(cases, places)
    again = judged([case for case in cases if str(case) in found], places) if found else {}
    return {
        name: wrong & again[name] for name, wrong in found.items() if wrong & again.get(name, set())
    }


@_EACH_KIND
@_EACH_FAULT
def test_broken_call_tells_the_truth(kind: str, fault: Fault, places: Places) -> None:
    """Where a connection breaks once, a call is done or not, says which, and the next ones work."""
    assert broken_each_time(broken_calls, calls(kind, fault), places) == {}


@_EACH_KIND
@_EACH_LASTING_FAULT
def test_network_that_is_gone(kind: str, fault: Fault, places: Places) -> None:
    """Where nothing passes any more a call ends in time, and claims no more than it knows."""
    # In the last request, which is the one that writes.
    last = {case.name: case._replace(lasts=True) for case in calls(kind, fault)}

    assert broken_each_time(broken_calls, [*last.values()], places) == {}


@_EACH_KIND
@_EACH_FAULT_ON_THE_WAY
def test_broken_opening(kind: str, fault: Fault, places: Places) -> None:
    """Where a connection breaks while a store is opened, that works or can be repeated."""
    first = list(Fault).index(fault) % STRIDE
    cases = openings(kind, fault)[first::STRIDE]

    assert broken_each_time(broken_openings, cases, places) == {}


@pytest.mark.long
@_EACH_KIND
@_EACH_FAULT_ON_THE_WAY
def test_every_broken_opening(kind: str, fault: Fault, places: Places) -> None:
    """The same at every request."""
    assert broken_each_time(broken_openings, openings(kind, fault), places) == {}
