"""Workers that answer turns from a queue in PostgreSQL."""

import asyncio
import logging
import re
from collections.abc import Mapping
from contextlib import AsyncExitStack, nullcontext
from signal import SIGTERM, getsignal
from time import monotonic
from typing import Final, Self

from msgspec import to_builtins
from procrastinate import App, Blueprint
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job
from procrastinate.manager import JobManager
from procrastinate.signals import on_stop
from procrastinate.types import JSONValue
from procrastinate.worker import Worker

from foldline.agent.agent import Agent
from foldline.agent.pace import NO_LIMITS, RateLimit, check_limits
from foldline.agent.turn_input import TurnInput
from foldline.checks import expect, expect_seconds, expect_whole
from foldline.errors import ConfigError, ExternalError, StoreError
from foldline.threads.key import DEFAULT_TENANT, ThreadKey, check_tenant, key_of
from foldline.threads.store import ThreadStore
from foldline.threads.waiters import pause
from foldline.workers.handle import LOOKS, PostedTurn
from foldline.workers.metrics import WorkerMetrics
from foldline.workers.news import News
from foldline.workers.queue import (
    cause_of,
    connector_of,
    has_other_tables,
    is_open,
    make_tables,
    own_app,
    patient_app,
    queue_error,
    queue_errors,
    sweep,
)
from foldline.workers.retries import Retries
from foldline.workers.status import FailedJob, QueueStatus, failed_jobs, forget_failed, queue_status
from foldline.workers.tasks import Duties, task_blueprint
from foldline.workers.turns import give_up_turn, put_turn


_LOG = logging.getLogger("foldline")
_QUEUE = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
_RETRIES: Final = Retries()
_POLLS: Final = 0.5
_ROUND: Final = 1.0
_SHOWS: Final = 0.4
# Workers of procrastinate give a sign of life every ten seconds.
_THEIR_LEASE: Final = 30.0


