"""The tables of a SQLite store, and the files that it opens and refuses."""

import asyncio
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import pytest
from foldline.threads.stores.sqlite.header import schema_of
from foldline.threads.verification import Verified, verify_store
from msgspec import structs

from foldline.errors import StoreError, StoreVersionError
from foldline.history.messages import Message
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.stores.statements import migrations
from foldline.threads.tools import ToolRun


PACKAGE = "foldline.threads.stores.sqlite"


def catalog(path: Path) -> list[tuple[str, str, str | None]]:
    """Return what the file at *path* says of its tables and indexes."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
        return connection.execute(query).fetchall()


def header(path: Path) -> tuple[int, int]:
    """
    Return the mark of the program that made the file at *path*, and the version of its tables.
    """
    with closing(sqlite3.connect(path)) as connection:
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        (number,) = connection.execute("PRAGMA user_version").fetchone()
    return mark, schema_of(number)


def execute(path: Path, *pieces: str) -> None:
    """Run each of *pieces* on the file at *path*, past every store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for piece in pieces:
            connection.execute(piece)


def recorded(dump: Path, path: Path) -> None:
    """Make the file at *path* out of the recorded *dump*."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump.read_text("utf-8"))


def write(path: Path) -> list[str]:
    """Write a message to the thread `t`; return what is in it."""

    async def live() -> list[str]:
        async with SQLiteStore(path) as store:
            thread = await store.thread("t")
            await thread.add_message(Message.user("x"))
            return [message.text for message in await thread.get_messages()]

    return asyncio.run(live())


def test_schema_is_the_sum_of_migrations(tmp_path: Path) -> None:
    """The tables of a new file are what the numbered migrations make, one after the other."""
    made, summed = tmp_path / "made.db", tmp_path / "summed.db"
    write(made)
    for _, pieces in migrations(PACKAGE):
        execute(summed, *pieces)

    assert catalog(made) == catalog(summed)
    assert {name for kind, name, _ in catalog(made) if kind == "table"} == {
        "branches",
        "documents",
        "indexed",
        "rows",
        "threads",
        "words",
    }


def test_migrations_are_numbered_from_one() -> None:
    """Every file of SQL but the statements is a migration, and their numbers have no gap."""
    names = sorted(entry.name for entry in (files(PACKAGE) / "sql").iterdir())
    numbers = [number for number, _ in migrations(PACKAGE)]

    assert numbers == list(range(1, len(names)))
    assert [name[:4] for name in names if name != "statements.sql"] == [
        f"{number:04d}" for number in numbers
    ]


def test_opening_twice_changes_nothing(tmp_path: Path) -> None:
    """A file that is opened again has the same tables, mark and version, and what was written."""
    path = tmp_path / "a.db"
    write(path)
    made, marked = catalog(path), header(path)

    assert write(path) == ["x", "x"]
    assert catalog(path) == made
    assert header(path) == marked == (APPLICATION_ID, len(migrations(PACKAGE)))


@pytest.mark.parametrize("known", range(len(migrations(PACKAGE))))
def test_a_file_of_any_version_is_brought_up_to_date(known: int, tmp_path: Path) -> None:
    """A file that only the first migrations were made in gets the others, and is as a new one."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    write(new)
    execute(old, f"PRAGMA application_id = {APPLICATION_ID}")
    for number, pieces in migrations(PACKAGE)[:known]:
        execute(old, *pieces, f"PRAGMA user_version = {number}")

    assert write(old) == ["x"]
    assert catalog(old) == catalog(new)
    assert header(old) == header(new)


