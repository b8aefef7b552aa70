"""The queue: an app of procrastinate beside the tables of a store, and its way through an outage."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Final

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AppNotOpen, ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager, NotificationCallback
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

from foldline.errors import ConfigError, StoreError, ThreadConflictError
from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.link import store_error, try_again
from foldline.threads.stores.postgres.store import PostgresStorage
from foldline.threads.waiters import pause


_LOG = logging.getLogger("foldline")
_PAUSE: Final = 0.5
_POOL: Final = 4
_TIMEOUT: Final = 5.0
_TRY_LOCK: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"
AT_ONCE: Final = datetime.fromtimestamp(0, UTC)
"""When a job is due that need not wait, whatever the clocks of workers and server say."""

# What says that the server could not be reached, or has gone away in the middle.
_AWAY = (psycopg.OperationalError, psycopg.InterfaceError)


def own_app(store: ThreadStore) -> App:
    """Return an app with tables in a schema beside that of *store*, or raise ConfigError."""
    storage = store.context.storage
    if not isinstance(storage, PostgresStorage):
        message = "workers need a PostgresStore, or an app of procrastinate to put their jobs in"
        raise ConfigError(message)
    schema = f"{storage.link.schema}_queue"
    connector = PsycopgConnector(
        conninfo=storage.link.dsn,
        min_size=1,
        max_size=_POOL,
        timeout=_TIMEOUT,
        configure=partial(_configure, schema),
        # Not later and later: the server is back within seconds.
        reconnect_timeout=0.0,
        reconnect_failed=try_again,
        # A server that has gone without a word is given up, as that of the store is.
        kwargs={"connect_timeout": int(_TIMEOUT), "tcp_user_timeout": int(1000 * _TIMEOUT)},
    )
    return App(connector=connector)


def patient_app(app: App, stopped: asyncio.Event, *, drains: bool = False) -> App:
    """Return *app* for a worker that outlives its server, until *stopped* is set: see below."""
    made = App(
        connector=app.connector,
        periodic_defaults=app.periodic_defaults,  # pyright: ignore[reportUnknownMemberType] - theirs
    )
    made.tasks = app.tasks  # pyright: ignore[reportUnknownMemberType] - theirs
    made.periodic_registry = app.periodic_registry
    made.job_manager = PatientManager(connector_of(app), stopped, drains=drains)
    return made


async def _configure(schema: str, connection: AsyncConnection[object]) -> None:
    await connection.set_autocommit(True)
    await connection.execute("SELECT set_config('search_path', %s, false)", [f'"{schema}"'])
    # Each statement is planned for a handful of rows: compiling it would take longer than running it.
    await connection.execute("SET jit = off")


async def make_tables(app: App, store: ThreadStore) -> None:
    """Create the tables of the queue if they are not there; StoreError if the server refuses."""
    storage = store.context.storage
    if not isinstance(storage, PostgresStorage):
        return
    schema = f"{storage.link.schema}_queue"
    try:
        async with connector_of(app).pool.connection() as connection, connection.transaction():
            # Of several programs that start at once, one makes them.
            await connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"foldline {schema}"]
            )
            found = await connection.execute("SELECT to_regclass('procrastinate_jobs') IS NOT NULL")
            if await found.fetchone() == (True,):
                return
            await connection.execute(
                SQL("CREATE SCHEMA IF NOT EXISTS {}").format(Identifier(schema))
            )
            await connection.execute(app.schema_manager.get_schema())
            # Of a thread with a long line of jobs, the first is found by one look.
            await connection.execute(
                "CREATE INDEX foldline_jobs_of_lock ON procrastinate_jobs (lock, priority, id)"
                " WHERE status IN ('todo', 'doing')"
            )
    except psycopg.Error as error:
        raise StoreError(f"the tables of the queue cannot be made: {store_error(error)}") from None


def connector_of(app: App) -> PsycopgConnector:
    """Return the connector of *app*; ConfigError if it is not one for psycopg."""
    if not isinstance(app.connector, PsycopgConnector):
        raise ConfigError("the app must have a PsycopgConnector")
    return app.connector


def cause_of(error: Exception) -> str:
    """Return the kind of what *error* of the queue comes from, which quotes nothing."""
    return type(error.__cause__ or error).__name__


@contextmanager
def queue_errors() -> Generator[None]:
    """Raise what the driver of a queue raises as a StoreError, which quotes nothing."""
    try:
        yield
    except (ConnectorException, psycopg.Error) as error:
        raise queue_error(error) from None


def queue_error(error: Exception) -> StoreError:
    """Return *error*, which the driver of a queue has raised, without what it may quote."""
    text = "the queue cannot be reached ({}): try again, with the same turn_id"
    if has_other_tables(error):
        text = (
            "run `procrastinate schema --apply`, or its migrations: the queue has other tables ({})"
        )
    return StoreError(text.format(cause_of(error)))


def has_other_tables(error: Exception) -> bool:
    """Whether tables or functions of the queue are missing, or those of another version."""
    return isinstance(error.__cause__ or error, psycopg.ProgrammingError)


def is_open(app: App) -> bool:
    """Whether *app* has its connections."""
    try:
        return not connector_of(app).pool.closed
    except AppNotOpen:
        return False


def check_cancelled() -> None:
    """Raise CancelledError if this task was cancelled: the driver may have raised something else."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class PatientManager(JobManager):
    """Keeps a worker alive while the server is away, and tells it later how its jobs ended."""

    def __init__(
        self, connector: PsycopgConnector, stopped: asyncio.Event, *, drains: bool = False
    ) -> None:
        """
        Use the database of *connector*, and wait no longer for it once *stopped* is set.

        With *drains* it is set here, when no job is left and none is done: one that is done may be
        what another one of its thread waits for.
        """
        super().__init__(connector)
        self._stopped, self._drains = stopped, drains
        self._mine: set[int] = set()
        self._may_have_lost = False

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """Return a job to do; None if there is none, or the server is away."""
        try:
            if self._may_have_lost:
                await self._give_back(worker_id)
                self._may_have_lost = False
            is_idle = not self._mine
            job = await super().fetch_job(queues, worker_id)
        except ConnectorException as error:
            if not isinstance(error.__cause__, _AWAY):
                raise
            self._may_have_lost = True
            _LOG.warning("the queue cannot be reached (%s)", cause_of(error))
            return None
        if job is not None and job.id is not None:
            self._mine.add(job.id)
        elif self._drains and is_idle:
            self._stopped.set()
        return job

    async def _give_back(self, worker_id: int) -> None:
        for job in await self.list_jobs_async(status=Status.DOING.value, worker_id=worker_id):
            if job.id is not None and job.id not in self._mine:
                await super().retry_job_by_id_async(job.id, AT_ONCE)

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:  # noqa: FBT001 - theirs
        """Store the end of *job*, as soon as that can be done."""
        await self._until_done(partial(super().finish_job, job, status, delete_job))
        self._mine.discard(job.id or 0)

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Put *job* into the queue again, as soon as that can be done."""
        await self._until_done(partial(super().retry_job, job, retry_at, priority, queue, lock))
        self._mine.discard(job.id or 0)

    async def update_heartbeat(self, worker_id: int) -> None:
        """Say that a worker lives, unless the server is away."""
        with suppress(ConnectorException):
            await super().update_heartbeat(worker_id)

    async def unregister_worker(self, worker_id: int) -> None:
        """Say that a worker has ended, unless the server is away: then its heartbeat runs out."""
        with suppress(ConnectorException):
            await super().unregister_worker(worker_id)

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Pass on what the server tells about new jobs, for as long as the worker lives."""
        while True:
            try:
                await super().listen_for_jobs(on_notification=on_notification, queues=queues)
            except ConnectorException:
                check_cancelled()
                await asyncio.sleep(_PAUSE)

    async def _until_done(self, call: Callable[[], Awaitable[None]]) -> None:
        while not await self._is_done(call):
            await pause(self._stopped, _PAUSE)

    async def _is_done(self, call: Callable[[], Awaitable[None]]) -> bool:
        was_stopped = self._stopped.is_set()
        try:
            await call()
        except ConnectorException as error:
            if isinstance(error.__cause__, psycopg.errors.RaiseException):
                # It was done and the answer was lost, or another worker has taken the job over.
                _LOG.debug("the end of a job was told already")
            elif was_stopped:
                # Another worker takes it over, and finds in the store what has become of it.
                _LOG.warning("the end of a job is not told (%s)", cause_of(error))
            else:
                return False
        return True


async def sweep(
    app: App, queue: str, *, lease: float, most: int, give_up: Callable[[Job], Awaitable[None]]
) -> int:
    """Give back or up the jobs of workers silent for *lease* seconds, and return how many."""
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
    except (StoreError, ThreadConflictError, ConnectorException):
        # The next sweep tells those who wait, or its worker was alive after all and has ended it.
        return False
    _LOG.warning("job %d is taken over: its worker is dead, or its loop is blocked", job.id)
    return True
