"""The tasks of procrastinate: what its workers do with a job that holds ids."""

import logging
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Final

import msgspec
from msgspec import Struct
from procrastinate import Blueprint, JobContext
from procrastinate.job_context import AbortReason
from procrastinate.jobs import Job
from procrastinate.retry import BaseRetryStrategy, RetryDecision

from foldline.agent.agent import Agent
from foldline.agent.pace import RateLimit
from foldline.agent.telemetry.conventions import error_type
from foldline.errors import StoreError, ThreadConflictError
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.workers.metrics import WorkerMetrics
from foldline.workers.news import News
from foldline.workers.queue import connector_of
from foldline.workers.retries import Retries
from foldline.workers.turns import answer_turn, fold_thread, give_up_turn, refold_tenant


_LOG = logging.getLogger("foldline")
_FORGET: Final = (
    "DELETE FROM procrastinate_jobs WHERE id = ANY(%(jobs)s) AND status IN ('succeeded', 'failed')"
)


class Duties(Struct, frozen=True, kw_only=True):
    """What the tasks work with."""

    agent: Agent
    store: ThreadStore
    retries: Retries
    show_every: float | None
    news: News
    metrics: WorkerMetrics | None
    # Opens the store, unless it is open.
    ready: Callable[[], Awaitable[None]]
    # Takes over the jobs of dead workers.
    sweep: Callable[[], Awaitable[None]]


class _Tasks(BaseRetryStrategy):
    """What is done with a job, and whether one that failed is tried again."""

    def __init__(self, duties: Duties) -> None:
        self._duties = duties
        self._swept: list[int] = []
        # Which jobs end now, and have to be tried again to say so.
        self._untold: set[int] = set()

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        pause = self._pause(exception, job)
        if job.id in self._untold:
            self._untold.remove(job.id)
            pause = self._duties.retries.longest
        if pause is None:
            return None
        return RetryDecision(retry_at=datetime.now().astimezone() + timedelta(seconds=pause))

    def _pause(self, error: BaseException, job: Job) -> float | None:
        return self._duties.retries.pause(error, tried=job.attempts, job=job.id or 0)

    @asynccontextmanager
    async def _attempt(
        self,
        context: JobContext,
        *,
        give_up: Callable[[BaseException], Awaitable[None]] | None = None,
    ) -> AsyncGenerator[None, None]:
        """Do one try of a job; *give_up* is called if it fails and there is no other one."""
        began, error, is_last = monotonic(), None, True
        try:
            await self._duties.ready()
            yield
        except BaseException as failure:
            error, job = failure, context.job
            if context.abort_reason() is not AbortReason.USER_REQUEST:
                is_last = self._pause(error, job) is None
            then = "given up" if is_last else "tried again"
            if isinstance(error, CancelledError) and not is_last:
                then = "given back"
            _LOG.warning("job %d is %s: %s", job.id or 0, then, error_type(error))
            if is_last and give_up is not None:
                await give_up(error)
            raise
        finally:
            if (metrics := self._duties.metrics) is not None:
                task = context.job.task_name.rpartition(":")[2]
                metrics.ended(task, monotonic() - began, error, is_last=is_last)

    async def answer(self, context: JobContext, *, tenant: str, thread: str, turn: str) -> None:
        key, duties = ThreadKey(tenant, thread), self._duties

        async def give_up(error: BaseException) -> None:
            try:
                await give_up_turn(duties.store, key, turn, error)
            except (StoreError, ThreadConflictError):
                # Those who wait would never be told.
                self._untold.add(context.job.id or 0)

        try:
            async with self._attempt(context, give_up=give_up):
                await answer_turn(
                    duties.agent,
                    duties.store,
                    key,
                    turn,
                    show_every=duties.show_every,
                    shown=lambda: duties.news.tell(key, turn),
                )
        finally:
            duties.news.tell(key, turn)

    async def fold(self, context: JobContext, *, tenant: str, thread: str) -> None:
        async with self._attempt(context):
            await fold_thread(self._duties.agent, self._duties.store, ThreadKey(tenant, thread))

    async def refold(
        self,
        context: JobContext,
        *,
        tenant: str,
        part: int,
        parts: int,
        due_only: bool,
        limits: Mapping[str, Mapping[str, int | None]] | None = None,
    ) -> None:
        duties, bounds = self._duties, msgspec.convert(limits or {}, dict[str, RateLimit])
        async with self._attempt(context):
            await refold_tenant(
                duties.agent,
                duties.store,
                tenant,
                shard=(part, parts),
                due_only=due_only,
                limits=bounds,
            )

    async def take_over(self, context: JobContext, timestamp: int) -> None:
        del timestamp
        await self._duties.ready()
        await self._duties.sweep()
        # Workers that keep what is done would keep seventeen thousand of these a day.
        await connector_of(context.app).execute_query_async(_FORGET, jobs=self._swept)
        self._swept = [context.job.id or 0]


def task_blueprint(duties: Duties, queue: str, *, sweeps: bool) -> Blueprint:
    """Return the tasks for *queue*, with one that *sweeps* if nothing else looks for dead workers."""
    blueprint, tasks = Blueprint(), _Tasks(duties)
    options = partial(blueprint.task, queue=queue, retry=tasks, pass_context=True)
    options(name="answer")(tasks.answer)
    options(name="fold")(tasks.fold)
    options(name="refold")(tasks.refold)
    if sweeps:
        lock = f"{queue} take over"
        often = blueprint.periodic(cron="* * * * * */5", queueing_lock=lock)
        # Before all turns that wait, or those of a dead worker would wait for them.
        first = blueprint.task(name="take_over", queue=queue, pass_context=True, priority=1)
        often(first(tasks.take_over))
    return blueprint
