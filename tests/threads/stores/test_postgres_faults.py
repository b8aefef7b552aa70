"""A PostgreSQL that fails: restarted, killed, slow, silent or busy."""

import asyncio
import time

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool

from foldline.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
)
from foldline.history.messages import Message
from foldline.threads.stores.postgres.link import PostgresLink, store_error
from foldline.threads.stores.postgres.store import PostgresStore
from tests.servers.postgres import PostgresServer


SECRET = "the bride wore green"

# The most seconds for a call with a short deadline, on a busy machine.
FAR = 30.0


async def texts(dsn: str, name: str = "t") -> list[str]:
    """Return the texts of a thread, as another store reads them."""
    async with PostgresStore(dsn) as store:
        thread = await store.find(name)
        return [] if thread is None else [one.text for one in await thread.get_messages()]


def sessions(dsn: str) -> int:
    """Return how many sessions stores have at the server."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'foldline %'"
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query).fetchone()
    return 0 if row is None else row[0]


async def test_restart_between_calls_heals(
    postgres_server: PostgresServer, postgres_dsn: str
) -> None:
    """
    A server that was restarted between two calls is not even noticed, with many connections open.
    """
    async with PostgresStore(postgres_dsn, pool_size=6) as store:
        threads = await asyncio.gather(*(store.thread(f"t{n}") for n in range(6)))
        for restart in (postgres_server.restart, postgres_server.kill):
            await asyncio.to_thread(restart)
            if postgres_server.pid is None:
                await asyncio.to_thread(postgres_server.start)
            await asyncio.gather(*(one.add_message(Message.user("x")) for one in threads))
        assert sum([len(await texts(postgres_dsn, one.id)) for one in threads]) == 12


@pytest.mark.slow
async def test_stopped_server(postgres_server: PostgresServer, postgres_dsn: str) -> None:
    """While the server is down calls fail in time, and when it is back the next one does not."""
    async with PostgresStore(postgres_dsn, timeout=2.0) as store:
        thread = await store.thread("t")
        await asyncio.to_thread(postgres_server.kill)
        began = time.monotonic()
        with pytest.raises(StoreError, match="cannot be reached"):
            await thread.add_message(Message.user("lost"))
        with pytest.raises(StoreError, match="cannot be reached"):
            await PostgresStore(postgres_dsn).open()
        down = time.monotonic() - began
        await asyncio.to_thread(postgres_server.start)
        await thread.add_message(Message.user("kept"))

    assert down < FAR
    assert await texts(postgres_dsn) == ["kept"]


async def test_waiting_call_outlives_a_restart(
    postgres_server: PostgresServer, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that begins while the server is down succeeds when it is up, within its time."""
    failed, check = asyncio.Event(), AsyncConnectionPool.check

    # Called after an attempt to connect has failed, for another one.
    async def watched(pool: AsyncConnectionPool) -> None:
        failed.set()
        await check(pool)

    monkeypatch.setattr(AsyncConnectionPool, "check", watched)
    async with PostgresStore(postgres_dsn, timeout=60.0) as store:
        thread = await store.thread("t")
        await asyncio.to_thread(postgres_server.kill)
        writing = asyncio.create_task(thread.add_message(Message.user("x")))
        await failed.wait()
        await asyncio.to_thread(postgres_server.start)
        await writing

    assert await texts(postgres_dsn) == ["x"]


async def test_locked_thread(postgres_dsn: str) -> None:
    """If another transaction locks a thread, a commit is refused in time and nothing is written."""
    async with PostgresStore(postgres_dsn, timeout=2.0) as store:
        thread = await store.thread("t")
        with psycopg.connect(postgres_dsn) as other:
            other.execute("SELECT * FROM foldline.threads FOR UPDATE")
            began = time.monotonic()
            with pytest.raises(StoreBusyError, match="kept a lock"):
                await thread.add_message(Message.user("x"))
            waited = time.monotonic() - began
        assert await texts(postgres_dsn) == []
        await thread.add_message(Message.user("y"))

    assert waited < FAR
    assert await texts(postgres_dsn) == ["y"]


async def test_deadlock_is_tried_again(postgres_dsn: str) -> None:
    """A commit that the server rolled back because of a deadlock is made again."""
    async with PostgresStore(postgres_dsn) as store:
        thread = await store.thread("t")
        link = store.context.storage.link  # type: ignore[attr-defined]
        with psycopg.connect(postgres_dsn) as other:
            other.execute(
                "CREATE TABLE foldline.trouble (at timestamptz DEFAULT clock_timestamp());"
                "CREATE SEQUENCE foldline.tries;"
                "CREATE FUNCTION foldline.trouble() RETURNS trigger LANGUAGE plpgsql AS $$ "
                "BEGIN IF nextval('foldline.tries') < 3 THEN "
                "RAISE EXCEPTION 'x' USING ERRCODE = '40P01'; END IF; RETURN NEW; END $$;"
                "CREATE TRIGGER trouble BEFORE INSERT ON foldline.rows "
                "FOR EACH ROW EXECUTE FUNCTION foldline.trouble()"
            )
        await thread.add_message(Message.user("x"))
        link.sql = {**link.sql, "ask": b"SELECT last_value FROM foldline.tries"}
        ((tries,),) = await link.ask("ask", {})
        assert tries == 3
    assert await texts(postgres_dsn) == ["x"]


