"""
A million threads on PostgreSQL: how long a page of those whose fold is due takes.

The heads are inserted by the server itself: one real head for each, a tenth of them due, in two
tenants. A page of 200 is read at the beginning, in the middle and at the end of a tenant's list,
each 21 times, and so is one of a tenant with no fold due.

Goal: at most 50 ms a page, the slowest of all included.
"""

import asyncio
import statistics
import time
from typing import Any, Final

import psycopg

from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.store import PostgresStore
from tests.servers.postgres import PostgresServer


HEADS: Final = 1_000_000
PAGE, ROUNDS = 200, 21
_FILL = """
INSERT INTO foldline.threads (
    revision, live, last_activity, tenant, id, head, epoch, fold_due_since
)
SELECT t.revision, 0, t.last_activity + g, CASE WHEN g %% 2 = 0 THEN 'acme' ELSE 'globex' END,
    'thread-' || g, t.head, t.epoch,
    CASE WHEN g %% 10 = 0 THEN t.last_activity + g %% 1000 END
FROM foldline.threads t, generate_series(1, %(count)s) g WHERE t.id = 'first'
"""


async def _filled(dsn: str) -> None:
    async with PostgresStore(dsn) as store:
        await store.thread("first")
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute(_FILL, {"count": HEADS})
        await connection.execute("VACUUM ANALYZE foldline.threads")


async def _cursors(store: ThreadStore) -> list[str]:
    """Return where the first, the middle and the last page of the tenant begin."""
    cursors, after, due = [""], "", HEADS // 10
    while after or len(cursors) == 1:
        page = await store.folds_due(tenant="acme", limit=10_000, after=after)
        due -= len(page.threads)
        after = page.next
        if after:
            cursors.append(after)
        else:
            break
    assert not due, f"{due} threads are missing"
    # The last one is the end, since the list is whole pages.
    return [cursors[0], cursors[len(cursors) // 2], cursors[-2]]


async def _pages(dsn: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with PostgresStore(dsn) as store:
        places = dict(zip(("first", "middle", "last"), await _cursors(store), strict=True))
        reads = [*((name, "acme", after) for name, after in places.items()), ("none", "globex", "")]
        for name, tenant, after in reads:
            times: list[float] = []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                page = await store.folds_due(tenant=tenant, limit=PAGE, after=after)
                times.append(1000 * (time.perf_counter() - start))
                assert len(page.threads) == (PAGE if tenant == "acme" else 0)
            found[f"{name}_ms"] = statistics.median(times)
            found[f"{name}_slowest_ms"] = max(times)
    return found


def run() -> dict[str, Any]:
    """Measure on a server of its own."""
    with PostgresServer() as server, server.database() as dsn:
        asyncio.run(_filled(dsn))
        return {"heads": HEADS, "page": PAGE, **asyncio.run(_pages(dsn))}


def goals(figures: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Return each goal: what, the figure and the most it may be."""
    slowest = max(value for name, value in figures.items() if name.endswith("_slowest_ms"))
    return [("a page of the folds due among a million threads, ms (slowest)", slowest, 50)]
