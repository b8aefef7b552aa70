"""The tables of a SQLite store, and the files that it opens, brings up to date and refuses."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from foldline.errors import StoreCorruptError, StoreError, StoreVersionError
from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.stores.sqlite.identity import number_in
from foldline.threads.stores.sqlite.migration import NEWEST_SCHEMA
from foldline.threads.stores.sqlite.storage import SQLiteStorage
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.stores.statements import migrations
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

    async def live() -> list[str]:
        async with SQLiteStore(path) as store:
            thread = await store.thread("t")
            await thread.add_message(Message.user("x"))
            return [message.text for message in await thread.get_messages()]

    return asyncio.run(live())


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


def test_tables_of_a_newer_version_are_refused(tmp_path: Path) -> None:
    """A file that a newer foldline wrote is refused with both versions, and is not changed."""
    path = tmp_path / "a.db"
    write(path)
    execute(path, "PRAGMA user_version = 99", "PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()

    with pytest.raises(StoreVersionError) as caught:
        write(path)

    assert "99" in str(caught.value)
    assert str(NEWEST_SCHEMA) in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "piece", ["CREATE TABLE threads (one)", "PRAGMA application_id = 7"], ids=["tables", "mark"]
)
def test_a_file_of_another_program_is_refused(piece: str, tmp_path: Path) -> None:
    """A database with tables or a mark of another program is refused, and gets none of ours."""
    path = tmp_path / "a.db"
    execute(path, piece)
    tables, marked = catalog(path), header(path)

    with pytest.raises(StoreError, match="another program"):
        write(path)

    assert (catalog(path), header(path)) == (tables, marked)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    """A text file in the place of the store is refused, and is not changed."""
    path = tmp_path / "a.db"
    path.write_bytes(b"precious\n" * 1_000)

    with pytest.raises(StoreError):
        write(path)

    assert path.read_bytes() == b"precious\n" * 1_000


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


def test_several_threads_open_one_store_at_once(tmp_path: Path) -> None:
    """Eight threads that open one storage object at the same time all use it, with no error."""
    for attempt in range(10):
        storage = SQLiteStorage(tmp_path / f"{attempt}.db")
        start, failed = threading.Barrier(8), list[BaseException]()

        async def use(storage: SQLiteStorage) -> None:
            await storage.open()
            assert await storage.load(ThreadKey("default", "t")) is None

        def live(
            storage: SQLiteStorage = storage,
            start: threading.Barrier = start,
            failed: list[BaseException] = failed,
        ) -> None:
            start.wait(10)
            try:
                asyncio.run(use(storage))
            except BaseException as error:  # noqa: BLE001 - it is reported
                failed.append(error)

        threads = [threading.Thread(target=live) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        asyncio.run(storage.close())
        assert failed == []
