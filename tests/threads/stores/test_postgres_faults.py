"""A PostgreSQL that fails: restarted, killed, slow, silent or busy."""

import asyncio
import time
from contextlib import suppress

import psycopg
import pytest
from psycopg import errors
from psycopg_pool import AsyncConnectionPool

from foldline.errors import (
    CommitUnknownError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
)
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.stores.postgres.faults import ends_session, is_rolled_back, store_error
from foldline.threads.stores.postgres.storage import PostgresStorage
from foldline.threads.stores.postgres.store import PostgresStore
from tests.servers.postgres import PostgresServer
from tests.servers.wire import Fault, wire_before


SECRET = "the bride wore green"
EPOCH = b"e" * 16
KEY = ThreadKey("a", "t")

# The most seconds for a call with a short deadline, on a busy machine; the default deadline is ten.
FAR = 6.0


def change(revision: int, head: bytes = b"head") -> Change:
    """Return a commit that makes the thread, or the next one."""
    return Change(id=b"12345678", revision=revision, epoch=EPOCH, head=head, active_at=1.0)


async def texts(dsn: str, name: str = "t") -> list[str]:
    """Return the texts of a thread, as another store reads them."""
    async with PostgresStore(dsn) as store:
        thread = await store.find(name)
        return [] if thread is None else [one.text for one in await thread.get_messages()]


async def healed(storage: PostgresStorage) -> None:
    """Wait until the thread can be read again, which takes an attempt to connect at most."""
    async with asyncio.timeout(6):
        while True:
            with suppress(StoreError):
                stored = await storage.load(KEY)
                assert stored is not None
                assert stored.revision == 1
                return


def sessions(dsn: str) -> int:
    """Return how many sessions stores have at the server."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'foldline %'"
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query).fetchone()
    return 0 if row is None else row[0]


def test_restart_between_calls_heals(postgres_server: PostgresServer, postgres_dsn: str) -> None:
    """
    A server that was restarted between two calls is not even noticed, with many connections open.
    """

    async def live() -> int:
        async with PostgresStore(postgres_dsn, pool_size=6) as store:
            threads = await asyncio.gather(*(store.thread(f"t{n}") for n in range(6)))
            for restart in (postgres_server.restart, postgres_server.stop_immediate):
                await asyncio.to_thread(restart)
                if postgres_server.pid is None:
                    await asyncio.to_thread(postgres_server.start)
                await asyncio.gather(*(one.add_message(Message.user("x")) for one in threads))
            return sum([len(await texts(postgres_dsn, one.id)) for one in threads])

    assert asyncio.run(live()) == 12


def test_stopped_server(postgres_server: PostgresServer, postgres_dsn: str) -> None:
    """While the server is down calls fail in time, and when it is back the next one does not."""

    async def live() -> float:
        async with PostgresStore(postgres_dsn, timeout=2.0) as store:
            thread = await store.thread("t")
            await asyncio.to_thread(postgres_server.stop_immediate)
            began = time.monotonic()
            with pytest.raises(StoreError, match="cannot be reached"):
                await thread.add_message(Message.user("lost"))
            with pytest.raises(StoreError, match="cannot be reached"):
                await PostgresStore(postgres_dsn).open()
            down = time.monotonic() - began
            await asyncio.to_thread(postgres_server.start)
            await thread.add_message(Message.user("kept"))
            return down

    assert asyncio.run(live()) < FAR
    assert asyncio.run(texts(postgres_dsn)) == ["kept"]


def test_waiting_call_outlives_a_restart(
    postgres_server: PostgresServer, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that begins while the server is down succeeds when it is up, within its time."""

    async def live() -> None:
        failed, check = asyncio.Event(), AsyncConnectionPool.check

        # Called after an attempt to connect has failed, for another one.
        async def watched(pool: AsyncConnectionPool) -> None:
            failed.set()
            await check(pool)

        monkeypatch.setattr(AsyncConnectionPool, "check", watched)
        async with PostgresStore(postgres_dsn, timeout=60.0) as store:
            thread = await store.thread("t")
            await asyncio.to_thread(postgres_server.stop_immediate)
            writing = asyncio.create_task(thread.add_message(Message.user("x")))
            await failed.wait()
            await asyncio.to_thread(postgres_server.start)
            await writing

    asyncio.run(live())

    assert asyncio.run(texts(postgres_dsn)) == ["x"]


