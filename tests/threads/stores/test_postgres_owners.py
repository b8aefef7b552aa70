"""
Who owns a branch in a PostgreSQL: found where it is wrong, mended, and never shared by a fork.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from foldline.threads.repair import carry_out, plan_repair
from foldline.threads.salvage import Salvage
from foldline.threads.verification import verify_store

from foldline.errors import StoreCorruptError, ThreadConflictError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.threads.stores.postgres.storage import PostgresStorage
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.thread import ConversationThread
from tests.threads.sample import COUNT, ONE, OTHER, TWO, fill


_THREADS = "(SELECT {column} FROM threads WHERE tenant = 'default' AND id = '{id}')"
BRANCH = _THREADS.format(column="branch", id="one")
BRANCH_TWO = _THREADS.format(column="branch", id="two")
THREAD_TWO = _THREADS.format(column="pk", id="two")
THREAD = "WHERE tenant = 'default' AND id = 'one'"
OF_NOBODY = f"UPDATE branches SET thread = NULL WHERE pk = {BRANCH}"
# More than are looked at in one statement.
MANY = 2345
DOCUMENTS = f"""
INSERT INTO documents (thread, kind, name, data)
SELECT n * 1000, 'tool', 'x', '' FROM generate_series(1, {MANY}) n
"""
# The first and the last number that a row can have are among them.
ROWS = f"""
INSERT INTO rows (id, system, data)
SELECT (n::bigint + 1000) << 32, false, '' FROM generate_series(1, {MANY - 2}) n;
INSERT INTO rows (id, system, data)
VALUES (1::bigint << 63, false, ''), (~(1::bigint << 63), false, '')
"""

Ending = Callable[[PostgresStore, ConversationThread], Awaitable[None]]


def execute(dsn: str, script: str) -> None:
    """Run *script* beside the store, in one transaction."""
    with psycopg.connect(dsn) as connection:
        connection.execute(f"SET search_path TO foldline; {script}".encode())


def left(dsn: str) -> int:
    """Return how many rows of messages there are."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT count(*) FROM foldline.rows").fetchone()
    return 0 if row is None else row[0]


async def faulty(store: PostgresStore) -> dict[str, list[str]]:
    """Return what is wrong, by the ids of threads; below all of them under no id."""
    return {
        one.key.id if one.key else "": [str(fault) for fault in one.faults]
        async for one in verify_store(store)
        if one.faults
    }


async def texts(store: PostgresStore, id: str) -> list[str]:
    """Return what was said in a thread."""
    thread = await store.find(id)
    return [] if thread is None else [one.text for one in await thread.get_messages()]


@pytest.mark.parametrize(
    "damage",
    [
        OF_NOBODY,
        f"UPDATE branches SET thread = {THREAD_TWO} WHERE pk = {BRANCH}",
        "UPDATE branches SET thread = 99 WHERE thread IS NOT NULL AND tenant = 'default'",
        f"UPDATE threads SET branch = {BRANCH_TWO} {THREAD}",
        f"UPDATE threads SET branch = 99 {THREAD}",
    ],
    ids=["of nobody", "of another", "of one that is gone", "another branch", "no branch"],
)
def test_a_wrong_owner_is_found_and_mended(postgres_dsn: str, damage: str) -> None:
    """
    A thread that does not own the branch it stands on is damaged, and its repair loses nothing.
    """

    async def live() -> None:
        async with PostgresStore(postgres_dsn) as store:
            await fill(store)
            said = await texts(store, ONE.id)
            execute(postgres_dsn, damage)
            found = await faulty(store)
            assert found[ONE.id] == [
                "head: the store names another branch, or another owner of its branch"
            ]
            assert await texts(store, ONE.id) == said
            for key in (ONE, TWO):
                repair = await plan_repair(store.backing, key)
                assert repair.lost == 0
                await carry_out(store.backing, repair)
            assert not {ONE.id, TWO.id} & set(await faulty(store))
            await (await store.thread(ONE.id)).add_message(Message.user("new"))
            await store.delete(TWO.id)
            assert await texts(store, ONE.id) == [*said, "new"]

    asyncio.run(live())


