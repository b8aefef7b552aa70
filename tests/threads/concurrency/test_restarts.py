"""
Servers that stop in the middle of the work.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable

from foldline.errors import StoreError, ThreadConflictError
from foldline.history.messages import Message
from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.thread import ConversationThread
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer


WRITERS = 4
UP = 0.6
DOWN = 0.1
AFTER = 0.5


async def insist(thread: ConversationThread, text: str, until: float) -> bool:
    """
    Add a turn; where the server is away, try again with the same commit; False when time is up.
    """
    commit_id = os.urandom(8)
    turn = [Message.user(text), Message.assistant(text)]
    while time.monotonic() < until:
        try:
            await thread.commit(messages=turn, commit_id=commit_id)
        except (StoreError, ThreadConflictError):
            await asyncio.sleep(0.02)
            await refreshed(thread, until)
        else:
            return True
    return False


async def refreshed(thread: ConversationThread, until: float) -> None:
    """
    Read the thread anew, as soon as the server is there again.
    """
    while time.monotonic() < until:
        try:
            await thread.refresh()
        except StoreError:
            await asyncio.sleep(0.02)
        else:
            return


async def write(store: ThreadStore, name: str, until: float) -> list[str]:
    """
    Write turns until time is up; return those that were acknowledged.
    """
    thread = await store.thread(name)
    acknowledged: list[str] = []
    while time.monotonic() < until:
        text = f"{name} {len(acknowledged)}"
        if await insist(thread, text, until + 2):
            acknowledged.append(text)
    return acknowledged


async def work(store: ThreadStore, seconds: float) -> dict[str, list[str]]:
    """
    Let several tasks write to threads of their own; return what each was promised.
    """
    names = [f"t{number}" for number in range(WRITERS)]
    async with store:
        until = time.monotonic() + seconds
        done = await asyncio.gather(*(write(store, name, until) for name in names))
        return dict(zip(names, done, strict=True))


async def read(store: ThreadStore, names: list[str]) -> dict[str, list[str]]:
    """
    Return what each thread holds.
    """
    async with store:
        threads = [await store.thread(name) for name in names]
        return {one.id: [message.text for message in await one.get_messages()] for one in threads}


def under_stops(
    store: Callable[[], ThreadStore],
    stop: Callable[[], None],
    start: Callable[[], None],
    times: int,
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """
    Write while the server is stopped *times* times; return what was promised and what is there.
    """

    def disturb() -> None:
        for _ in range(times):
            time.sleep(UP)
            stop()
            time.sleep(DOWN)
            start()

    trouble = threading.Thread(target=disturb)
    trouble.start()
    promised = asyncio.run(work(store(), times * (UP + DOWN) + AFTER))
    trouble.join()
    return promised, asyncio.run(read(store(), list(promised)))


def _check(promised: dict[str, list[str]], found: dict[str, list[str]]) -> None:
    for name, texts in promised.items():
        assert found[name][0::2] == texts
        assert found[name][1::2] == texts


def test_postgres_stopped_five_times(postgres_server: PostgresServer, postgres_dsn: str) -> None:
    """PostgreSQL stopped at once five times under load loses and doubles no turn."""
    promised, found = under_stops(
        lambda: PostgresStore(postgres_dsn),
        postgres_server.stop_immediate,
        postgres_server.start,
        5,
    )

    assert sum(map(len, promised.values())) >= 500
    _check(promised, found)


def test_redis_killed_three_times(redis_server: RedisServer, redis_url: str) -> None:
    """Redis with `appendfsync always` killed three times under load loses and doubles no turn."""
    promised, found = under_stops(
        lambda: RedisStore(redis_url), redis_server.kill, redis_server.start, 3
    )

    assert sum(map(len, promised.values())) >= 300
    _check(promised, found)
