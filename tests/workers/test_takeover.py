"""What becomes of a turn whose worker dies, stops, or loses its server."""

import asyncio
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from signal import SIGKILL, SIGTERM
from typing import Any

import psycopg
import pytest
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status

from foldline.errors import StoreError, TurnFailedError
from foldline.providers.model import ChatRequest
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.workers.queue import PatientManager, connector_of, sweep
from foldline.workers.retries import Retries
from foldline.workers.workers import Workers
from tests.servers.postgres import PostgresServer
from tests.workers.scenes import agent_of, listening, said, working


pytestmark = pytest.mark.posix

LEASE = 1.5
WORKER = [sys.executable, "-m", "tests.workers.hanging"]


@asynccontextmanager
async def hanging(dsn: str, *, patience: float) -> AsyncGenerator[Process]:
    """Start a worker whose model has been asked, and answers when it is told to."""
    arguments = [*WORKER[1:], dsn, f"{LEASE}", f"{patience}"]
    process = await asyncio.create_subprocess_exec(
        WORKER[0], *arguments, stdin=PIPE, stdout=PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"asked\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_dead_worker_is_followed_by_another(postgres_dsn: str) -> None:
    """A turn whose worker was killed is answered by another one, once, and so is what came after."""
    agent, model = agent_of(repeat="from another")
    workers = Workers(agent, PostgresStore(postgres_dsn, turn_lease=LEASE))
    async with workers:
        jobs = [await workers.answer("t", text) for text in ("first", "second")]
        async with hanging(postgres_dsn, patience=10) as process:
            process.send_signal(SIGKILL)
            await process.wait()
        async with working(workers):
            results = [(await job.result(timeout=30)).text for job in jobs]
        told = await said(workers.store, "t")

    assert results == ["from another"] * 2
    assert len(model.requests) == 2
    assert [text for role, text in told if role == "user"] == ["first", "second"]


async def test_a_worker_that_stops_ends_its_turns(postgres_dsn: str) -> None:
    """Told to stop, it takes no new job, and waits for the model of the turn that it runs."""
    workers = Workers(agent_of()[0], PostgresStore(postgres_dsn, turn_lease=LEASE))
    async with workers:
        job = await workers.answer("t", "hi")
        async with hanging(postgres_dsn, patience=30) as process:
            process.send_signal(SIGTERM)
            later = await workers.answer("other", "hi")
            assert process.stdin is not None
            process.stdin.write(b"\n")
            assert await process.wait() == 0
        result, status = await job.result(timeout=1), await workers.status()

    assert result.text == "from the process"
    assert (status.waiting, status.running, status.workers) == (1, 0, 0)
    assert later.key.id == "other"


async def test_a_worker_that_stops_gives_back_what_takes_too_long(postgres_dsn: str) -> None:
    """What has not ended when its patience is over is an open turn that waits for the next worker."""
    agent, _ = agent_of(repeat="from another")
    workers = Workers(agent, PostgresStore(postgres_dsn, turn_lease=LEASE))
    async with workers:
        job = await workers.answer("t", "hi")
        async with hanging(postgres_dsn, patience=0.01) as process:
            process.send_signal(SIGTERM)
            await process.wait()
        status = await workers.status()
        async with working(workers):
            result = await job.result(timeout=20)

    assert (status.waiting, status.running, status.failed) == (1, 0, 0)
    assert result.text == "from another"


async def test_a_worker_outlives_its_server(
    postgres_server: PostgresServer, postgres_dsn: str
) -> None:
    """The server ends in the middle of a turn and comes back: the turn is answered, once."""
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def slowly(_: ChatRequest) -> str:
        asked.set()
        await may_answer.wait()
        return "hello"

    agent, _ = agent_of(repeat=slowly)
    workers = Workers(
        agent, PostgresStore(postgres_dsn, turn_lease=LEASE), retries=Retries(first=0.1)
    )
    async with working(workers):
        jobs = [await workers.answer("t", text) for text in ("first", "second")]
        await asked.wait()
        await asyncio.to_thread(postgres_server.kill)
        may_answer.set()
        await asyncio.to_thread(postgres_server.start)
        results = [(await job.result(timeout=60)).text for job in jobs]
        told = await said(workers.store, "t")

    assert results == ["hello", "hello"]
    assert told == [
        ("user", "first"),
        ("assistant", "hello"),
        ("user", "second"),
        ("assistant", "hello"),
    ]


async def _taken(workers: Workers) -> tuple[int, Job]:
    """Take a job as a worker would that then says nothing any more."""
    manager = workers.app.job_manager
    worker = await manager.register_worker()
    job = await manager.fetch_job([workers.queue], worker)
    assert job is not None
    return worker, job


async def _forget(workers: Workers, worker: int) -> None:
    """Make a worker look dead."""
    old = "UPDATE procrastinate_workers SET last_heartbeat = now() - %(by)s WHERE id = %(id)s"
    await connector_of(workers.app).execute_query_async(old, by=timedelta(hours=1), id=worker)


async def test_a_job_that_its_workers_die_of_is_given_up(postgres_dsn: str) -> None:
    """The eighth is the last, though an error would end it at once; and who waits is told."""
    retries = Retries(most=1)
    workers = Workers(agent_of()[0], PostgresStore(postgres_dsn, turn_lease=LEASE), retries=retries)
    async with workers:
        job = await workers.answer("t", "hi")
        for _ in range(8):
            worker, _job = await _taken(workers)
            await _forget(workers, worker)
            await workers.sweep()
        status = await workers.status()
        with pytest.raises(TurnFailedError, match="workers died"):
            await job.result(timeout=1)

    assert (status.failed, status.waiting, status.stalled) == (1, 0, 0)


async def test_a_worker_that_lives_keeps_its_job(postgres_dsn: str) -> None:
    """The sweep takes over from the dead alone, and the status counts these."""
    # With the usual lease, so that it lives also where the test stands still.
    workers = Workers(agent_of()[0], PostgresStore(postgres_dsn))
    async with workers:
        await workers.answer("t", "hi")
        worker, _ = await _taken(workers)
        await workers.sweep()
        alive = await workers.status()
        await _forget(workers, worker)
        dead = await workers.status()
        await workers.sweep()
        after = await workers.status()

    assert (alive.running, alive.stalled) == (1, 0)
    assert (dead.running, dead.stalled) == (1, 1)
    assert (after.running, after.waiting) == (0, 1)


async def test_one_sweeps_at_a_time(postgres_dsn: str) -> None:
    """A second sweeper would take away what the first has just given to a worker that lives."""
    workers = Workers(agent_of()[0], PostgresStore(postgres_dsn, turn_lease=LEASE))
    async with workers:
        await workers.answer("t", "hi")
        worker, _ = await _taken(workers)
        await _forget(workers, worker)
        with psycopg.connect(postgres_dsn) as other:
            other.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended('foldline sweep foldline', 0))"
            )
            await workers.sweep()
            meanwhile = await workers.status()
        await workers.sweep()
        after = await workers.status()

    assert (meanwhile.running, after.running) == (1, 0)