def test_a_head_that_is_lost_with_its_owner_is_told(postgres_dsn: str) -> None:
    """
    Where head and owner are lost nothing is guessed; where the head alone is, the branch is known.
    """

    async def live() -> None:
        async with PostgresStore(postgres_dsn) as store:
            await fill(store)
            execute(postgres_dsn, f"UPDATE threads SET head = 'x' {THREAD}")
            repair = await plan_repair(store.backing, ONE)
            assert repair.kept == COUNT
            execute(postgres_dsn, OF_NOBODY)
            with pytest.raises(StoreCorruptError, match="does not know without it"):
                await plan_repair(store.backing, ONE)

    asyncio.run(live())


@pytest.mark.parametrize(
    ("stray", "problem"),
    [
        (
            "UPDATE branches SET thread = 99 WHERE tenant = 'acme'",
            "1 branches belong to a thread that is not there",
        ),
        (
            f"UPDATE branches SET parent = 99 WHERE pk = {BRANCH_TWO}",
            "1 branches go on behind one that is not there, or begins behind them",
        ),
        (
            f"UPDATE branches SET parent = pk, at = 5 WHERE pk = {BRANCH}",
            "1 branches go on behind one that is not there, or begins behind them",
        ),
        (
            "INSERT INTO branches (at, id, tenant) VALUES (0, 'x', 'acme')",
            "1 branches belong to no thread and are shared by none",
        ),
        (
            f"UPDATE branches SET tenant = 'acme' WHERE pk = {BRANCH_TWO}",
            "1 branches belong to a thread of another tenant",
        ),
        (
            DOCUMENTS,
            f"{MANY} documents belong to a thread that is not there",
        ),
        (
            f"UPDATE documents SET kind = 'other' WHERE kind = 'metadata' AND thread = {THREAD_TWO}",
            "1 documents are of no known kind",
        ),
        (
            ROWS,
            f"{MANY} message rows belong to a branch that is not there",
        ),
    ],
    ids=[
        "no thread",
        "no parent",
        "itself",
        "nobody",
        "tenant",
        "documents",
        "kinds",
        "rows",
    ],
)
def test_what_is_stray_is_told(postgres_dsn: str, stray: str, problem: str) -> None:
    """What belongs to nothing is counted, however much it is; of a whole store nothing is told."""

    async def live() -> tuple[list[str], list[str]]:
        async with PostgresStore(postgres_dsn, checkpoints="full") as store:
            await fill(store)
            storage = store.backing.storage
            assert isinstance(storage, Salvage)
            whole = await faulty(store)
            execute(postgres_dsn, stray)
            return whole.get("", []), [str(one) for one in await storage.inspect()]

    whole, told = asyncio.run(live())

    assert whole == []
    assert f"stray: {problem}" in told


def test_a_branch_that_a_thread_stands_on_is_not_stray(postgres_dsn: str) -> None:
    """A branch that nobody owns is not said to harm no thread where one stands on it."""

    async def live() -> list[str]:
        async with PostgresStore(postgres_dsn) as store:
            await fill(store)
            execute(postgres_dsn, "UPDATE branches SET thread = NULL WHERE tenant = 'acme'")
            found = await faulty(store)
            assert list(found) == [OTHER.id]
            return found[OTHER.id]

    assert asyncio.run(live()) == [
        "head: the store names another branch, or another owner of its branch"
    ]