async def test_few_connections(postgres_dsn: str) -> None:
    """Many tasks share few connections in turn, and no time limit is for waiting for one."""
    async with PostgresStore(postgres_dsn, pool_size=2) as store:
        threads = await asyncio.gather(*(store.thread(f"t{n}") for n in range(60)))
        await asyncio.gather(*(one.add_message(Message.user("x")) for one in threads))
        most = sessions(postgres_dsn)
    link = PostgresLink(
        postgres_dsn, schema="foldline", pool_size=1, timeout=2.0, durability="full"
    )
    await link.open()
    link.sql = {**link.sql, "sleep": b"SELECT pg_sleep(1.2)"}
    done = await asyncio.gather(*(link.ask("sleep", {}) for _ in range(3)))
    await link.close()

    assert most <= 2
    assert len(done) == 3


async def test_cancelled_calls_return_their_connections(postgres_dsn: str) -> None:
    """A read that is cancelled keeps no connection, and a write that is cancelled is finished."""
    async with PostgresStore(postgres_dsn, pool_size=2, timeout=2.0) as store:
        thread = await store.thread("t")
        link = store.context.storage.link  # type: ignore[attr-defined]
        link.sql = {**link.sql, "sleep": b"SELECT pg_sleep(60)"}
        for _ in range(4):
            reading = asyncio.create_task(link.ask("sleep", {}))
            await asyncio.sleep(0.05)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
        writing = asyncio.create_task(thread.add_message(Message.user("x")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await thread.refresh()
        assert thread.head.count in {0, 1}


@pytest.mark.parametrize("times", [1, 3])
async def test_a_thread_knows_its_cancelled_commits(postgres_dsn: str, times: int) -> None:
    """After a commit that was cancelled, at any time, a thread object stands where the store does."""
    async with PostgresStore(postgres_dsn, pool_size=2) as store:
        for waits in range(12):
            thread = await store.thread(f"t{waits}")
            writing = asyncio.create_task(thread.add_message(Message.user("x")))
            for _ in range(waits):
                await asyncio.sleep(0)
            for _ in range(times):
                writing.cancel()
                await asyncio.sleep(0)
            await asyncio.wait([writing])
            known = thread.count
            await thread.refresh()
            assert thread.count == known


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (errors.LockNotAvailable, StoreBusyError, "kept a lock"),
        (errors.TooManyConnections, StoreBusyError, "no more connections"),
        (errors.DiskFull, StoreError, "disk of PostgreSQL is full"),
        (errors.ReadOnlySqlTransaction, StoreError, "replica"),
        (errors.DataCorrupted, StoreCorruptError, "damaged"),
        (errors.InvalidPassword, StoreError, "password"),
        (errors.InvalidSqlStatementName, StoreError, "pooler"),
        (psycopg.OperationalError, StoreError, "cannot be reached"),
        (psycopg.DataError, StoreError, "was not called"),
    ],
)
def test_errors(error: type[psycopg.Error], kind: type[StoreError], text: str) -> None:
    """An error of the server becomes an error of foldline that says what is wrong."""
    found = store_error(error(SECRET))

    assert type(found) is kind
    assert text in str(found)
    assert SECRET not in str(found)


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        ({"dbname": "none"}, StoreError, "no such database"),
        ({"user": "nobody"}, StoreError, "let this user connect"),
        ({"user": "busy"}, StoreBusyError, "no more connections"),
        ({"host": "/none"}, StoreError, "check address"),
        ({"host": "none.invalid"}, StoreError, "check address"),
    ],
)
async def test_a_refused_connection(
    postgres_server: PostgresServer, wrong: dict[str, str], kind: type[StoreError], text: str
) -> None:
    """An address that is wrong in one word gets an error that says which word to look at."""
    with psycopg.connect(postgres_server.dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE busy LOGIN CONNECTION LIMIT 0")
        try:
            with pytest.raises(StoreError, match=text) as caught:
                await PostgresStore(make_conninfo(postgres_server.dsn, **wrong)).open()
        finally:
            connection.execute("DROP ROLE busy")

    assert type(caught.value) is kind


def test_a_wrong_password() -> None:
    """It is named as what it is; the server quotes the user, the error does not."""
    said = f'connection failed: FATAL:  password authentication failed for user "{SECRET}"'
    found = str(store_error(psycopg.OperationalError(said)))

    assert "user or password" in found
    assert SECRET not in found


def test_an_event_loop_of_windows() -> None:
    """The loop that Windows has by default, which the driver cannot use, is named with the cure."""
    said = psycopg.InterfaceError("Psycopg cannot use the 'ProactorEventLoop' to run in async mode")

    assert "run your program in one" in str(store_error(said))
