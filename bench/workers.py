"""
Workers: what a turn through the queue costs a worker, its poster and the server.

`python -m bench workers [--turns N]`. All times are processor time, of a model that answers at once:
the same turns are answered without a queue, then posted, then answered by a worker. A queue with a
long line is asked for a job with the index that foldline adds to the tables of procrastinate, and
without it.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import psycopg
from procrastinate.types import JSONValue

from foldline.agent.agent import Agent
from foldline.testing.model import ScriptedModel
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.workers.queue import connector_of
from foldline.workers.workers import Workers
from tests.servers.postgres import PostgresServer


THREADS, AT_ONCE = 100, 10
LINE, FETCHES = 10_000, 21
_TICKS = 100


def server_seconds(server: PostgresServer) -> float:
    """Return the processor time that all processes of *server* have used."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == server.pid:
            ticks += int(fields[11]) + int(fields[12])
        elif path.parent.name == f"{server.pid}":
            # Of itself, and of those that have ended.
            ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS


def log_bytes(dsn: str) -> int:
    """Return how far the write-ahead log has come."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
        ).fetchone()
    return row[0] if row else 0


async def taken(
    server: PostgresServer, dsn: str, turns: int, work: Callable[[], Awaitable[object]]
) -> str:
    """Do *work* for so many *turns*, and return what each has cost."""
    log, busy, began, at = log_bytes(dsn), server_seconds(server), time.process_time(), time.time()
    await work()
    own = (time.process_time() - began) / turns * 1e3
    wall = turns / (time.time() - at)
    theirs = (server_seconds(server) - busy) / turns * 1e3
    kept = (log_bytes(dsn) - log) / turns / 1024
    return f"{own:8.2f} ms of the program {theirs:8.2f} ms of the server {kept:7.1f} KiB of log {wall:7.0f} turns/s"


async def answered(server: PostgresServer, turns: int) -> None:
    """Print what turns cost without a queue, posted and answered."""
    dsn = server.create_database()
    agent = Agent(ScriptedModel(repeat="A short answer, as it is."))
    store = PostgresStore(dsn)
    workers = Workers(agent, store, show_every=None)
    async with workers:
        for number in range(THREADS):
            await store.thread(f"alone-{number}")
            await store.thread(f"posted-{number}")

        async def alone(at: int) -> None:
            for number in range(at, turns, AT_ONCE):
                thread = await store.thread(f"alone-{number % THREADS}")
                await agent.run("A question.", thread=thread, turn_id=f"{number}")

        async def post(at: int) -> None:
            for number in range(at, turns, AT_ONCE):
                name = f"posted-{number % THREADS}"
                await workers.answer(name, "A question.", turn_id=f"{number}")

        async def all_of(work: Callable[[int], Awaitable[None]]) -> None:
            await asyncio.gather(*(work(at) for at in range(AT_ONCE)))

        print(f"{turns} turns on {THREADS} threads, {AT_ONCE} at once; each turn costs")
        rows: list[tuple[str, Callable[[], Awaitable[object]]]] = [
            ("without a queue", lambda: all_of(alone)),
            ("posted", lambda: all_of(post)),
            ("answered", lambda: workers.run(concurrency=AT_ONCE, wait=False)),
        ]
        for name, work in rows:
            print(f"  {name:16}{await taken(server, dsn, turns, work)}")


async def fetched(server: PostgresServer) -> None:
    """Print what it costs to ask a long line for a job."""
    dsn = server.create_database()
    workers = Workers(Agent(ScriptedModel()), PostgresStore(dsn))
    async with workers:
        put = workers.app.configure_task("foldline:answer", queue="foldline")
        for start in range(0, LINE, 1000):
            jobs: list[dict[str, JSONValue]] = [
                {"tenant": "default", "thread": f"t{at // 10}", "turn": f"{at}"}
                for at in range(start, start + 1000)
            ]
            await put.batch_defer_async(*jobs)
        connector = connector_of(workers.app)
        await connector.execute_query_async(
            "UPDATE procrastinate_jobs SET lock = args ->> 'thread'"
        )
        await connector.execute_query_async("ANALYZE procrastinate_jobs")
        print(f"asking a line of {LINE:,} jobs, ten on each thread, for one, median")
        for name in ("with the index", "without"):
            worker = await workers.app.job_manager.register_worker()
            times: list[float] = []
            for _ in range(FETCHES):
                began = time.perf_counter()
                await workers.app.job_manager.fetch_job(["foldline"], worker)
                times.append(time.perf_counter() - began)
            print(f"  {name:16}{statistics.median(times) * 1e3:8.2f} ms")
            await connector.execute_query_async("DROP INDEX IF EXISTS foldline_jobs_of_lock")


def main(arguments: Sequence[str]) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench workers", description=__doc__)
    parser.add_argument("--turns", type=int, default=1000)
    turns = parser.parse_args(arguments).turns
    with PostgresServer() as server:
        asyncio.run(answered(server, turns))
        asyncio.run(fetched(server))
    return 0
