"""A PostgreSQL with odd settings of the database or the user."""

from collections.abc import Iterator

import psycopg
import pytest

from foldline.errors import StoreError
from foldline.history.messages import Message
from foldline.testing.storage import StorageCheck, StorageConformance
from foldline.threads.stores.postgres.store import PostgresStore
from tests.servers.postgres import PostgresServer


# Settings of a user or a database that could change what is sent or answered.
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


@pytest.fixture(scope="module")
def odd_dsn(postgres_server: PostgresServer) -> Iterator[str]:
    """Return the address of a database with all odd settings."""
    with postgres_server.database() as dsn:
        configure(dsn, ODD)
        yield dsn


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(one, marks=[pytest.mark.slow] if place % 12 else [], id=one.name)
        for place, one in enumerate(StorageConformance.checks())
    ],
)
async def test_odd_settings_break_no_promise(odd_dsn: str, check: StorageCheck) -> None:
    """With any settings of the database, every promise of a storage is kept."""
    assert await StorageConformance(lambda: PostgresStore(odd_dsn).context.storage).prove(check)


async def test_a_database_that_is_read_only(postgres_dsn: str) -> None:
    """If transactions are read-only by default the error names that too, and reading works."""
    async with PostgresStore(postgres_dsn) as store:
        await (await store.thread("t")).add_message(Message.user("red"))
    configure(postgres_dsn, {"default_transaction_read_only": "on"})
    async with PostgresStore(postgres_dsn) as store:
        thread = await store.thread("t")
        with pytest.raises(StoreError, match="a replica, or default_transaction_read_only"):
            await thread.add_message(Message.user("x"))

        assert [one.text for one in await thread.get_messages()] == ["red"]


async def test_a_user_who_may_only_read(postgres_dsn: str) -> None:
    """A user who may not write reads and searches."""
    async with PostgresStore(postgres_dsn) as store:
        thread = await store.thread("t")
        await thread.add_messages([Message.user("red fox"), Message.user("blue fox")])
    execute(postgres_dsn, READER)
    try:
        async with PostgresStore(postgres_dsn.replace("postgres@", "reader@")) as store:
            thread = await store.thread("t")
            with pytest.raises(StoreError, match="may not use or create"):
                await thread.add_message(Message.user("x"))

            assert [one.number for one in await thread.search("fox")] == [1, 0]
    finally:
        execute(postgres_dsn, "DROP OWNED BY reader; DROP ROLE reader")