def test_tables_of_a_newer_version_are_refused(tmp_path: Path) -> None:
    """A file that a newer foldline wrote is refused with both versions, and stays as it is."""
    path = tmp_path / "a.db"
    write(path)
    execute(path, "PRAGMA user_version = 99", "PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()

    with pytest.raises(StoreVersionError) as caught:
        write(path)

    assert "99" in str(caught.value)
    assert str(len(migrations(PACKAGE))) in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "piece", ["CREATE TABLE threads (one)", "PRAGMA application_id = 7"], ids=["tables", "mark"]
)
def test_a_file_of_another_program_is_refused(piece: str, tmp_path: Path) -> None:
    """A database with tables or a mark of somebody else is refused, and gets none of ours."""
    path = tmp_path / "a.db"
    execute(path, piece)
    tables, marked = catalog(path), header(path)

    with pytest.raises(StoreError, match="another program"):
        write(path)

    assert catalog(path) == tables
    assert header(path) == marked


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    """A text in the place of the file is refused, and stays as it is."""
    path = tmp_path / "a.db"
    path.write_bytes(b"precious\n" * 1_000)

    with pytest.raises(StoreError):
        write(path)

    assert path.read_bytes() == b"precious\n" * 1_000


def test_a_file_of_the_first_version_stays_readable(root: Path, tmp_path: Path) -> None:
    """A file that was written with the first version of the tables is read and continued."""
    path = tmp_path / "a.db"
    recorded(root / "tests/threads/stores/format_0001.sql", path)
    assert header(path) == (APPLICATION_ID, 1)

    async def live() -> tuple[list[str], list[int], str | None, int]:
        async with SQLiteStore(path) as store:
            thread = await store.find("old", tenant="acme")
            assert thread is not None
            said = [message.text for message in await thread.get_messages()]
            found = [match.number for match in await thread.search("AB3CD99")]
            reduction = thread.last_reduction
            assert reduction is not None
            await thread.add_message(Message.user("new"))
            return said, found, thread.display_name, reduction.summarized_up_to_index

    said, found, name, cut = asyncio.run(live())

    assert said == [f"Where is order AB{number}CD99?" for number in range(8)]
    assert (found, name, cut) == ([3], "Kept since the first version", 4)
    assert header(path) == (APPLICATION_ID, len(migrations(PACKAGE)))


def test_a_run_of_the_first_version_goes_on(root: Path, tmp_path: Path) -> None:
    """
    A file of the first version keeps the state of a run, is sound, and the run goes on from there.
    """
    path = tmp_path / "a.db"
    recorded(root / "tests/threads/stores/format_0001_running.sql", path)
    assert header(path) == (APPLICATION_ID, 1)

    async def faults_of(store: SQLiteStore) -> list[Verified]:
        return [one async for one in verify_store(store) if one.faults]

    async def resume() -> tuple[AgentLoopState, list[Verified]]:
        async with SQLiteStore(path) as store:
            thread = await store.find("running", tenant="acme")
            idle = await store.find("idle", tenant="acme")
            assert thread is not None
            assert idle is not None
            assert idle.execution_state is None
            state = thread.execution_state
            assert state is not None
            faults = await faults_of(store)
            done = ToolRun(call_id="c1", name="find_order", result="shipped")
            await thread.commit(execution=structs.replace(state, iteration=3), tools=[done])
            return state, faults + await faults_of(store)

    async def look() -> tuple[AgentLoopState | None, list[object]]:
        async with SQLiteStore(path) as store:
            thread = await store.find("running", tenant="acme")
            assert thread is not None
            return thread.execution_state, [one.result for one in thread.pending_tools]

    before, faults = asyncio.run(resume())
    after, results = asyncio.run(look())

    assert (before.run_id, before.iteration, before.metadata) == ("r1", 2, {"step": "2"})
    assert faults == []
    assert after == structs.replace(before, iteration=3)
    assert results == ["shipped"]


def test_the_state_of_a_run_is_moved(root: Path, tmp_path: Path) -> None:
    """
    The second version has the state in the row of its thread, and no longer among the documents.
    """
    path = tmp_path / "a.db"
    recorded(root / "tests/threads/stores/format_0001_running.sql", path)
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT data FROM documents WHERE kind = 'execution'"
        ((state,),) = connection.execute(query).fetchall()

    write(path)

    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT id, execution FROM threads ORDER BY id").fetchall()
        kinds = connection.execute("SELECT kind FROM documents").fetchall()
    assert found == [("idle", None), ("running", state), ("t", None)]
    assert kinds == [("tool",)]