class Workers:
    """
    Answers turns on many threads in any number of processes, each turn once and in order.

    A program posts a message with `answer` and gets a handle, with which it, or another one, awaits
    the result. `run` does the work; `foldline worker --app module:workers` runs it. Jobs of one
    thread are done one after the other, those of a worker that has died by another one.

    Use it as an asynchronous context manager.
    """

    def __init__(
        self,
        agent: Agent,
        store: ThreadStore,
        *,
        queue: str = "foldline",
        retries: Retries = _RETRIES,
        lease: float | None = None,
        show_every: float | None = _SHOWS,
        metrics: WorkerMetrics | None = None,
        app: App | None = None,
    ) -> None:
        """
        Let *agent* answer on the threads of *store*.

        Args:
            store: Where the threads are, and the queue: a `PostgresStore`.
            queue: The name of the queue; agents of one store need different ones.
            retries: Which failures are tried again, and when.
            lease: After how many seconds without a sign of life a worker is dead: by default that of
                a turn in the store; 30 with an *app* of yours, whose workers give one every 10.
            show_every: How many seconds pass between two moments at which the text so far is stored
                for `stream`; None to store whole answers only.
            metrics: Measures the queue and its jobs, through OpenTelemetry.
            app: An app of yours to add the tasks to, in place of one of our own; its workers then do
                the jobs, too. It is opened with the store, unless it is open.

        Raises:
            ConfigError: An argument is wrong.
        """
        _check_parts(agent, store, queue, retries, metrics)
        for name, value in (("show_every", show_every), ("lease", lease)):
            if value is not None:
                expect_seconds(name, value)
        self.agent = agent
        """Who answers."""
        self.store = store
        """Where the threads are."""
        self.queue = queue
        """The name of the queue."""
        self.lease = lease or (store.context.turn_lease if app is None else _THEIR_LEASE)
        """After how many seconds without a sign of life a worker is dead."""
        self.app = own_app(store) if app is None else app
        """The app of procrastinate; `add_tasks_from` and all its other methods can be used."""
        self._is_own, self._retries, self._metrics = app is None, retries, metrics
        self._has_opened = False
        self._news = News(connector_of(self.app), f"foldline_{queue}")
        self._users, self._is_ready, self._opening = 0, False, asyncio.Lock()
        self.app.add_tasks_from(self._blueprint(show_every), namespace=queue)

    def _blueprint(self, show_every: float | None) -> Blueprint:
        duties = Duties(
            agent=self.agent,
            store=self.store,
            retries=self._retries,
            show_every=show_every,
            news=self._news,
            metrics=self._metrics,
            ready=self._ready,
            sweep=self.sweep,
        )
        return task_blueprint(duties, self.queue, sweeps=not self._is_own)

    async def open(self) -> Self:
        """
        Open the store and the queue, as entering the context does.

        Raises:
            StoreError: The server cannot be reached.
        """
        self._users += 1
        async with AsyncExitStack() as undone:
            undone.push_async_callback(self.close)
            await self._ready()
            undone.pop_all()
        return self

    async def _ready(self) -> None:
        async with self._opening:
            if self._is_ready:
                return
            await self.store.open()
            if not is_open(self.app):
                self._has_opened = True
                with queue_errors():
                    await self.app.open_async()
            if self._is_own:
                await make_tables(self.app, self.store)
            self._is_ready = True

    async def close(self) -> None:
        """Close what `open` has opened, as leaving the context does."""
        self._users = max(0, self._users - 1)
        if self._users:
            return
        await self._news.close()
        if self._has_opened:
            await self.app.close_async()
        await self.store.close()
        self._is_ready = self._has_opened = False

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def answer(
        self,
        thread_id: str | ThreadKey,
        message: TurnInput,
        *,
        turn_id: str | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> PostedTurn:
        """
        Post a message, to be answered by a worker, and return a handle of its turn.

        Arguments and errors are those of `post_turn`.
        """
        key = key_of(thread_id, tenant)
        name, had_failed = await put_turn(self.store, key, message, turn_id)
        lock = await self._put("answer", key, turn=name)
        if had_failed:
            with queue_errors():
                await forget_failed(self.app, self.queue, lock=lock, turn=name)
        return self.turn(key, name)

    def turn(
        self,
        thread_id: str | ThreadKey,
        turn_id: str,
        *,
        tenant: str = DEFAULT_TENANT,
        looks: float = LOOKS,
    ) -> PostedTurn:
        """
        Return the handle of a turn that was posted before, perhaps by another program.

        It is woken when there is something new to read; *looks* is how many seconds pass between two
        looks at the store if it is not.
        """
        key = key_of(thread_id, tenant)
        return PostedTurn(self.store, key, turn_id, looks=looks, wakes=self._news.waiting)

    async def fold(self, thread_id: str | ThreadKey, *, tenant: str = DEFAULT_TENANT) -> None:
        """
        Let a worker fold a thread, after what was posted to it before.

        Raises:
            StoreError: The server failed.
        """
        await self._put("fold", key_of(thread_id, tenant))

    async def refold(
        self,
        tenant: str = DEFAULT_TENANT,
        *,
        shards: int = 1,
        due_only: bool = False,
        limits: Mapping[str, RateLimit] = NO_LIMITS,
    ) -> None:
        """
        Let workers fold the threads of *tenant* as their agent would, each at most once.

        For another configuration or model, call it on `Workers` that have an agent with that, on a
        queue of their own. A job that is killed continues where it was stopped.

        Args:
            shards: How many jobs share them.
            limits: How much all of these jobs may ask in a minute, by the vendor: the name of a model
                before its colon.

        Raises:
            StoreError: The server failed.
        """
        check_tenant(tenant)
        expect_whole("shards", shards, 1)
        check_limits(limits, RateLimit)
        shares = {vendor: to_builtins(one.share(shards)) for vendor, one in limits.items()}
        for part in range(shards):
            ids: dict[str, JSONValue] = {"tenant": tenant, "part": part, "parts": shards}
            ids["due_only"] = due_only
            if shares:
                # A worker of an older version knows no limits.
                ids["limits"] = shares
            await self._defer("refold", f"{tenant} refold {part}", ids)

    async def _put(self, task: str, key: ThreadKey, **ids: str) -> str:
        # Jobs of one lock are done one after the other, in the order in which they were put.
        ids = {"tenant": key.tenant, "thread": key.id, **ids}
        lock = f"{key.tenant}/{key.id}"
        await self._defer(task, lock, ids)
        return lock

    async def _defer(self, task: str, lock: str, ids: Mapping[str, JSONValue]) -> None:
        put = self._opened().configure_task(f"{self.queue}:{task}", lock=lock, queue=self.queue)
        with queue_errors():
            await put.defer_async(**ids)

    def _opened(self) -> App:
        if not is_open(self.app):
            raise StoreError("the workers are not open: use `async with`, or await `open()`")
        return self.app

    async def status(self) -> QueueStatus:
        """Return how the queue stands."""
        store = self.store if self._is_own else None
        with queue_errors():
            return await queue_status(self._opened(), self.queue, lease=self.lease, store=store)

    async def failed(self, *, limit: int = 20) -> list[FailedJob]:
        """Return the newest jobs that were given up."""
        with queue_errors():
            return await failed_jobs(self._opened(), self.queue, limit=limit, store=self.store)

    async def run(
        self, *, concurrency: int = 10, patience: float = 30.0, wait: bool = True
    ) -> None:
        """
        Do the jobs of the queue until this process is told to stop, by SIGINT or SIGTERM.

        A program that handles SIGTERM itself, as web servers do, hears both itself, and cancels this.

        Args:
            patience: How many seconds turns that run have to end when the process is told to stop. A
                turn that has not ended by then is given back, and another worker continues it.
            wait: Whether to wait for more when no job is left that could begin.

        Raises:
            StoreError: The server cannot be reached.
        """
        expect_whole("concurrency", concurrency, 1)
        expect_seconds("patience", patience)
        stopped = asyncio.Event()
        app = patient_app(self.app, stopped, drains=not wait)
        async with self:
            is_theirs = callable(getsignal(SIGTERM))
            # Not by the worker, which would hear nothing between two starts.
            with nullcontext() if is_theirs else on_stop(stopped.set):
                while await self._goes_on(self._worker(app, concurrency, patience), stopped):
                    _LOG.warning("the worker of queue %s starts again", self.queue)
                    await pause(stopped, _ROUND)

    def _worker(self, app: App, concurrency: int, patience: float) -> Worker:
        return Worker(
            app,
            queues=[self.queue],
            name=self.queue,
            concurrency=concurrency,
            fetch_job_polling_interval=_POLLS,
            shutdown_graceful_timeout=patience,
            install_signal_handlers=False,
            # What is done is in the store.
            delete_jobs="successful",
            update_heartbeat_interval=self.lease / 3,
            stalled_worker_timeout=self.lease,
        )

    async def _goes_on(self, worker: Worker, stopped: asyncio.Event) -> bool:
        """Run *worker* until it is *stopped*, or fails: then another one has to go on."""
        ended = asyncio.Event()
        upkeep = asyncio.create_task(self._keep_up(worker, ended))
        asked = asyncio.create_task(stopped.wait())
        work = asyncio.create_task(worker.run())  # type: ignore[no-untyped-call]
        try:
            await asyncio.wait([work, asked], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            stopped.set()
            raise
        finally:
            worker.stop()  # type: ignore[no-untyped-call]
            await asyncio.wait([work])
            ended.set()
            asked.cancel()
            await asyncio.wait([upkeep, asked])
        try:
            work.result()
        except ConnectorException as error:
            # Taken for dead, perhaps after a pause of the machine; or there are no tables yet.
            reason = queue_error(error) if has_other_tables(error) else cause_of(error)
            _LOG.warning("the worker has ended (%s)", reason)
        return not stopped.is_set()

    async def _keep_up(self, worker: Worker, stopped: asyncio.Event) -> None:
        """Give signs of life, also while the last turns of a worker end, and take over jobs."""
        manager, quiet_until = JobManager(self.app.connector), 0.0
        # Told by an event: the driver may turn a cancellation into an error of its own.
        while not stopped.is_set():
            try:
                if worker.worker_id is not None:
                    await manager.update_heartbeat(worker.worker_id)
                # After an outage all workers look dead until they have given their next sign.
                if monotonic() > quiet_until:
                    await self.sweep()
                if self._metrics is not None:
                    self._metrics.stood(await self.status())
            except (ConnectorException, StoreError) as error:
                quiet_until = monotonic() + self.lease / 2
                _LOG.debug("jobs of dead workers wait (%s)", type(error).__name__)
            await pause(stopped, min(_ROUND, self.lease / 5))

    async def sweep(self) -> None:
        """Put the jobs of dead workers into the queue again; `run` does it every second."""
        most = self._retries.most_workers
        with queue_errors():
            taken = await sweep(
                self.app, self.queue, lease=self.lease, most=most, give_up=self._give_up
            )
        if self._metrics is not None and taken:
            self._metrics.took_over(taken)

    async def _give_up(self, job: Job) -> None:
        """Tell those who wait for *job* that its workers have died."""
        ids = {name: f"{job.task_kwargs.get(name, '')}" for name in ("tenant", "thread", "turn")}
        if all(ids.values()):
            key = ThreadKey(ids["tenant"], ids["thread"])
            error = ExternalError(
                "its workers died or were blocked, one after the other: see their logs"
            )
            await give_up_turn(self.store, key, ids["turn"], error)
            self._news.tell(key, ids["turn"])


def _check_parts(
    agent: object, store: object, queue: str, retries: object, metrics: object
) -> None:
    expect("agent", agent, Agent)
    expect("store", store, ThreadStore)
    expect("queue", queue, str)
    expect("retries", retries, Retries)
    expect("metrics", metrics, WorkerMetrics | None)
    if not _QUEUE.fullmatch(queue):
        raise ConfigError("queue must be 1 to 40 characters of a-z 0-9 _, and begin with a letter")
