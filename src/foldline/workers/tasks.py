"""The tasks of procrastinate: what its workers do with a job that holds ids."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from msgspec import Struct
from procrastinate import Blueprint, JobContext
from procrastinate.job_context import AbortReason
from procrastinate.jobs import Job
from procrastinate.retry import BaseRetryStrategy, RetryDecision

from foldline.agent.agent import Agent
from foldline.errors import StoreError, ThreadConflictError
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.workers.news import News
from foldline.workers.retries import Retries
from foldline.workers.turns import answer_turn, fold_thread, give_up_turn


__all__ = ["Duties", "task_blueprint"]


_OFTEN: Final = "* * * * * */5"


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

    ready: Callable[[], Awaitable[None]]
    """What opens the store, unless it is open."""

    sweep: Callable[[], Awaitable[None]]
    """What takes over the jobs of dead workers."""


class _Again(BaseRetryStrategy):
    def __init__(self, retries: Retries) -> None:
        self._retries = retries

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        pause = _pause(self._retries, exception, job)
        if pause is None:
            return None
        return RetryDecision(retry_at=datetime.now().astimezone() + timedelta(seconds=pause))


def _pause(retries: Retries, error: BaseException, job: Job) -> float | None:
    return retries.pause(error, tried=job.attempts, job=job.id or 0)


def task_blueprint(duties: Duties, queue: str, *, sweeps: bool) -> Blueprint:
    """
    Return the tasks as a blueprint, for jobs in *queue*.

    It *sweeps* from time to time if nothing else takes over the jobs of dead workers.
    """
    blueprint = Blueprint()
    options = partial(blueprint.task, queue=queue, retry=_Again(duties.retries))

    async def answer(context: JobContext, *, tenant: str, thread: str, turn: str) -> None:
        key = ThreadKey(tenant, thread)
        try:
            await duties.ready()
            await answer_turn(
                duties.agent,
                duties.store,
                key,
                turn,
                show_every=duties.show_every,
                shown=lambda: duties.news.tell(key, turn),
            )
        except BaseException as error:
            is_unwanted = context.abort_reason() is AbortReason.USER_REQUEST
            if is_unwanted or _pause(duties.retries, error, context.job) is None:
                with suppress(StoreError, ThreadConflictError):
                    await give_up_turn(duties.store, key, turn, error)
                duties.news.tell(key, turn)
            raise
        duties.news.tell(key, turn)

    async def fold(context: JobContext, *, tenant: str, thread: str) -> None:
        del context
        await duties.ready()
        await fold_thread(duties.agent, duties.store, ThreadKey(tenant, thread))

    async def take_over(context: JobContext, timestamp: int) -> None:
        del context, timestamp
        await duties.ready()
        await duties.sweep()

    options(name="answer", pass_context=True)(answer)
    options(name="fold", pass_context=True)(fold)
    if sweeps:
        lock = f"{queue} take over"
        often = blueprint.periodic(cron=_OFTEN, queueing_lock=lock)
        often(blueprint.task(name="take_over", queue=queue, pass_context=True)(take_over))
    return blueprint
