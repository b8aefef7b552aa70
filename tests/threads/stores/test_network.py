"""
The network between a store and its server, broken at every request of everything a store does.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeVar

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


T = TypeVar("T")

# The time limit of stores whose call is to end by it, and of all others.
TIMEOUT = 0.5
PATIENCE = 30.0
# More than a call with the first limit takes on any machine, and less than the other limit.
LATE = 20.0
KINDS = ("postgres", "redis")
HARMLESS = {Fault.ENDED_BEFORE, Fault.DELAYED_ANSWER, Fault.DRIPPED_ANSWER}
SILENT = {Fault.SWALLOWED_REQUEST, Fault.SWALLOWED_ANSWER}
# How often a store with the short limit is asked until a busy machine has answered in time.
ATTEMPTS = 8
ROOM = 8

_EACH_KIND = pytest.mark.parametrize("kind", KINDS)
_EACH_FAULT = pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.value)
_EACH_FAULT_ON_THE_WAY = pytest.mark.parametrize(
    "fault",
    [fault for fault in Fault if fault is not Fault.ENDED_BEFORE],
    ids=lambda fault: fault.value,
)
# Of so many cases one is run in the fast tests.
_SAMPLED = pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.slow)])


class Case(NamedTuple):
    """One fault at one request of one operation."""

    kind: str
    name: str
    at: int
    fault: Fault
    lasts: bool = False

    def __str__(self) -> str:
        return f"{self.name}, request {self.at}"

    @property
    def timeout(self) -> float:
        """The time limit of the store: a short one only if nothing else ends the call."""
        return TIMEOUT if self.lasts or self.fault in SILENT else PATIENCE


class Place(NamedTuple):
    """A server, and how to make a store that reaches it through a socket file in a folder."""

    socket: Path
    make: Callable[[Path, float], ThreadStore]


class Server(NamedTuple):
    """What makes empty places on a server, and how many requests each operation takes there."""

    place: Callable[[], Place]
    requests: Mapping[str, int]


def calls(server: Server, kind: str, fault: Fault) -> list[Case]:
    """Return the cases of one fault, one for each request of each operation."""
    return [
        Case(kind, name, at, fault)
        for name in OPERATIONS
        for at in range(server.requests[name])
        if at == 0 or fault is not Fault.ENDED_BEFORE
    ]


def openings(server: Server, kind: str, fault: Fault) -> list[Case]:
    """Return the cases of one fault, one for each request of the first opening."""
    return [Case(kind, "open", at, fault) for at in range(server.requests["open"])]


async def requests_of(place: Callable[[], Place]) -> dict[str, int]:
    """Return how many requests each operation takes; the server knows all scripts afterwards."""
    found: dict[str, int] = {}
    for _ in range(2):
        for name, operation in OPERATIONS.items():
            case = Case("", name, 0, Fault.DELAYED_ANSWER)
            async with wired(place(), case) as (wire, store):
                wire.requests = 0
                await store.open()
                found["open"] = wire.requests
                thread = await prepare(store, name)
                wire.requests = 0
                await operation.act(store, thread)
                found[name] = wire.requests
    return found


@pytest.fixture(scope="module")
def on_postgres(postgres_server: PostgresServer) -> Iterator[Server]:
    """Return schemas in a database of these tests."""
    numbers = count(1)
    with postgres_server.database() as dsn:
        database = dsn.partition("?")[0]

        def place() -> Place:
            schema = f"case_{next(numbers)}"

            def make(folder: Path, timeout: float) -> ThreadStore:
                address = f"{database}?host={folder}"
                return PostgresStore(address, schema=schema, timeout=timeout, pool_size=1)

            return Place(postgres_server.folder / ".s.PGSQL.5432", make)

        yield Server(place, asyncio.run(requests_of(place)))


@pytest.fixture(scope="module")
def on_redis(redis_server: RedisServer) -> Server:
    """Return prefixes in a Redis that knows all scripts."""
    numbers = count(1)
    redis_server.flush()

    def place() -> Place:
        prefix = f"case-{next(numbers)}"

        def make(folder: Path, timeout: float) -> ThreadStore:
            url = f"unix://{folder / redis_server.socket.name}"
            return RedisStore(url, prefix=prefix, timeout=timeout)

        return Place(redis_server.socket, make)

    return Server(place, asyncio.run(requests_of(place)))


@pytest.fixture
def server(request: pytest.FixtureRequest, kind: str) -> Server:
    """Return the server of the kind that the test is about."""
    found: Server = request.getfixturevalue(f"on_{kind}")
    return found


@asynccontextmanager
async def wired(place: Place, case: Case) -> AsyncGenerator[tuple[Wire, ThreadStore]]:
    """Yield a wire, and a store behind it that is not open."""
    async with wire_before(place.socket) as wire:
        store = place.make(wire.path.parent, case.timeout)
        try:
            yield wire, store
        finally:
            await store.close()


async def attempt(call: Awaitable[object]) -> tuple[str, float]:
    """Return the outcome of a call, and how many seconds it took; any other error is a failure."""
    began = time.monotonic()
    try:
        await call
    except CommitUnknownError:
        outcome = "unknown"
    except StoreError:
        outcome = "refused"
    else:
        outcome = "done"
    return outcome, time.monotonic() - began


def lies(case: Case, outcome: str, *, is_there: bool) -> set[str]:
    """Return what is wrong with the outcome that a call has reported."""
    found = {
        "acknowledged, and not there": outcome == "done" and not is_there,
        "refused, and there": outcome == "refused" and is_there,
        "unknown, though it could be known": outcome == "unknown" and not case.lasts,
        "refused for nothing": outcome != "done" and case.fault in HARMLESS,
    }
    return {name for name, is_wrong in found.items() if is_wrong}


async def works(store: ThreadStore, name: str, *, attempts: int) -> bool:
    """Make a thread, write to it and read it, in a few attempts."""
    for number in range(attempts):
        with suppress(StoreError):
            thread = await store.thread(f"{name}-{number}")
            await thread.add_message(Message.user("again"))
            return await texts_of(store, thread.id) == ["again"]
    return False


def attempts_of(case: Case) -> int:
    """Return after how many attempts a store must work again: one, if time plays no part."""
    return 1 if case.timeout == PATIENCE else ATTEMPTS


async def broken_in(case: Case, place: Place, witness: ThreadStore) -> set[str]:
    """Return which promises are broken in *case*, as *witness* sees it, who is not cut off."""
    operation = OPERATIONS[case.name]
    names = (f"{case}-{number}".replace(", request ", "-") for number in count())

    async def is_done() -> bool:
        return operation.effect is not None and await operation.effect(witness, thread.id)

    async with wired(place, case) as (wire, store):
        await patiently(store.open)
        thread = await patiently(lambda: prepare(store, next(names)))
        await wire.strike(case.fault, at=case.at, lasts=case.lasts)
        outcome, seconds = await attempt(operation.act(store, thread))
        broken = set() if wire.has_struck else {"not struck"}
        await wire.heal()
        was_done = await is_done()
        if operation.effect is not None:
            broken |= lies(case, outcome, is_there=was_done)
        if seconds > LATE:
            broken.add(f"late: {seconds:.1f} s")
        if not await works(store, f"{thread.id}-after", attempts=attempts_of(case)):
            broken.add("does not work again")
        if await is_done() != was_done:
            broken.add("changed afterwards")
    return broken


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """Return what a call returns, as soon as a busy machine answers it in time."""
    for _ in range(ATTEMPTS):
        with suppress(StoreError):
            return await call()
    return await call()


async def broken_in_opening(case: Case, place: Place) -> set[str]:
    """Return which promises are broken when a store is opened for the first time."""
    async with wired(place, case) as (wire, store):
        await wire.strike(case.fault, at=case.at)
        outcome, seconds = await attempt(store.open())
        # How many requests an opening takes depends on what the server knows already: a fault at a
        # later one may not be met.
        broken: set[str] = set()
        await wire.heal()
        broken |= lies(case, outcome, is_there=outcome == "done")
        if seconds > LATE:
            broken.add(f"late: {seconds:.1f} s")
        # A busy machine may need longer for an opening than the first limit.
        async with place.make(wire.path.parent, PATIENCE) as again:
            if not await works(again, "after", attempts=1):
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


async def broken_calls(cases: Sequence[Case], server: Server) -> dict[str, set[str]]:
    """Return which promises are broken in which of *cases*, all in one place."""
    place = server.place()
    async with place.make(place.socket.parent, PATIENCE) as witness:
        return await found_in(cases, lambda case: broken_in(case, place, witness))


def sample(cases: Sequence[Case], fault: Fault, stride: int) -> Sequence[Case]:
    """Return every case in so many, other ones for each fault."""
    return cases[list(Fault).index(fault) % stride :: stride]


@pytest.mark.slow
@_SAMPLED
@_EACH_KIND
@_EACH_FAULT
async def test_broken_call_is_reported(
    kind: str, fault: Fault, stride: int, server: Server
) -> None:
    """If a connection breaks once, a call is done or not, says which, and the next ones work."""
    assert await broken_calls(sample(calls(server, kind, fault), fault, stride), server) == {}


@pytest.mark.slow
@_EACH_KIND
@pytest.mark.parametrize(
    "fault",
    [
        Fault.SWALLOWED_ANSWER,
        pytest.param(Fault.LOST_ANSWER, marks=pytest.mark.slow),
        pytest.param(Fault.LOST_REQUEST, marks=pytest.mark.slow),
        pytest.param(Fault.SWALLOWED_REQUEST, marks=pytest.mark.slow),
    ],
    ids=lambda fault: fault.value,
)
async def test_network_that_is_gone(kind: str, fault: Fault, server: Server) -> None:
    """If nothing passes any more a call ends in time, and claims no more than it knows."""
    # In the last request, which is the one that writes.
    last = {case.name: case._replace(lasts=True) for case in calls(server, kind, fault)}

    assert await broken_calls([*last.values()], server) == {}


@pytest.mark.slow
@_SAMPLED
@_EACH_KIND
@_EACH_FAULT_ON_THE_WAY
async def test_broken_opening(kind: str, fault: Fault, stride: int, server: Server) -> None:
    """If a connection breaks while a store is opened, it is open or can be opened again."""
    cases = sample(openings(server, kind, fault), fault, stride)

    # Each has a place of its own.
    assert await found_in(cases, lambda case: broken_in_opening(case, server.place())) == {}
