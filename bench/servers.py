"""
PostgreSQL and Redis: what a turn costs the program, and 10,000 conversations at once.

A turn is two messages and the execution state. The raw drivers write the same in one statement, or
one MULTI, in alternating rounds. The conversations each append a turn and read their last 20 messages,
all at once, with the options that a store has by itself: alone, and beside two busy processes. The
floor of that is raw rows, 256 turns to a statement.

Goals: at most 1.8 times the processor time of raw psycopg and 1.6 times that of redis-py; no errors,
99 of 100 turns within 5 seconds, and at least 2,000 turns a second on an idle machine.
"""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any

import msgspec
import psycopg
from redis.asyncio import Redis

from bench import measure, workload
from bench.messages import message_of
from bench.peers.child import Child
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer


NUMBER, BURSTS, BUSY = 10_000, 3, 2
ROUNDS, TURNS, WARM = 21, 50, 3
STATE = AgentLoopState(
    run_id="r", conversation_id="t", started_at=datetime(2026, 11, 21, tzinfo=UTC)
)
STORED = STATE.to_json()
TEXTS = workload.texts(4_000)
_TABLES = (
    "CREATE TABLE m (t text, s bigint, d bytea, PRIMARY KEY (t, s))",
    "CREATE TABLE st (t text PRIMARY KEY, n bigint, d bytea)",
)
_WRITE = (
    "WITH i AS (INSERT INTO m SELECT %s, * FROM unnest(%s::bigint[], %s::bytea[])) "
    "INSERT INTO st VALUES (%s, %s, %s) ON CONFLICT (t) DO UPDATE SET n = excluded.n, d = excluded.d"
)
Turn = Callable[[int, Sequence[workload.Text]], Awaitable[object]]


def _encoded(texts: Sequence[workload.Text]) -> list[bytes]:
    return [msgspec.json.encode({"role": role, "content": text}) for role, text in texts]


async def _compared(raw: Turn, store: ThreadStore) -> tuple[float, float, float]:
    """Return the microseconds of a raw turn and of ours, and the median of their ratios."""
    thread = await store.thread("t")

    async def kept(_: int, texts: Sequence[workload.Text]) -> None:
        await thread.commit(Change(messages=[*map(message_of, texts)], execution=STATE))

    numbers = count(0, 2)
    taken: dict[Turn, list[float]] = {raw: [], kept: []}
    for _ in range(WARM + ROUNDS):
        for turn, seconds in taken.items():
            began = time.process_time()
            for at in (next(numbers) for _ in range(TURNS)):
                await turn(at, TEXTS[at % len(TEXTS) : at % len(TEXTS) + 2])
            seconds.append((time.process_time() - began) / TURNS)
    floor, ours = (seconds[WARM:] for seconds in taken.values())
    ratio = statistics.median(mine / least for mine, least in zip(ours, floor, strict=True))
    return statistics.median(floor) * 1e6, statistics.median(ours) * 1e6, ratio


async def _on_postgres(dsn: str) -> tuple[float, float, float]:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        for table in _TABLES:
            await connection.execute(table.encode())

        async def raw(at: int, texts: Sequence[workload.Text]) -> None:
            rows = [at, at + 1], _encoded(texts)
            await connection.execute(_WRITE.encode(), ["t", *rows, "t", at, STORED])

        async with PostgresStore(dsn) as store:
            return await _compared(raw, store)


async def _on_redis(url: str) -> tuple[float, float, float]:
    async with Redis.from_url(url) as client:

        async def raw(at: int, texts: Sequence[workload.Text]) -> None:
            pipeline = client.pipeline(transaction=True)
            pipeline.rpush("m", *_encoded(texts))
            pipeline.hset("st", mapping={"n": at, "d": STORED})
            await pipeline.execute()

        async with RedisStore(url) as store:
            return await _compared(raw, store)


@contextmanager
def _busy_processes(number: int) -> Generator[None]:
    """Keep *number* processes busy inside."""
    loop = "while True: pass"
    busy = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(number)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def _bursts(server: PostgresServer) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, module in (("floor", "grouped_crowd"), ("crowd", "postgres_crowd")):
        given = (server.create_database(), str(NUMBER))
        child = Child(sys.executable, f"bench.peers.{module}", *given)
        for kind, busy in (("idle", 0), ("busy", BUSY)):
            with _busy_processes(busy):
                bursts = [child.ask("turns") for _ in range(BURSTS)]
            figures[f"{name}_{kind}_errors"] = sum(one["errors"] for one in bursts)
            for what in ("turns_s", "p99_s", "cpu_us"):
                figures[f"{name}_{kind}_{what}"] = statistics.median(one[what] for one in bursts)
        child.ask("stop")
        child.close()
    return figures


def run() -> dict[str, Any]:
    """Measure both servers, started for this and reached through socket files."""
    figures: dict[str, Any] = {}
    with measure.all_processors():
        with closing(RedisServer()) as redis:
            raw, ours, ratio = asyncio.run(_on_redis(redis.url))
            figures |= {"redis_raw_us": raw, "redis_us": ours, "redis_times": ratio}
        with closing(PostgresServer()) as server:
            raw, ours, ratio = asyncio.run(_on_postgres(server.create_database()))
            figures |= {"postgres_raw_us": raw, "postgres_us": ours, "postgres_times": ratio}
            figures |= _bursts(server)
    return figures


def goals(figures: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Return each goal that was measured: what, the figure, and the most it may be."""
    seconds = 1e3 / max(1e-9, figures["crowd_idle_turns_s"])
    return [
        ("a turn on PostgreSQL, times raw psycopg", figures["postgres_times"], 1.8),
        ("a turn on Redis, times raw redis-py", figures["redis_times"], 1.6),
        ("10,000 conversations on PostgreSQL, errors", figures["crowd_idle_errors"], 0),
        ("the same beside busy processes, errors", figures["crowd_busy_errors"], 0),
        (
            "10,000 conversations on PostgreSQL, 99 % of the turns in s",
            figures["crowd_idle_p99_s"],
            5,
        ),
        ("the same beside busy processes, 99 % of the turns in s", figures["crowd_busy_p99_s"], 5),
        ("10,000 conversations on PostgreSQL, ms a turn", seconds, 0.5),
    ]
