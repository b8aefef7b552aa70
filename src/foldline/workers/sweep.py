"""What takes over the jobs of dead workers."""

import logging
from collections.abc import Awaitable, Callable

from procrastinate import App
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager

from foldline.errors import StoreError, ThreadConflictError
from foldline.workers.queue import AT_ONCE, connector_of


__all__ = ["sweep"]


_LOG = logging.getLogger("foldline")
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"


async def sweep(
    app: App, queue: str, *, lease: float, most: int, give_up: Callable[[Job], Awaitable[None]]
) -> int:
    """
    Put the jobs of *queue* whose workers are dead into the queue again, and return how many.

    A worker is dead after *lease* seconds without a sign of life. A job that was tried *most* times is
    given up: *give_up* tells those who wait for it.
    """
    async with connector_of(app).pool.connection() as connection, connection.transaction():
        # Of two sweepers the second would take away what the first has given to a worker that lives.
        found = await connection.execute(_TRY_LOCK, [f"foldline sweep {queue}"])
        if await found.fetchone() != (True,):
            return 0
        stalled = await app.job_manager.get_stalled_jobs(queue=queue, seconds_since_heartbeat=lease)
        taken = 0
        for job in stalled:
            is_last = job.attempts + 1 >= most
            taken += await _taken(app.job_manager, job, give_up if is_last else None)
    return taken


async def _taken(
    manager: JobManager, job: Job, give_up: Callable[[Job], Awaitable[None]] | None
) -> bool:
    if job.id is None:
        return False
    try:
        if give_up is not None:
            await give_up(job)
            await manager.finish_job_by_id_async(job.id, Status.FAILED, delete_job=False)
        else:
            await manager.retry_job_by_id_async(job.id, AT_ONCE)
    except (StoreError, ThreadConflictError):
        # The next sweep tells those who wait.
        return False
    except ConnectorException:
        # Its worker was alive after all, and has ended it.
        return False
    _LOG.warning("job %d is taken over: its worker is dead", job.id)
    return True