async def test_who_waits_is_told_before_a_job_ends(postgres_dsn: str) -> None:
    """A job whose workers died ends when that is noted, and not before."""
    workers = Workers(agent_of()[0], PostgresStore(postgres_dsn, turn_lease=LEASE))
    noted = [StoreError("away"), None]

    async def give_up(_: Job) -> None:
        if error := noted.pop(0):
            raise error

    async with workers:
        await workers.answer("t", "hi")
        worker, _ = await _taken(workers)
        await _forget(workers, worker)
        found = []
        for _ in range(2):
            taken = await sweep(workers.app, "foldline", lease=LEASE, most=1, give_up=give_up)
            status = await workers.status()
            found.append((taken, status.stalled, status.failed))

    assert found == [(0, 1, 0), (1, 0, 1)]


async def test_a_worker_on_an_app_of_theirs_outlives_its_server(
    postgres_server: PostgresServer, postgres_dsn: str
) -> None:
    """The app of another program is as patient, as long as `run` does its jobs."""
    app = App(connector=PsycopgConnector(conninfo=postgres_dsn, reconnect_timeout=0.5))
    agent, _ = agent_of(repeat="hello")
    workers = Workers(agent, PostgresStore(postgres_dsn), app=app, lease=LEASE)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        async with working(workers):
            await (await workers.answer("t", "first")).result(timeout=20)
            await asyncio.to_thread(postgres_server.kill)
            await asyncio.to_thread(postgres_server.start)
            result = await (await workers.answer("t", "second")).result(timeout=60)

    assert result.text == "hello"


async def _tick(timestamp: int) -> None:
    del timestamp


