"""Damaged names in a PostgreSQL, and a thread that somebody else changes while it is deleted."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psycopg
import pytest
from foldline.threads.verification import verify_store

from foldline.errors import ThreadConflictError, ThreadIdError
from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.stores.postgres.storage import PostgresStorage
from foldline.threads.stores.postgres.store import PostgresStore


# More than a page of a list has.
MANY = 450
KEY = ThreadKey("default", "t")
# The server gives no bytes that are no text, unless it is told that they are.
ODD = "CREATE CAST (bytea AS text) WITHOUT FUNCTION"
MADE_AGAIN = """
CREATE TEMP TABLE kept AS SELECT * FROM threads WHERE id = 't';
DELETE FROM threads WHERE id = 't';
INSERT INTO threads (tenant, id, revision, branch, head, last_activity)
SELECT tenant, id, revision, branch, 'other', 0 FROM kept;
"""
ALLOWED = "id ~ '^[A-Za-z0-9._:-]{1,200}$'"


async def prepare(dsn: str, *scripts: str) -> None:
    """Make the threads a, t and z of one message, then run *scripts* beside the store."""
    async with PostgresStore(dsn) as store:
        for name in "atz":
            await (await store.thread(name)).add_message(Message.user("x"))
    with psycopg.connect(dsn) as connection:
        for script in scripts:
            connection.execute(f"SET search_path TO foldline; {script}".encode())


@asynccontextmanager
async def held(
    dsn: str, store: PostgresStore, change: str
) -> AsyncGenerator[tuple[psycopg.AsyncConnection, asyncio.Future[bool]], None]:
    """
    Give a connection that has made *change* and not ended it, and a deletion that waits for it.
    """
    storage = store.backing.storage
    stored = await storage.load(KEY)
    assert stored is not None
    async with await psycopg.AsyncConnection.connect(dsn) as other:
        await other.execute("SET search_path TO foldline, pg_temp")
        await other.execute(change.encode())
        deleting = asyncio.ensure_future(storage.delete(KEY, expected=stored))
        done, _ = await asyncio.wait([deleting], timeout=0.3)
        assert not done
        yield other, deleting


def test_damaged_ids_hide_no_thread(postgres_dsn: str) -> None:
    """
    Behind any number of damaged ids the other threads are listed, and pages are full until the end.
    """
    damage = (
        "INSERT INTO threads (tenant, id, revision, branch, head, last_activity) "
        f"SELECT 'default', 'b !' || n, 1, 0, '', 0 FROM generate_series(1, {MANY}) n"
    )

    async def live() -> tuple[list[str], list[str]]:
        await prepare(postgres_dsn, damage)
        async with PostgresStore(postgres_dsn) as store:
            page = await store.backing.storage.threads("default", limit=2)
            return [one.key.id for one in page], [one.id async for one in store.threads()]

    assert asyncio.run(live()) == (["a", "t"], ["a", "t", "z"])


def test_the_list_allows_what_a_key_does(postgres_dsn: str) -> None:
    """The server and `ThreadKey` allow the same ids, whatever their characters and their length."""
    ids = ["", *(chr(number) for number in range(1, 0x250)), "aé", "a\n", "\na", "a\nb"]
    ids += ["a" * size for size in (199, 200, 201, 400)]

    def is_allowed(id: str) -> bool:
        try:
            ThreadKey("default", id)
        except ThreadIdError:
            return False
        return True

    asyncio.run(prepare(postgres_dsn))
    sql = PostgresStorage(postgres_dsn).link.sql["threads"].decode()
    with psycopg.connect(postgres_dsn) as connection:
        script = f"SELECT {ALLOWED} FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS g (id, at)"
        found = connection.execute(f"{script} ORDER BY at".encode(), {"ids": ids}).fetchall()

    assert ALLOWED in sql
    assert [allowed for (allowed,) in found] == [is_allowed(id) for id in ids]


@pytest.mark.parametrize(
    ("damage", "names", "listed", "tenants"),
    [
        ("UPDATE threads SET id = 't !' WHERE id = 't'", ["a", "t !", "z"], ["a", "z"], 1),
        (
            f"{ODD}; UPDATE threads SET id = '\\x74ff'::bytea::text WHERE id = 't'",
            ["a", "t\ufffd", "z"],
            ["a", "z"],
            1,
        ),
        (
            f"{ODD}; UPDATE threads SET tenant = '\\x74ff'::bytea::text WHERE id = 't'",
            ["a", "z", "t"],
            ["a", "z"],
            2,
        ),
    ],
    ids=["an id", "an id that is no text", "a tenant that is no text"],
)
def test_every_name_is_told(
    postgres_dsn: str, damage: str, names: list[str], listed: list[str], tenants: int
) -> None:
    """
    A damaged name is among those of the store and makes it faulty; the others are listed and whole.
    """

    async def live() -> None:
        await prepare(postgres_dsn, damage)
        async with PostgresStore(postgres_dsn) as store:
            storage = store.backing.storage
            assert isinstance(storage, PostgresStorage)
            found = {
                one.key.id if one.key else "": bool(one.faults) async for one in verify_store(store)
            }
            assert [id for _, id in await storage.names()] == names
            assert len(await storage.tenants()) == tenants
            assert [one.id async for one in store.threads()] == listed
            assert found == {"a": False, "z": False, "": True}

    asyncio.run(live())


def test_names_are_told_in_order(postgres_dsn: str) -> None:
    """Names are those of every tenant, in the order of their bytes."""

    async def live() -> list[tuple[str, str]]:
        async with PostgresStore(postgres_dsn) as store:
            for tenant, name in (("b", "x"), ("a", "y"), ("B", "x"), ("a", "Y")):
                await store.thread(name, tenant=tenant)
            storage = store.backing.storage
            assert isinstance(storage, PostgresStorage)
            return await storage.names()

    assert asyncio.run(live()) == [("B", "x"), ("a", "Y"), ("a", "y"), ("b", "x")]


@pytest.mark.parametrize(
    ("change", "actual"),
    [
        ("UPDATE threads SET head = 'other' WHERE id = 't'", 0),
        ("UPDATE threads SET revision = revision + 1 WHERE id = 't'", 3),
        ("DELETE FROM threads WHERE id = 't'", 0),
        (MADE_AGAIN, 0),
    ],
    ids=["another head", "another revision", "gone", "made again"],
)
def test_a_deletion_that_waited_compares_what_is_there(
    postgres_dsn: str, change: str, actual: int
) -> None:
    """
    A deletion that waits for somebody's transaction compares what that one leaves, and refuses.
    """

    async def live() -> ThreadConflictError:
        await prepare(postgres_dsn)
        async with PostgresStore(postgres_dsn) as store:
            async with held(postgres_dsn, store, change) as (other, deleting):
                await other.commit()
            with pytest.raises(ThreadConflictError) as caught:
                await deleting
            return caught.value

    error = asyncio.run(live())

    assert (error.expected, error.actual) == (2, actual)


def test_a_deletion_that_waited_in_vain_is_made(postgres_dsn: str) -> None:
    """Where that transaction is undone, the thread is still as it was read and is deleted."""

    async def live() -> bool:
        await prepare(postgres_dsn)
        async with PostgresStore(postgres_dsn) as store:
            change = "UPDATE threads SET head = 'other' WHERE id = 't'"
            async with held(postgres_dsn, store, change) as (other, deleting):
                await other.rollback()
            return await deleting and await store.backing.storage.load(KEY) is None

    assert asyncio.run(live())
