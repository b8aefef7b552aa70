"""What takes over the jobs of dead workers."""

import logging
from datetime import datetime

from procrastinate import App
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager

from foldline.workers.queue import connector_of


__all__ = ["sweep"]


_LOG = logging.getLogger("foldline")
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"


async def sweep(app: App, queue: str, *, lease: float, most: int) -> tuple[list[Job], list[Job]]:
    """
    Put the jobs of *queue* whose workers are dead into the queue again.

    Returns those that are there again, and those that are given up.

    Args:
        app: The app of the queue.
        queue: The name of the queue.
        lease: After how many seconds without a sign of life a worker is dead.
        most: How often a job is tried: one that its workers die of is given up in the end.
    """
    again: list[Job] = []
    given_up: list[Job] = []
    async with connector_of(app).pool.connection() as connection, connection.transaction():
        # Of two sweepers the second would take away what the first has given to a worker that lives.
        found = await connection.execute(_TRY_LOCK, [f"foldline sweep {queue}"])
        if await found.fetchone() != (True,):
            return again, given_up
        stalled = await app.job_manager.get_stalled_jobs(queue=queue, seconds_since_heartbeat=lease)
        for job in stalled:
            is_last = job.attempts + 1 >= most
            if await _taken(app.job_manager, job, is_last=is_last):
                (given_up if is_last else again).append(job)
    return again, given_up


async def _taken(manager: JobManager, job: Job, *, is_last: bool) -> bool:
    if job.id is None:
        return False
    try:
        if is_last:
            await manager.finish_job_by_id_async(job.id, Status.FAILED, delete_job=False)
        else:
            await manager.retry_job_by_id_async(job.id, datetime.now().astimezone())
    except ConnectorException:
        # Its worker was alive after all, and has ended it.
        return False
    _LOG.warning("job %d is taken over: its worker is dead", job.id)
    return True
