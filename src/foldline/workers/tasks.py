"""The tasks of procrastinate: what its workers do with a job that holds ids."""

import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Mapping
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


__all__ = ["Duties", "task_blueprint"]


_LOG = logging.getLogger("foldline")
_OFTEN: Final = "* * * * * */5"
_FORGET: Final = (
    "DELETE FROM procrastinate_jobs WHERE id = ANY(%(jobs)s) AND status IN ('succeeded', 'failed')"
)


class Duties(Struct, frozen=True, kw_only=True):
    """What the tasks work with."""

    agent: Agent
    """Who answers."""

    store: ThreadStore
    """Where the threads are."""

    retries: Retries
    """Which failures are tried again."""

    show_every: float | None
    """How many seconds pass between two moments at which the text so far is stored."""

    news: News
    """Whom to tell about it."""

    metrics: WorkerMetrics | None
    """What measures the jobs."""

    ready: Callable[[], Awaitable[None]]
    """What opens the store, unless it is open."""

    sweep: Callable[[], Awaitable[None]]
    """What takes over the jobs of dead workers."""


class _Again(BaseRetryStrategy):
    def __init__(self, retries: Retries) -> None:
        self._retries = retries
        self.untold: set[int] = set()
        """Which jobs end now, and have to be tried again to say so."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        pause = _pause(self._retries, exception, job)
        if job.id in self.untold:
            self.untold.remove(job.id)
            pause = self._retries.longest
        if pause is None:
            return None
        return RetryDecision(retry_at=datetime.now().astimezone() + timedelta(seconds=pause))


def _pause(retries: Retries, error: BaseException, job: Job) -> float | None:
    return retries.pause(error, tried=job.attempts, job=job.id or 0)


class _Attempt:
    """One try of a job: what it ended with, and whether there is another one."""

    def __init__(self, duties: Duties, context: JobContext) -> None:
        self._duties = duties
        self._context = context
        self._began = monotonic()
        self.error: BaseException | None = None
        self.is_last = True

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        job, duties, self.error = self._context.job, self._duties, error
        is_unwanted = self._context.abort_reason() is AbortReason.USER_REQUEST
        if error is not None and not is_unwanted:
            self.is_last = _pause(duties.retries, error, job) is None
        if error is not None:
            then = "given up" if self.is_last else "tried again"
            if isinstance(error, CancelledError) and not self.is_last:
                then = "given back"
            _LOG.warning("job %d is %s: %s", job.id or 0, then, error_type(error))
        if duties.metrics is not None:
            task = job.task_name.rpartition(":")[2]
            duties.metrics.ended(task, monotonic() - self._began, error, is_last=self.is_last)


class _Tasks:
    def __init__(self, duties: Duties, again: _Again) -> None:
        self._duties = duties
        self._again = again
        self._swept: list[int] = []

    async def answer(self, context: JobContext, *, tenant: str, thread: str, turn: str) -> None:
        key, duties = ThreadKey(tenant, thread), self._duties
        attempt = _Attempt(duties, context)
        try:
            async with attempt:
                await duties.ready()
                await answer_turn(
                    duties.agent,
                    duties.store,
                    key,
                    turn,
                    show_every=duties.show_every,
                    shown=lambda: duties.news.tell(key, turn),
                )
        finally:
            if attempt.is_last and attempt.error is not None:
                await self._give_up(context.job, key, turn, attempt.error)
            duties.news.tell(key, turn)

    async def _give_up(self, job: Job, key: ThreadKey, turn: str, error: BaseException) -> None:
        try:
            await give_up_turn(self._duties.store, key, turn, error)
        except (StoreError, ThreadConflictError):
            # Those who wait would never be told.
            self._again.untold.add(job.id or 0)

    async def fold(self, context: JobContext, *, tenant: str, thread: str) -> None:
        async with _Attempt(self._duties, context):
            await self._duties.ready()
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
        async with _Attempt(duties, context):
            await duties.ready()
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
    """
    Return the tasks as a blueprint, for jobs in *queue*.

    It *sweeps* from time to time if nothing else takes over the jobs of dead workers.
    """
    blueprint, again = Blueprint(), _Again(duties.retries)
    tasks = _Tasks(duties, again)
    options = partial(blueprint.task, queue=queue, retry=again, pass_context=True)
    options(name="answer")(tasks.answer)
    options(name="fold")(tasks.fold)
    options(name="refold")(tasks.refold)
    if sweeps:
        lock = f"{queue} take over"
        often = blueprint.periodic(cron=_OFTEN, queueing_lock=lock)
        # Before all turns that wait, or those of a dead worker would wait for them.
        first = blueprint.task(name="take_over", queue=queue, pass_context=True, priority=1)
        often(first(tasks.take_over))
    return blueprint
