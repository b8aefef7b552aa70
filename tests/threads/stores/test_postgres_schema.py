"""The tables of a PostgreSQL store, and what a store is asked for before it has any."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator

import psycopg
import pytest

from foldline.errors import ConfigError, MissingExtraError, StoreError, StoreVersionError
from foldline.history.messages import Message
from foldline.threads.stores.flatten import Span, flatten
from foldline.threads.stores.postgres import schema
from foldline.threads.stores.postgres.schema import PACKAGE
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.statements import migrations
from tests.servers.postgres import PostgresServer
from tests.threads.stores.recorded import Json, materialize_postgres, open_store
from tests.threads.stores.recorded_answers import answers


CATALOG = """
SELECT 'column', table_name || '.' || column_name, data_type || ' ' || is_nullable
FROM information_schema.columns WHERE table_schema = %(schema)s
UNION ALL
SELECT 'index', indexname, replace(indexdef, %(schema)s || '.', '')
FROM pg_indexes WHERE schemaname = %(schema)s
UNION ALL
SELECT 'function', proname, md5(prosrc) FROM pg_proc
WHERE pronamespace = to_regnamespace(%(schema)s)
UNION ALL
SELECT 'table', relname, coalesce(reloptions::text, '') FROM pg_class
WHERE relnamespace = to_regnamespace(%(schema)s) AND relkind = 'r'
ORDER BY 1, 2, 3
"""
PROCESS = """
import asyncio, sys
from foldline.history.messages import Message
from foldline.threads.stores.postgres.store import PostgresStore

async def write():
    async with PostgresStore(sys.argv[1]) as store:
        thread = await store.thread("t")
        await thread.append([Message.user("x")])