@pytest.mark.parametrize("number", [(1 << 63) - 1, 1 << 40, -1, -(1 << 40), -(1 << 63)])
@pytest.mark.parametrize("id", [ONE.id, TWO.id])
def test_a_damaged_number_of_a_branch(postgres_dsn: str, id: str, number: int) -> None:
    """
    A branch that begins at a number that is none is told, and no other's row is deleted with it.
    """

    async def live() -> int:
        async with PostgresStore(postgres_dsn) as store:
            await (await store.thread("first")).add_messages([Message.user("x")] * 3)
            await fill(store)
            branch = _THREADS.format(column="branch", id=id)
            execute(postgres_dsn, f"UPDATE branches SET at = {number} WHERE pk = {branch}")
            found = await faulty(store)
            if id == TWO.id:
                assert next(iter(found)) == TWO.id
            elif number > 0:
                assert found[ONE.id] == [f"row 0: rows 0 to {COUNT - 1} are missing"]
            else:
                # All its rows lie behind that number, and those of the fork too.
                assert not found
            await store.delete(ONE.id)
            await store.delete(TWO.id)
            await store.delete(OTHER.id, tenant=OTHER.tenant)
            return left(postgres_dsn)

    assert asyncio.run(live()) == 3


def test_a_branch_that_leads_in_a_circle(postgres_dsn: str) -> None:
    """
    A branch that goes on behind itself ends there: it is damaged, not forked, and deleted whole.
    """

    async def live() -> int:
        async with PostgresStore(postgres_dsn) as store:
            await fill(store)
            thread = await store.thread(ONE.id)
            await store.delete(TWO.id)
            await store.delete(OTHER.id, tenant=OTHER.tenant)
            execute(postgres_dsn, f"UPDATE branches SET parent = pk, at = 5 WHERE pk = {BRANCH}")
            found = await faulty(store)
            assert found[ONE.id] == ["row 0: rows 0 to 4 are missing"]
            with pytest.raises(StoreCorruptError, match="has 37 of the rows"):
                await thread.get_messages()
            parent = thread.head.branch
            storage = store.backing.storage
            assert isinstance(storage, PostgresStorage)
            values = {"tenant": "default", "parent": parent}
            ask = (
                b"SELECT open_branch(%(tenant)s, NULL, 'new', %(parent)s, 3), "
                b"open_branch(%(tenant)s, NULL, 'other', %(parent)s, 5)"
            )
            storage.link.sql = {**storage.link.sql, "ask": ask}
            assert await storage.link.read("ask", values) == [(None, None)]
            await store.delete(ONE.id)
            return left(postgres_dsn)

    assert asyncio.run(live()) == 0


async def delete(store: PostgresStore, thread: ConversationThread) -> None:
    """Delete *thread*."""
    await store.delete(thread.id)


async def clear(_: PostgresStore, thread: ConversationThread) -> None:
    """Clear *thread*."""
    await thread.clear()


async def expire(store: PostgresStore, thread: ConversationThread) -> None:
    """Let *thread* expire."""
    await thread.set_expiry(datetime.now(UTC) - timedelta(days=1))
    await store.purge_expired()


@pytest.mark.parametrize("end", [delete, clear, expire])
@pytest.mark.parametrize("at", [5, 0])
def test_a_branch_that_no_thread_owns_is_not_forked(
    postgres_dsn: str, at: int, end: Ending
) -> None:
    """
    What another fork keeps of a thread that is gone or cleared is forked no more, however little.
    """

    async def live() -> list[str]:
        async with PostgresStore(postgres_dsn) as store:
            thread = await store.thread("t")
            await thread.add_messages([Message.user(f"m{number}") for number in range(10)])
            old = await store.thread("t")
            await thread.fork("kept")
            await end(store, thread)
            # Of a cleared thread it is told that it has gone on.
            with pytest.raises((ThreadNotFoundError, ThreadConflictError)):
                await old.fork("late", at=at)
            assert await store.find("late") is None
            return await texts(store, "kept")

    assert asyncio.run(live()) == [f"m{number}" for number in range(10)]


def test_a_branch_that_was_left_is_forked(postgres_dsn: str) -> None:
    """A thread owns the branches that it has left: who read it before can still fork it."""

    async def live() -> list[str]:
        async with PostgresStore(postgres_dsn) as store:
            thread = await store.thread("t")
            await thread.add_messages([Message.user(f"m{number}") for number in range(4)])
            old = await store.thread("t")
            await thread.rewind(1)
            await old.fork("f", at=3)
            return await texts(store, "f")

    assert asyncio.run(live()) == ["m0", "m1", "m2"]
