"""How a queue stands: what waits, runs, stands still and has failed."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from msgspec import Struct
from procrastinate import App
from psycopg.sql import SQL, Identifier

from foldline.errors import StoreError, UsageError
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.store import PostgresStorage
from foldline.workers.post import Post
from foldline.workers.queue import connector_of, own_app, queue_errors


# One look: what is done is deleted, so the table holds what waits, runs and has failed.
_COUNTS: Final = """
WITH now AS (SELECT clock_timestamp() AS at),
dead AS (
    SELECT w.id FROM procrastinate_workers w, now
    WHERE w.last_heartbeat < now.at - make_interval(secs => %(lease)s)
)
SELECT
    count(*) FILTER (WHERE j.status = 'todo' AND coalesce(j.scheduled_at <= now.at, true)) AS waiting,
    count(*) FILTER (WHERE j.status = 'todo' AND j.scheduled_at > now.at) AS paused,
    count(*) FILTER (WHERE j.status = 'doing') AS running,
    count(*) FILTER (
        WHERE j.status = 'doing' AND (j.worker_id IS NULL OR j.worker_id IN (SELECT id FROM dead))
    ) AS stalled,
    count(*) FILTER (WHERE j.status = 'failed') AS failed,
    coalesce((
        SELECT extract(epoch FROM now.at - e.at)::double precision
        FROM procrastinate_events e, now
        WHERE e.type = 'deferred' AND e.job_id = (
            SELECT min(o.id) FROM procrastinate_jobs o
            WHERE o.status = 'todo' AND o.queue_name = %(queue)s
        )
        LIMIT 1
    ), 0) AS oldest,
    (
        SELECT count(*) FROM procrastinate_workers w WHERE w.id NOT IN (SELECT id FROM dead)
    ) AS workers
FROM procrastinate_jobs j, now WHERE j.queue_name = %(queue)s
"""
_FAILED: Final = """
SELECT j.id, j.task_name AS task, coalesce(j.args ->> 'tenant', '') AS tenant,
    coalesce(j.args ->> 'thread', '') AS thread, coalesce(j.args ->> 'turn', '') AS turn, j.attempts
FROM procrastinate_jobs j WHERE j.queue_name = %(queue)s AND j.status = 'failed'
ORDER BY j.id DESC LIMIT %(limit)s
"""
_FORGET: Final = """
DELETE FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status = 'failed'
    AND lock = %(lock)s AND args ->> 'turn' = %(turn)s
"""
# An index has these alone.
_DUE: Final = "SELECT count(*) AS due FROM {} WHERE fold_due_since IS NOT NULL"


class QueueStatus(Struct, frozen=True, kw_only=True):
    """The jobs of a queue by what they do, and its workers."""

    waiting: int
    """How many could begin now, if their thread and a worker are free."""

    paused: int
    """How many wait for their next try; what comes after them on their threads waits too."""

    running: int
    """How many a worker has taken."""

    stalled: int
    """How many of these have a worker that is dead: another one takes them over within seconds."""

    failed: int
    """How many were given up; they stay until they are posted again or deleted."""

    oldest: float
    """How many seconds ago the oldest job that waits was queued; 0 if none does."""

    workers: int
    """How many workers live, those of all queues in the database."""

    folds_due: int = 0
    """How many threads of the store have a fold that is due, of all tenants."""


class FailedJob(Struct, frozen=True, kw_only=True):
    """A job that was given up."""

    id: int
    """Its number."""

    task: str
    """What it was to do."""

    tenant: str
    """The owner of the thread."""

    thread: str
    """The thread; empty if it was for more than one."""

    turn: str
    """The turn; empty if it was something else."""

    attempts: int
    """How often it was tried."""

    error: str = ""
    """The code of the error that ended a turn; empty if it was something else, or cannot be read."""


async def queue_status(
    app: App, queue: str, *, lease: float, store: ThreadStore | None = None
) -> QueueStatus:
    """Return how *queue* of *app* stands, and how many folds are due in *store* beside it."""
    connector, due = connector_of(app), 0
    row = await connector.execute_query_one_async(_COUNTS, queue=queue, lease=lease)
    storage = None if store is None else store.context.storage
    if isinstance(storage, PostgresStorage):
        async with connector.pool.connection() as connection:
            threads = Identifier(storage.link.schema, "threads")
            found = await (await connection.execute(SQL(_DUE).format(threads))).fetchone()
            due = 0 if found is None else int(found[0])
    return QueueStatus(**row, folds_due=due)


async def failed_jobs(app: App, queue: str, *, limit: int, store: ThreadStore) -> list[FailedJob]:
    """Return the newest jobs of *queue* that were given up, and why *store* says they were."""
    rows = await connector_of(app).execute_query_all_async(_FAILED, queue=queue, limit=limit)
    return [FailedJob(**row, error=await _error(store, row)) for row in rows]


async def forget_failed(app: App, queue: str, *, lock: str, turn: str) -> None:
    """Delete the jobs of *queue* that have given up a turn which is tried again now."""
    await connector_of(app).execute_query_async(_FORGET, queue=queue, lock=lock, turn=turn)


async def _error(store: ThreadStore, job: Mapping[str, str]) -> str:
    if not (job["tenant"] and job["thread"] and job["turn"]):
        return ""
    # Without the key of an encrypted store the rest can be shown all the same.
    with suppress(StoreError):
        post = await Post.find(store, ThreadKey(job["tenant"], job["thread"]), job["turn"])
        return "" if post is None or post.failure is None else post.failure[0]
    return ""


async def status_of(
    store: ThreadStore, *, queue: str = "foldline", failed: int = 20
) -> tuple[QueueStatus, list[FailedJob]]:
    """
    Return how *queue* of an open *store* stands, and its newest *failed* jobs; no agent is needed.

    Raises:
        UsageError: There is no queue yet.
        ConfigError: The store is not on PostgreSQL.
    """
    app = own_app(store)
    with queue_errors():
        async with app.open_async():
            if not await app.check_connection_async():
                raise UsageError("this store has no queue yet: start a worker, or post a turn")
            status = await queue_status(app, queue, lease=store.context.turn_lease, store=store)
            return status, await failed_jobs(app, queue, limit=failed, store=store)
