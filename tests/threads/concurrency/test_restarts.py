"""Servers that stop in the middle of the work."""

import asyncio
import os
from collections.abc import Callable

from foldline.errors import StoreError, ThreadConflictError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.thread import ConversationThread
from tests.depth import by_depth
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer


WRITERS = 4
TURNS = by_depth(40, 100)
DOWN = 0.1
PATIENCE = 120.0


class Load:
    """How many turns were acknowledged, and whether they are enough."""

    def __init__(self) -> None:
        """Start with none."""
        self.is_enough = False
        self._made = 0
        self._grown = asyncio.Event()

    def grow(self) -> None:
        """Count one turn more."""
        self._made += 1
        self._grown.set()

    async def more(self) -> None:
        """Wait until some turns more were acknowledged."""
        target = self._made + TURNS
        while self._made < target:
            self._grown.clear()
            await self._grown.wait()


async def insist(thread: ConversationThread, text: str) -> None:
    """Add a turn; while the server is away, retry with the same commit id."""
    commit_id = os.urandom(8)
    turn = [Message.user(text), Message.assistant(text)]
    while True:
        try:
            await thread.commit(Change(messages=turn, commit_id=commit_id))
        except (StoreError, ThreadConflictError):
            await asyncio.sleep(0.02)
            await refreshed(thread)
        else:
            return


async def refreshed(thread: ConversationThread) -> None:
    """Read the thread again as soon as the server is back."""
    while True:
        try:
            await thread.refresh()
        except StoreError:
            await asyncio.sleep(0.02)
        else:
            return


async def write(thread: ConversationThread, load: Load) -> list[str]:
    """Write turns until there are enough; return what was acknowledged."""
    acknowledged: list[str] = []
    while not load.is_enough:
        text = f"{thread.id} {len(acknowledged)}"
        await insist(thread, text)
        acknowledged.append(text)
        load.grow()
    return acknowledged


async def disturb(
    load: Load, stop: Callable[[], None], start: Callable[[], None], times: int
) -> None:
    """Stop the server *times* times, each time after some turns more."""
    for _ in range(times):
        await load.more()
        await asyncio.to_thread(stop)
        await asyncio.sleep(DOWN)
        await asyncio.to_thread(start)
    await load.more()
    load.is_enough = True


async def read(store: ThreadStore, names: list[str]) -> dict[str, list[str]]:
    """Return the texts of each thread."""
    async with store:
        threads = [await store.thread(name) for name in names]
        return {one.id: [message.text for message in await one.get_messages()] for one in threads}


async def under_stops(
    store: Callable[[], ThreadStore],
    stop: Callable[[], None],
    start: Callable[[], None],
    times: int,
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """
    Write while the server is stopped *times* times; return what was acknowledged and what is there.
    """
    load, names = Load(), [f"t{number}" for number in range(WRITERS)]
    async with asyncio.timeout(PATIENCE), store() as one:
        threads = [await one.thread(name) for name in names]
        trouble = asyncio.create_task(disturb(load, stop, start, times))
        done = await asyncio.gather(*(write(thread, load) for thread in threads))
        await trouble
    return dict(zip(names, done, strict=True)), await read(store(), names)


def _check(promised: dict[str, list[str]], found: dict[str, list[str]]) -> None:
    for name, texts in promised.items():
        assert found[name][0::2] == texts
        assert found[name][1::2] == texts


def test_postgres_stopped_under_load(postgres_server: PostgresServer, postgres_dsn: str) -> None:
    """PostgreSQL stopped at once again and again under load loses and doubles no turn."""
    stops = under_stops(
        lambda: PostgresStore(postgres_dsn),
        postgres_server.kill,
        postgres_server.start,
        by_depth(2, 5),
    )
    promised, found = asyncio.run(stops)

    _check(promised, found)


def test_redis_killed_under_load(redis_server: RedisServer, redis_url: str) -> None:
    """Redis with `appendfsync always` killed again and again under load loses and doubles no turn."""
    stops = under_stops(
        lambda: RedisStore(redis_url), redis_server.kill, redis_server.start, by_depth(2, 3)
    )
    promised, found = asyncio.run(stops)

    _check(promised, found)