asyncio.run(write())
"""


def catalog(dsn: str, schema: str = "foldline") -> list[tuple[str, str, str]]:
    """Return what the catalog of the server says of *schema*."""
    with psycopg.connect(dsn) as connection:
        return connection.execute(CATALOG, {"schema": schema}).fetchall()


def execute(dsn: str, script: str) -> None:
    """Run *script* in one transaction."""
    with psycopg.connect(dsn) as connection:
        connection.execute(script.encode())


async def write(dsn: str, **options: object) -> list[str]:
    """Write a message to the thread `t`; return what is in it."""
    async with PostgresStore(dsn, **options) as store:  # type: ignore[arg-type]
        thread = await store.thread("t")
        await thread.add_message(Message.user("x"))
        return [message.text for message in await thread.get_messages()]


async def test_a_new_store_has_the_tables(postgres_dsn: str) -> None:
    """A new store has the tables of flat rows and no others."""
    await write(postgres_dsn)

    tables = {name for kind, name, _ in catalog(postgres_dsn) if kind == "table"}
    assert tables == {"documents", "epochs", "migrations", "rows", "threads"}


@pytest.mark.parametrize("name", ["postgres-1", "postgres-2"])
async def test_an_older_store_becomes_a_new_one(postgres_dsn: str, name: str) -> None:
    """After a migration from any format the tables, indexes and functions are those of a new store."""
    materialize_postgres(name, postgres_dsn)
    await write(postgres_dsn, schema="fresh")
    assert catalog(postgres_dsn) != catalog(postgres_dsn, "fresh")

    assert await write(postgres_dsn) == ["x"]
    assert catalog(postgres_dsn) == catalog(postgres_dsn, "fresh")


async def test_a_store_that_noted_no_due_folds_keeps_what_it_holds(postgres_dsn: str) -> None:
    """A schema of format 3 gets due times and leases, with its threads as they were."""
    await write(postgres_dsn)
    await write(postgres_dsn, schema="fresh")
    execute(
        postgres_dsn,
        """
        SET search_path TO foldline;
        ALTER TABLE threads
            DROP COLUMN fold_due_since, DROP COLUMN holder, DROP COLUMN held_until;
        DROP FUNCTION commit_change, seconds_now;
        DELETE FROM migrations WHERE number > 3;
        """,
    )

    assert await write(postgres_dsn) == ["x", "x"]
    assert catalog(postgres_dsn) == catalog(postgres_dsn, "fresh")


async def answers_of(dsn: str) -> dict[str, Json]:
    """Return everything that can be read at *dsn*."""
    async with open_store("postgres-2", dsn) as store:
        return await answers(store)


async def test_a_killed_migration_is_made_again(
    postgres_server: PostgresServer, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A migration that ends after some threads leaves the old store, and the next open makes it."""
    with postgres_server.database() as other:
        materialize_postgres("postgres-2", other)
        wanted = await answers_of(other)
    materialize_postgres("postgres-2", postgres_dsn)
    old, done = catalog(postgres_dsn), list[object]()

    def die(*given: object) -> Iterator[tuple[int | str, list[Span]]]:
        done.append(given)
        if len(done) > 5:
            raise KeyboardInterrupt
        return flatten(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(schema, "flatten", die)
        with pytest.raises(KeyboardInterrupt):
            await write(postgres_dsn)
    assert catalog(postgres_dsn) == old

    assert await answers_of(postgres_dsn) == wanted


@pytest.mark.slow
async def test_a_long_migration_has_no_deadline(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A migration may take longer than a call, as long as the server answers."""
    materialize_postgres("postgres-2", postgres_dsn)
    slept = list[float]()

    def slow(*given: object) -> Iterator[tuple[int | str, list[Span]]]:
        time.sleep(0.1)
        slept.append(0.1)
        return flatten(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(schema, "flatten", slow)

    assert await write(postgres_dsn, timeout=2.0) == ["x"]
    assert sum(slept) > 2.0


def test_processes_that_begin_at_once(postgres_dsn: str) -> None:
    """If processes open a new store at once, one makes the tables and all can write."""
    command = [sys.executable, "-c", PROCESS, postgres_dsn]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    said = [process.communicate(timeout=60)[1] for process in running]

    assert [process.returncode for process in running] == [0, 0, 0], said
    assert asyncio.run(write(postgres_dsn)) == ["x"] * 4


async def test_tasks_that_open_one_store(postgres_dsn: str) -> None:
    """
    A store that several tasks open at once is open once, and nothing of it is left after closing.
    """
    store = PostgresStore(postgres_dsn)
    await asyncio.gather(*(store.open() for _ in range(5)))
    count = (await store.thread("t")).head.count
    await store.close()
    left = asyncio.all_tasks() - {asyncio.current_task()}

    assert (count, {task.get_name() for task in left}) == (0, set())


async def test_newer_store_is_refused(postgres_dsn: str) -> None:
    """Tables of a newer foldline are refused and stay as they are."""
    await write(postgres_dsn)
    execute(postgres_dsn, "INSERT INTO foldline.migrations (number) VALUES (99)")
    made = catalog(postgres_dsn)

    with pytest.raises(StoreVersionError) as caught:
        await write(postgres_dsn)

    assert (caught.value.found, caught.value.known) == (99, migrations(PACKAGE)[-1][0])
    assert catalog(postgres_dsn) == made


async def test_failed_migration_leaves_nothing(postgres_dsn: str) -> None:
    """
    If a table of another program is in the way nothing is made, and the error says what to do.
    """
    execute(postgres_dsn, "CREATE SCHEMA foldline; CREATE TABLE foldline.threads (x int)")
    made = catalog(postgres_dsn)

    with pytest.raises(StoreError, match="choose another schema"):
        await write(postgres_dsn)

    assert catalog(postgres_dsn) == made
    assert await write(postgres_dsn, schema="other") == ["x"]


async def test_a_user_without_rights_to_make_tables(postgres_dsn: str) -> None:
    """A user who may not create tables uses those that are there, and gets an error without them."""
    await write(postgres_dsn)
    execute(
        postgres_dsn,
        "CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA foldline TO guest; "
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA foldline TO guest",
    )
    guest = postgres_dsn.replace("postgres@", "guest@")

    try:
        assert await write(guest) == ["x", "x"]
        with pytest.raises(StoreError, match="may not use or create the tables"):
            await write(guest, schema="other")
    finally:
        execute(postgres_dsn, "DROP OWNED BY guest; DROP ROLE guest")


@pytest.mark.parametrize(("durability", "shown"), [("full", "on"), ("relaxed", "off")])
@pytest.mark.parametrize("default", ["on", "off"])
async def test_durability(postgres_dsn: str, durability: str, shown: str, default: str) -> None:
    """A full store waits for the disk and a relaxed one does not, whatever the default of the database is."""
    name = postgres_dsn.partition("@/")[2].partition("?")[0]
    execute(postgres_dsn, f"ALTER DATABASE {name} SET synchronous_commit = {default}")

    async with PostgresStore(postgres_dsn, durability=durability) as store:  # type: ignore[arg-type]
        link = store.context.storage.link  # type: ignore[attr-defined]
        link.sql = {**link.sql, "ask": b"SELECT current_setting('synchronous_commit')"}
        ((value,),) = await link.ask("ask", {})
        assert str(value) == shown


@pytest.mark.parametrize(
    ("options", "named"),
    [
        *(({"schema": one}, "schema") for one in ("", "a; DROP", 'a"b', "Foldline", "pg_catalog")),
        ({"schema": "a" * 64}, "schema"),
        ({"durability": "some"}, "durability"),
        ({"pool_size": 0}, "pool_size"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": 1e12}, "timeout"),
    ],
)
def test_odd_options(options: dict[str, object], named: str) -> None:
    """An invalid argument is named at once."""
    with pytest.raises(ConfigError, match=named):
        PostgresStore("host=h", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("dsn", ["secret sauce", "host=secret\ud800", b"secret"])
def test_odd_address(dsn: object) -> None:
    """An invalid address is refused without quoting it."""
    with pytest.raises(ConfigError, match="dsn must be") as caught:
        PostgresStore(dsn)  # type: ignore[arg-type]

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("package", ["psycopg", "psycopg_pool"])
def test_missing_extra(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Without the driver or its pool the error names the extra, at once."""
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingExtraError) as caught:
        PostgresStore("host=h")

    assert (caught.value.package, caught.value.extra) == ("psycopg", "postgres")
