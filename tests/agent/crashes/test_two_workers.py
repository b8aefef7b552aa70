"""Two processes on one store: each turn is answered once, and a dead one's is taken over."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from foldline import Agent
from foldline.providers.model import ChatRequest
from foldline.testing.model import ScriptedModel
from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.faults.fork import Child, Teller, fork


OpenStore: TypeAlias = Callable[[float], ThreadStore]
"""Opens a store whose leases last so many seconds."""

SHORT, LONG = 1.0, 60.0
THREADS = 50
TURNS = 10


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    """Return what makes stores over one place, for each process its own."""
    if request.param == "postgres":
        dsn = request.getfixturevalue("postgres_dsn")
        return lambda lease: PostgresStore(dsn, pool_size=4, turn_lease=lease)
    if request.param == "redis":
        url = request.getfixturevalue("redis_url")
        return lambda lease: RedisStore(url, turn_lease=lease)
    return lambda lease: SQLiteStore(tmp_path / "a.db", durability="relaxed", turn_lease=lease)


def _dying(open_store: OpenStore) -> Child:
    """Start a process that is killed while its model is asked."""

    async def run(teller: Teller) -> None:
        async def die(_: ChatRequest) -> str:
            teller.die("asked")

        async with open_store(SHORT) as store:
            agent = Agent(ScriptedModel([die]))
            await agent.run("hello", thread=await store.thread("t"), turn_id="id")

    return fork(lambda teller: asyncio.run(run(teller)))


def test_a_killed_worker_is_taken_over(open_store: OpenStore) -> None:
    """After kill -9 another process answers the turn, as soon as the lease has run out."""
    assert _dying(open_store).wait().killed_at == "asked"

    async def take_over() -> tuple[str, list[str]]:
        async with open_store(SHORT) as store:
            thread = await store.thread("t")
            agent = Agent(ScriptedModel(["fine"]))
            result = await agent.run("hello", thread=thread, turn_id="id")
            return result.text, [one.text for one in await thread.get_messages()]

    text, said = asyncio.run(take_over())

    assert text == "fine"
    assert said == ["hello", "fine"]


def _clicking(open_store: OpenStore) -> Child:
    """Start a process that sends every message of every thread, thread by thread in order."""

    async def run(teller: Teller) -> None:
        async def answer(request: ChatRequest) -> str:
            teller.ack(f"asked {request.messages[-1].text}")
            return f"answer to {request.messages[-1].text}"

        async def talk(store: ThreadStore, agent: Agent, number: int) -> None:
            for turn in range(TURNS):
                thread = await store.thread(f"t{number}")
                said = f"{number}.{turn}"
                result = await agent.run(said, thread=thread, turn_id=f"turn-{turn}")
                teller.ack(f"told {said} {result.text}")

        async with open_store(LONG) as store:
            agent = Agent(ScriptedModel(repeat=answer))
            await asyncio.gather(*(talk(store, agent, number) for number in range(THREADS)))

    return fork(lambda teller: asyncio.run(run(teller)), deadline=110)


@pytest.mark.slow
def test_every_message_sent_twice_is_answered_once(open_store: OpenStore) -> None:
    """Of 1,000 requests to two processes, two for each turn, each turn asks the model once."""

    async def make() -> None:
        async with open_store(LONG):
            pass

    asyncio.run(make())
    children = [_clicking(open_store) for _ in range(2)]
    acks = Counter(ack for child in children for ack in child.wait().acks)

    names = [f"{number}.{turn}" for number in range(THREADS) for turn in range(TURNS)]
    assert acks == {
        **{f"asked {name}": 1 for name in names},
        **{f"told {name} answer to {name}": 2 for name in names},
    }
