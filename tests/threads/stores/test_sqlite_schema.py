"""The tables of a SQLite store, and the files that it opens, brings up to date and refuses."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from foldline.errors import StoreCorruptError, StoreError, StoreVersionError
from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.storage import StoredThread
from foldline.threads.stores.sqlite.file import APPLICATION_ID, Durability
from foldline.threads.stores.sqlite.identity import number_in
from foldline.threads.stores.sqlite.migration import NEWEST_SCHEMA
from foldline.threads.stores.sqlite.store import SQLiteStorage, SQLiteStore
from foldline.threads.stores.statements import migrations
from tests.threads.stores.opened import use
from tests.threads.stores.recorded import SQLITE, materialize_sqlite


PACKAGE = "foldline.threads.stores.sqlite"
OLD = tuple(name for name in SQLITE if not name.endswith("encrypted"))


def catalog(path: Path) -> list[tuple[str, str, str | None]]:
    """Return what the file at *path* says of its tables and indexes."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
        return connection.execute(query).fetchall()


def header(path: Path) -> tuple[int, int]:
    """Return the mark of the program that made the file, and the version of its tables."""
    with closing(sqlite3.connect(path)) as connection:
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        return mark, number_in(connection).schema


def execute(path: Path, *pieces: str) -> None:
    """Run each of *pieces* on the file at *path*, without a store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for piece in pieces:
            connection.execute(piece)


def write(path: Path) -> list[str]:
    """Write a message to the thread `t`; return what is in it."""

    async def add(store: SQLiteStore) -> list[str]:
        thread = await store.thread("t")
        await thread.add_message(Message.user("x"))
        return [message.text for message in await thread.get_messages()]

    return use(path, add)


def test_a_new_file_has_the_tables_of_the_newest_version(tmp_path: Path) -> None:
    """Branches, the word index and what migrations need in between are not among them."""
    path = tmp_path / "a.db"
    write(path)

    tables = {name for kind, name, _ in catalog(path) if kind == "table"}
    assert tables == {"documents", "epochs", "rows", "threads"}
    assert header(path) == (APPLICATION_ID, NEWEST_SCHEMA)
    assert max(number for number, _ in migrations(PACKAGE)) == NEWEST_SCHEMA


def test_opening_twice_changes_nothing(tmp_path: Path) -> None:
    """A file that is opened again has the same tables, mark and version, and what was written."""
    path = tmp_path / "a.db"
    write(path)
    made, marked = catalog(path), header(path)

    assert write(path) == ["x", "x"]
    assert (catalog(path), header(path)) == (made, marked)


@pytest.mark.parametrize("name", OLD)
def test_an_old_file_gets_the_tables_of_a_new_one(name: str, tmp_path: Path) -> None:
    """Its tables and indexes are the same then, and so are mark and version."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    materialize_sqlite(name, old)
    before = header(old)

    write(new)
    write(old)

    assert before == (APPLICATION_ID, int(name[-1]))
    assert header(old) == header(new)
    assert catalog(old) == catalog(new)


def test_a_file_that_noted_no_due_folds_keeps_what_it_holds(tmp_path: Path) -> None:
    """A file of format 4 gets due times and leases, with its threads as they were."""
    path = tmp_path / "a.db"
    write(path)
    names = ("fold_due_since", "holder", "held_until")
    drops = (f"ALTER TABLE threads DROP COLUMN {name}" for name in names)
    execute(path, "DROP INDEX threads_due", *drops)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        number_in(connection)._replace(schema=4).write(connection)

    assert write(path) == ["x", "x"]
    assert header(path) == (APPLICATION_ID, NEWEST_SCHEMA)
    assert "threads_due" in {name for _, name, _ in catalog(path)}


def _newer(path: Path) -> None:
    write(path)
    execute(path, "PRAGMA user_version = 99", "PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize(
    ("make", "kind", "told"),
    [
        (_newer, StoreVersionError, f"99.*{NEWEST_SCHEMA}"),
        (lambda path: execute(path, "CREATE TABLE threads (one)"), StoreError, "another program"),
        (lambda path: execute(path, "PRAGMA application_id = 7"), StoreError, "another program"),
        (lambda path: path.write_bytes(b"precious\n" * 1_000), StoreError, "not a SQLite database"),
    ],
    ids=["newer", "tables", "mark", "text"],
)
def test_what_is_not_ours_is_refused(
    make: Callable[[Path], object], kind: type[StoreError], told: str, tmp_path: Path
) -> None:
    """A file of a newer foldline or another program is refused by its name, and gets no tables."""
    path = tmp_path / "a.db"
    make(path)
    before = path.read_bytes()

    with pytest.raises(kind, match=rf"a\.db.*{told}"):
        write(path)

    # SQLite itself marks the header of a database as one with a log.
    assert path.read_bytes()[100:] == before[100:]


@pytest.mark.parametrize("durability", ["full", "relaxed"])
async def test_a_store_that_is_open_writes_nothing_more_to_a_newer_file(
    tmp_path: Path, durability: Durability
) -> None:
    """A program that runs on while a newer one brings its file up to date is told to be upgraded."""
    path = tmp_path / "a.db"
    async with SQLiteStore(path, durability=durability) as store:
        thread = await store.thread("t")
        with closing(sqlite3.connect(path)) as connection:
            number = number_in(connection)
            number._replace(schema=NEWEST_SCHEMA + 1).write(connection)
        for call in (thread.add_message(Message.user("x")), store.delete("t")):
            with pytest.raises(StoreVersionError, match="upgrade foldline"):
                await call
        await thread.refresh()

    assert thread.count == 0


@pytest.mark.parametrize("name", OLD)
def test_a_failed_migration_changes_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the last of the rows cannot be copied the file is as it was, of its old version."""
    path = tmp_path / "a.db"
    materialize_sqlite(name, path)
    tables, marked = catalog(path), header(path)
    monkeypatch.setattr("foldline.threads.stores.sqlite.migration.flatten", _failing)

    with pytest.raises(StoreError):
        write(path)

    assert (catalog(path), header(path)) == (tables, marked)


def test_a_thread_without_its_branch_is_damage(tmp_path: Path) -> None:
    """An old file whose thread has lost its rows is refused in one line, and is not changed."""
    path = tmp_path / "a.db"
    materialize_sqlite("sqlite-1", path)
    execute(path, "DELETE FROM branches")
    tables = catalog(path)

    with pytest.raises(StoreCorruptError, match=r"a\.db lacks the messages of a thread"):
        write(path)

    assert catalog(path) == tables


def _failing(*_: object) -> None:
    message = "no more"
    raise sqlite3.OperationalError(message)


async def _opened(storage: SQLiteStorage) -> StoredThread | None:
    await storage.open()
    return await storage.load(ThreadKey("default", "t"))


@pytest.mark.parametrize("attempt", range(5))
def test_several_threads_open_one_store_at_once(attempt: int, tmp_path: Path) -> None:
    """Eight threads that open one storage object at the same time all use it, with no error."""
    storage = SQLiteStorage(tmp_path / f"{attempt}.db")
    start = threading.Barrier(8)

    def live(_: int) -> StoredThread | None:
        start.wait(60)
        return asyncio.run(_opened(storage))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(live, range(8))) == [None] * 8
    asyncio.run(storage.close())
