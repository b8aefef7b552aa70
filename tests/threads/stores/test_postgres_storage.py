"""PostgreSQL as a storage: the promises of the kit, what is left in the tables, and races."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from foldline.errors import ThreadConflictError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.testing.storage import StorageCheck, StorageConformance
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.thread import ConversationThread
from tests.servers.postgres import PostgresServer
from tests.threads.stores.writing import lab_of


TABLES = ("documents", "epochs", "rows", "threads")
NOTHING = dict.fromkeys(TABLES, 0)
MADE_AGAIN = """
CREATE TEMP TABLE kept AS SELECT * FROM threads WHERE id = 't';
DELETE FROM threads WHERE id = 't';
INSERT INTO threads (tenant, id, revision, live, head, last_activity)
SELECT tenant, id, revision, live, 'other', 0 FROM kept;
"""


UNTIL_BLOCKED = b"""
DO $$ BEGIN
    WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted) LOOP
        PERFORM pg_sleep(0.005);
    END LOOP;
END $$
"""


@pytest.fixture(scope="module")
def database(postgres_server: PostgresServer) -> Iterator[str]:
    """Return the address of a database that the tests share, with tables."""

    async def make(address: str) -> None:
        async with PostgresStore(address):
            pass

    with postgres_server.database() as address:
        asyncio.run(make(address))
        yield address


@pytest.fixture
def dsn(database: str) -> Iterator[str]:
    """Return the address of that database, whose tables are emptied afterwards."""
    yield database
    with psycopg.connect(database) as connection:
        for table in TABLES:
            connection.execute(f"DELETE FROM foldline.{table}".encode())


def counts(dsn: str) -> dict[str, int]:
    """Return how many rows each table has."""
    found: dict[str, int] = {}
    with psycopg.connect(dsn) as connection:
        for table in TABLES:
            row = connection.execute(f"SELECT count(*) FROM foldline.{table}".encode()).fetchone()
            found[table] = 0 if row is None else row[0]
    return found


def execute(dsn: str, script: str) -> None:
    """Run *script* in the schema of the store."""
    with psycopg.connect(dsn) as connection:
        connection.execute(f"SET search_path TO foldline; {script}".encode())


@pytest.mark.parametrize("check", StorageConformance.checks(), ids=lambda one: one.name)
async def test_conformance(dsn: str, check: StorageCheck) -> None:
    """PostgreSQL keeps every promise of a storage, and nothing is left of what a check wrote."""
    assert await StorageConformance(lambda: PostgresStore(dsn).context.storage).prove(check)
    assert counts(dsn) == NOTHING


async def disturb(store: PostgresStore, thread: ConversationThread, way: str) -> None:
    """Change the source of forks that are being made."""
    if way == "delete":
        await store.delete(thread.id)
    elif way == "clear":
        await thread.clear()
    else:
        await thread.rewind(2)
        await thread.add_message(Message.user("again"))


@pytest.mark.parametrize("way", ["delete", "clear", "rewind"])
async def test_forks_of_a_thread_that_changes(dsn: str, way: str) -> None:
    """A fork that races with a change of its source has every row of it, or is refused."""

    async def race(store: PostgresStore) -> None:
        source = await store.thread("t")
        await source.add_messages([Message.user(f"m{number}") for number in range(8)])
        forks = [source.fork(f"f{number}", at=number + 3) for number in range(4)]
        again = await store.thread("t")
        work = disturb(store, again, way)
        *made, _ = await asyncio.gather(*forks, work, return_exceptions=True)
        for number, fork in enumerate(made):
            if isinstance(fork, ConversationThread):
                texts = [one.text for one in await fork.get_messages()]
                assert texts == [f"m{number}" for number in range(number + 3)]
                await store.delete(fork.id)
            else:
                assert isinstance(fork, ThreadConflictError | ThreadNotFoundError), fork
        await store.delete("t")

    async with PostgresStore(dsn, pool_size=6) as store:
        for _ in range(10):
            await race(store)

    assert counts(dsn) == NOTHING


async def test_forks_in_a_circle(dsn: str) -> None:
    """Threads that are forked into each other's names, written to and deleted never deadlock."""

    async def turn(store: PostgresStore, number: int) -> None:
        thread = await store.thread(f"t{number % 3}")
        await thread.append([Message.user("x")] * 3)
        await asyncio.gather(
            thread.fork(f"t{(number + 1) % 3}"),
            thread.rewind(1),
            store.delete(f"t{(number + 2) % 3}"),
            return_exceptions=True,
        )

    async with PostgresStore(dsn) as store:
        work = [turn(store, number) for number in range(40)]
        ends = await asyncio.gather(*work, return_exceptions=True)
    refusals = {type(one) for one in ends if one is not None}

    assert refusals <= {ThreadConflictError, ThreadNotFoundError}
    with psycopg.connect(dsn) as connection:
        strays = (
            "SELECT count(*) FROM foldline.rows r WHERE NOT EXISTS "
            "(SELECT FROM foldline.epochs e WHERE e.pk = r.id >> 32) AND NOT EXISTS "
            "(SELECT FROM foldline.threads t WHERE t.live = r.id >> 32)"
        )
        assert connection.execute(strays.encode()).fetchone() == (0,)


@asynccontextmanager
async def waiting(
    dsn: str, change: str
) -> AsyncGenerator[tuple[psycopg.AsyncConnection, asyncio.Future[bool]]]:
    """Yield a connection with an open transaction, and a deletion that waits for it."""
    async with lab_of(PostgresStore(dsn).context.storage) as lab:
        scribe = lab.scribe("t")
        await scribe.write(1)
        stored = await scribe.stored()
        async with (
            await psycopg.AsyncConnection.connect(dsn) as other,
            await psycopg.AsyncConnection.connect(dsn) as watch,
        ):
            await other.execute("SET search_path TO foldline, pg_temp")
            await other.execute(change.encode())
            deleting = asyncio.ensure_future(lab.storage.delete(scribe.key, expected=stored))
            await watch.execute(UNTIL_BLOCKED)
            yield other, deleting


@pytest.mark.parametrize(
    ("change", "actual"),
    [
        ("UPDATE threads SET head = 'other' WHERE id = 't'", 0),
        ("UPDATE threads SET revision = revision + 1 WHERE id = 't'", 2),
        ("DELETE FROM threads WHERE id = 't'", 0),
        (MADE_AGAIN, 0),
    ],
    ids=["another head", "another revision", "gone", "made again"],
)
async def test_a_deletion_that_waited_compares_what_is_there(
    dsn: str, change: str, actual: int
) -> None:
    """A deletion that waits for another transaction compares what that one leaves, and refuses."""
    async with waiting(dsn, change) as (other, deleting):
        await other.commit()
        with pytest.raises(ThreadConflictError) as caught:
            await deleting
        error = caught.value

    assert (error.expected, error.actual) == (1, actual)


async def test_a_deletion_that_waited_for_nothing_is_made(dsn: str) -> None:
    """If that transaction is rolled back, the thread is still as it was read and is deleted."""
    async with waiting(dsn, "UPDATE threads SET head = 'other' WHERE id = 't'") as (
        other,
        deleting,
    ):
        await other.rollback()
        assert await deleting

    assert counts(dsn) == NOTHING