def test_silent_server(postgres_server: PostgresServer, postgres_dsn: str) -> None:
    """Without an answer a call ends in time and says what is unknown, and later calls work."""

    async def live() -> tuple[float, float]:
        async with wire_before(postgres_server.folder / ".s.PGSQL.5432") as wire:
            dsn = f"{postgres_dsn.partition('?')[0]}?host={wire.path.parent}"
            storage = PostgresStorage(dsn, timeout=0.5)
            await storage.open()
            await storage.commit(KEY, change(0))
            await wire.strike(Fault.SWALLOWED_REQUEST, lasts=True)
            began = time.monotonic()
            with pytest.raises(CommitUnknownError, match=r"within 0\.5 seconds"):
                await storage.commit(KEY, change(1, SECRET.encode()))
            writing = time.monotonic() - began
            began = time.monotonic()
            with pytest.raises(StoreError, match=r"cannot be reached|busy|within"):
                await storage.load(KEY)
            reading = time.monotonic() - began
            await wire.heal()
            await healed(storage)
            await storage.commit(KEY, change(1))
            await storage.close()
            return writing, reading

    writing, reading = asyncio.run(live())

    assert writing < FAR
    assert reading < FAR


def test_locked_thread(postgres_dsn: str) -> None:
    """If another transaction locks a thread, a commit is refused in time and nothing is written."""

    async def live() -> float:
        async with PostgresStore(postgres_dsn, timeout=0.5) as store:
            thread = await store.thread("t")
            with psycopg.connect(postgres_dsn) as other:
                other.execute("SELECT * FROM foldline.threads FOR UPDATE")
                began = time.monotonic()
                with pytest.raises(StoreBusyError, match="kept a lock"):
                    await thread.add_message(Message.user("x"))
                waited = time.monotonic() - began
            assert await texts(postgres_dsn) == []
            await thread.add_message(Message.user("y"))
            return waited

    assert asyncio.run(live()) < FAR
    assert asyncio.run(texts(postgres_dsn)) == ["y"]


def test_deadlock_is_tried_again(postgres_dsn: str) -> None:
    """A commit that the server rolled back because of a deadlock is made again."""

    async def live() -> int:
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
            ((tries,),) = await link.read("ask", {})
            return int(tries)

    assert asyncio.run(live()) == 3
    assert asyncio.run(texts(postgres_dsn)) == ["x"]


def test_exhausted_pool(postgres_dsn: str) -> None:
    """Many tasks share few connections in turn, and a call that gets none in time says so."""

    async def live() -> int:
        async with PostgresStore(postgres_dsn, pool_size=2) as store:
            threads = await asyncio.gather(*(store.thread(f"t{n}") for n in range(60)))
            await asyncio.gather(*(one.add_message(Message.user("x")) for one in threads))
            most = sessions(postgres_dsn)
        storage = PostgresStorage(postgres_dsn, pool_size=1, timeout=0.3)
        await storage.open()
        link = storage.link
        link.sql = {**link.sql, "sleep": b"SELECT pg_sleep(0.2)"}
        calls = [link.read("sleep", {}) for _ in range(3)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert [one for one in done if isinstance(one, StoreBusyError)]
        await storage.close()
        return most

    assert asyncio.run(live()) <= 2


def test_cancelled_calls_return_their_connections(postgres_dsn: str) -> None:
    """A read that is cancelled keeps no connection, and a write that is cancelled is finished."""

    async def live() -> int:
        async with PostgresStore(postgres_dsn, pool_size=2, timeout=2.0) as store:
            thread = await store.thread("t")
            link = store.context.storage.link  # type: ignore[attr-defined]
            link.sql = {**link.sql, "sleep": b"SELECT pg_sleep(60)"}
            for _ in range(4):
                reading = asyncio.create_task(link.read("sleep", {}))
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
            return thread.head.count

    assert asyncio.run(live()) in {0, 1}


def test_errors_quote_nothing(postgres_dsn: str) -> None:
    """An error does not quote what the server says about a value."""
    with psycopg.connect(postgres_dsn) as connection:
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("SELECT %s::int", [SECRET])
        assert SECRET in str(caught.value)
    error = store_error(caught.value)

    assert SECRET not in str(error)
    assert str(error) == "PostgreSQL refused a call (22P02)"


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (errors.LockNotAvailable, StoreBusyError, "kept a lock"),
        (errors.TooManyConnections, StoreBusyError, "no more connections"),
        (errors.DiskFull, StoreError, "disk of PostgreSQL is full"),
        (errors.NumericValueOutOfRange, StoreCorruptError, "number"),
        (errors.ReadOnlySqlTransaction, StoreError, "replica"),
        (errors.DataCorrupted, StoreCorruptError, "damaged"),
        (errors.InvalidPassword, StoreError, "password"),
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


def test_what_errors_mean() -> None:
    """
    Only a deadlock and the like are retried, and only a server that ends is a lost answer.
    """
    assert is_rolled_back(errors.DeadlockDetected())
    assert is_rolled_back(errors.SerializationFailure())
    assert not is_rolled_back(errors.UniqueViolation())
    assert ends_session(errors.AdminShutdown())
    assert ends_session(errors.ConnectionFailure())
    assert not ends_session(errors.QueryCanceled())