async def test_a_worker_starts_again_where_another_part_fails(
    postgres_dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A periodic task of theirs that the server refuses ends no process as if it were told to stop."""
    workers = Workers(agent_of(repeat="hello")[0], PostgresStore(postgres_dsn))
    workers.app.periodic(cron="* * * * * *")(workers.app.task(name="tick")(_tick))
    refuse = "DROP FUNCTION procrastinate_defer_periodic_job_v2"
    async with workers:
        await connector_of(workers.app).execute_query_async(refuse)
        async with listening("starts again") as failed, working(workers), asyncio.timeout(30):
            await failed.wait()
            result = await (await workers.answer("t", "hi")).result(timeout=30)

    assert result.text == "hello"
    assert "Side task deferrer failed" in caplog.text


@pytest.mark.slow
async def test_a_worker_stops_without_its_server(
    postgres_server: PostgresServer, postgres_dsn: str
) -> None:
    """Told to stop while the server is away, it does not wait for that; another one goes on."""
    workers = Workers(
        agent_of(repeat="from another")[0], PostgresStore(postgres_dsn, turn_lease=LEASE)
    )
    async with workers:
        job = await workers.answer("t", "hi")
    async with hanging(postgres_dsn, patience=0.01) as process:
        await asyncio.to_thread(postgres_server.kill)
        process.send_signal(SIGTERM)
        code = await asyncio.wait_for(process.wait(), 60)
    await asyncio.to_thread(postgres_server.start)
    async with working(workers):
        result = await workers.turn("t", job.turn_id).result(timeout=60)

    assert code == 0
    assert result.text == "from another"


class FailingConnector(PsycopgConnector):
    """Fails to do what it is told, with one error after the other, and then does it."""

    def __init__(self, *errors: psycopg.Error) -> None:
        super().__init__()
        self.errors = list(errors)
        self.asked = asyncio.Event()

    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        """Raise the next error, as often as there is one."""
        self.asked.set()
        if self.errors:
            raise ConnectorException from self.errors.pop(0)


JOB = Job(id=1, queue="foldline", lock="t", queueing_lock=None, task_name="foldline:answer")


@pytest.mark.parametrize(
    ("error", "left"),
    [
        (psycopg.OperationalError(), 0),
        (psycopg.errors.ReadOnlySqlTransaction(), 0),
        (psycopg.errors.RaiseException(), 1),
    ],
    ids=repr,
)
async def test_the_end_of_a_job_is_told(error: psycopg.Error, left: int) -> None:
    """It is told until the server takes it, or says that it knows: else the job would run for ever."""
    connector = FailingConnector(error, psycopg.errors.RaiseException())
    await PatientManager(connector, asyncio.Event()).finish_job(JOB, Status.SUCCEEDED, True)

    assert len(connector.errors) == left


async def test_a_worker_that_stops_tells_no_longer() -> None:
    """Without a server it would never end."""
    connector, stopped = FailingConnector(*[psycopg.OperationalError()] * 1000), asyncio.Event()
    telling = asyncio.create_task(
        PatientManager(connector, stopped).finish_job(JOB, Status.SUCCEEDED, True)
    )
    await connector.asked.wait()
    assert not telling.done()
    stopped.set()
    await asyncio.wait_for(telling, 20)

    assert connector.errors


class LosingConnector(PsycopgConnector):
    """Loses the answer to the first request for a job."""

    has_lost = False

    async def execute_query_one_async(self, query: Any, **arguments: Any) -> dict[str, Any]:
        """Run *query*, and break off before its answer is given."""
        answer: dict[str, Any] = await super().execute_query_one_async(query, **arguments)
        if "procrastinate_fetch_job" in query and not self.has_lost:
            self.has_lost = True
            raise ConnectorException from psycopg.OperationalError()
        return answer


async def test_a_job_that_got_lost_on_the_way_is_given_back(postgres_dsn: str) -> None:
    """The server gave it to a worker that never heard of it, and still lives."""
    workers = Workers(agent_of()[0], PostgresStore(postgres_dsn))
    async with workers:
        await workers.answer("t", "hi")
        ours = connector_of(workers.app)
        losing = LosingConnector()
        await losing.open_async(ours.pool)
        manager = PatientManager(losing, asyncio.Event())
        worker = await manager.register_worker()
        lost = await manager.fetch_job([workers.queue], worker)
        found = await manager.fetch_job([workers.queue], worker)

    assert lost is None
    assert found is not None
    assert found.attempts == 1
