"""A PostgreSQL whose database or user is set up as no store would choose."""

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from foldline.threads.verification import verify_store

from foldline.errors import StoreError
from foldline.history.messages import Message
from foldline.testing.storage import StorageCheck, StorageConformance
from foldline.threads.stores.postgres.storage import PostgresStorage
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.thread import ConversationThread
from tests.servers.postgres import PostgresServer
from tests.threads.sample import ONE, fill


# Whatever a user or an owner of a database may set that could change what is sent or answered.
ODD = {
    "array_nulls": "off",
    "backslash_quote": "off",
    "bytea_output": "escape",
    "check_function_bodies": "off",
    "client_encoding": "LATIN1",
    "DateStyle": "SQL, DMY",
    "default_transaction_deferrable": "on",
    "default_transaction_isolation": "serializable",
    "extra_float_digits": "-15",
    "gin_fuzzy_search_limit": "1",
    "IntervalStyle": "sql_standard",
    "lock_timeout": "1",
    "plan_cache_mode": "force_generic_plan",
    "plpgsql.extra_errors": "all",
    "plpgsql.variable_conflict": "use_column",
    "quote_all_identifiers": "on",
    "row_security": "off",
    "search_path": "nowhere",
    "session_replication_role": "replica",
    "standard_conforming_strings": "off",
    "synchronous_commit": "off",
    "TimeZone": "Asia/Kolkata",
    "transform_null_equals": "on",
    "xmloption": "document",
}
# More than are put into the index at once.
MANY = 300
READER = """
CREATE ROLE reader LOGIN;
GRANT USAGE ON SCHEMA foldline TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA foldline TO reader;
"""


def execute(dsn: str, script: str) -> None:
    """Run *script* at *dsn*."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(script.encode())


def configure(dsn: str, settings: dict[str, str]) -> None:
    """Make *settings* those of the database at *dsn*."""
    name = dsn.partition("@/")[2].partition("?")[0]
    for setting, value in settings.items():
        execute(dsn, f"ALTER DATABASE {name} SET {setting} = '{value}'")


@contextmanager
def reader_of(dsn: str) -> Generator[str]:
    """Give the address of a user who may only read the tables at *dsn*."""
    execute(dsn, READER)
    try:
        yield dsn.replace("postgres@", "reader@")
    finally:
        execute(dsn, "DROP OWNED BY reader; DROP ROLE reader")


async def numbers(thread: ConversationThread, text: str) -> list[int]:
    """Return the numbers of the messages of *thread* that hold *text*, the newest first."""
    return [one.number for one in await thread.search(text, limit=MANY)]


@pytest.fixture(scope="module")
def odd_dsn(postgres_server: PostgresServer) -> Iterator[str]:
    """Return the address of a database with all odd settings."""
    with postgres_server.database() as dsn:
        configure(dsn, ODD)
        yield dsn


@pytest.fixture
def latin_dsn(postgres_server: PostgresServer, postgres_dsn: str) -> Iterator[str]:
    """Return the address of a database whose characters are those of Latin-1."""
    script = "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'"
    execute(postgres_dsn, script)
    dsn = postgres_server.address("latin")
    yield dsn
    postgres_server.drop_database(dsn)


@pytest.mark.parametrize("check", StorageConformance.checks(), ids=lambda one: one.name)
def test_odd_settings_break_no_promise(odd_dsn: str, check: StorageCheck) -> None:
    """Whatever a database is set to, every promise of a storage is kept there."""
    assert asyncio.run(StorageConformance(lambda: PostgresStorage(odd_dsn)).prove(check))


def test_odd_settings_change_nothing_that_is_stored(odd_dsn: str) -> None:
    """What was written under odd settings is whole, and clearing a thread leaves nothing behind."""

    async def live() -> tuple[list[object], object, list[str]]:
        async with PostgresStore(odd_dsn, checkpoints="full") as store:
            await fill(store)
            faults = [fault async for one in verify_store(store) for fault in one.faults]
            thread = await store.find(ONE.id)
            assert thread is not None
            await thread.clear()
            left = await store.backing.storage.documents(ONE, "reduction")
            left += await store.backing.storage.documents(ONE, "checkpoint")
            again = await store.thread(ONE.id)
            return [*faults], again.last_reduction, [one.name for one in left]

    assert asyncio.run(live()) == ([], None, [])


def test_an_index_leaves_nothing_out(odd_dsn: str) -> None:
    """
    A search finds every message, whatever part of an index the database is set to be content with.
    """
    texts = ["red" if number % 20 == 0 else f"blue {number}" for number in range(20 * MANY)]

    async def live() -> list[int]:
        async with PostgresStore(odd_dsn) as store:
            thread = await store.thread("many")
            await thread.add_messages([Message.user(text) for text in texts])
            await thread.search("red")
            # Before that the server does not go by the index, or finds all that is new in it.
            execute(odd_dsn, "VACUUM ANALYZE foldline.words")
            return await numbers(thread, "red")

    assert len(asyncio.run(live())) == MANY


def test_a_database_that_takes_no_writes(postgres_dsn: str) -> None:
    """
    Where transactions are read only by default the error names that too; reading and searching work.
    """

    async def live() -> tuple[list[int], int]:
        async with PostgresStore(postgres_dsn) as store:
            await (await store.thread("t")).add_message(Message.user("red"))
        configure(postgres_dsn, {"default_transaction_read_only": "on"})
        async with PostgresStore(postgres_dsn) as store:
            thread = await store.thread("t")
            with pytest.raises(StoreError, match="a replica, or default_transaction_read_only"):
                await thread.add_message(Message.user("x"))
            return await numbers(thread, "red"), len(await thread.get_messages())

    assert asyncio.run(live()) == ([0], 1)


def test_a_user_who_may_only_read_searches(postgres_dsn: str) -> None:
    """Who may not write the index finds what is in it, and what is not."""

    async def live() -> list[list[int]]:
        async with PostgresStore(postgres_dsn) as store:
            thread = await store.thread("t")
            await thread.add_messages([Message.user("red fox"), Message.user("blue fox")])
            await thread.search("fox")
            more = [Message.user(f"fox {number}") for number in range(MANY)]
            await thread.add_messages([*more, Message.user("red")])
        with reader_of(postgres_dsn) as address:
            async with PostgresStore(address) as store:
                thread = await store.thread("t")
                texts = ("red", "blue", "fox 299", "green")
                return [await numbers(thread, text) for text in texts]

    assert asyncio.run(live()) == [[MANY + 2, 0], [1], [MANY + 1], []]


def test_words_that_a_database_has_no_characters_for(latin_dsn: str) -> None:
    """Any word is found where the database has fewer characters than there are."""
    texts = ["grüße 日本 привет", "plain word", "grusse"]

    async def live() -> list[list[int]]:
        async with PostgresStore(latin_dsn) as store:
            thread = await store.thread("t")
            await thread.add_messages([Message.user(text) for text in texts])
            return [await numbers(thread, text) for text in ("GRÜSSE", "日本", "привет", "word")]

    assert asyncio.run(live()) == [[0], [0], [0], [1]]
