"""A copy that is made while others write is one moment of the store."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from foldline.threads.verification import verify_store

from foldline.errors import StoreError, UsageError
from foldline.history.messages import Message
from foldline.threads.cipher import AesCipher
from foldline.threads.stores.sqlite.backup import back_up
from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.stores.statements import migrations
from tests.threads.sample import fill
from tests.threads.stores.test_sqlite_schema import PACKAGE, execute, header, recorded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of a store with everything in it."""

    async def run() -> None:
        async with SQLiteStore(tmp_path / "store.db") as store:
            await fill(store)

    asyncio.run(run())
    return tmp_path / "store.db"


async def _snapshots(path: Path) -> list[bytes]:
    async with SQLiteStore(path) as store:
        return [
            await thread.to_snapshot()
            for tenant in await store.tenants()
            async for thread in store.threads(tenant=tenant)
        ]


def test_the_copy_holds_the_same(path: Path, tmp_path: Path) -> None:
    """Every thread of the copy is the same, byte for byte, and nobody else may read the file."""
    backup = back_up(path, tmp_path / "copy.db")

    assert (backup.threads, backup.problems) == (3, ())
    assert asyncio.run(_snapshots(tmp_path / "copy.db")) == asyncio.run(_snapshots(path))
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600


def test_what_is_in_the_log_alone_is_copied(path: Path, tmp_path: Path) -> None:
    """A copy of a store that is open has what is not yet folded back into its file."""

    async def run() -> int:
        async with SQLiteStore(path) as store:
            thread = await store.thread("new")
            await thread.add_message(Message.user("Is this in the log?"))
            return back_up(path, tmp_path / "copy.db").threads

    assert asyncio.run(run()) == 4


@pytest.mark.parametrize("version", range(1, len(migrations(PACKAGE)) + 1))
def test_a_store_of_any_version_is_copied_as_it_is(
    root: Path, tmp_path: Path, version: int
) -> None:
    """
    A store that an older foldline wrote is sound, and so is its copy, which stays of that version.
    """
    old, copy = tmp_path / "old.db", tmp_path / "copy.db"
    recorded(root / "tests/threads/stores/format_0001.sql", old)
    for number, pieces in migrations(PACKAGE)[1:version]:
        execute(old, *pieces, f"PRAGMA user_version = {number}")

    backup = back_up(old, copy)

    assert (backup.threads, backup.problems, backup.stray) == (1, (), ())
    assert header(copy) == (APPLICATION_ID, version)


def test_nothing_is_overwritten(path: Path, tmp_path: Path) -> None:
    """A file that is there stays as it is, and no draft is left."""
    (tmp_path / "there.db").write_bytes(b"precious")
    names = sorted(one.name for one in tmp_path.iterdir())

    with pytest.raises(UsageError, match="is there already"):
        back_up(path, tmp_path / "there.db")

    assert (tmp_path / "there.db").read_bytes() == b"precious"
    assert sorted(one.name for one in tmp_path.iterdir()) == names


def test_another_database_is_refused(tmp_path: Path) -> None:
    """A file of another program is not copied."""
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE one (two)")

    with pytest.raises(StoreError, match="no store of foldline"):
        back_up(tmp_path / "other.db", tmp_path / "copy.db")

    assert not (tmp_path / "copy.db").exists()


def test_damage_is_copied_and_told(path: Path, tmp_path: Path) -> None:
    """What is damaged in the store is in the copy, and its row is named."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE rows SET data = substr(data, 1, 50) WHERE id = (1 << 32) + 7")
        connection.commit()

    problems = back_up(path, tmp_path / "copy.db").problems

    assert problems == ("message row 7 of branch 1 is damaged", *problems[1:])
    assert (tmp_path / "copy.db").exists()


def test_an_encrypted_store_needs_no_key(tmp_path: Path) -> None:
    """Seals are made over what is stored, so that they are checked without a key."""

    async def run() -> None:
        async with SQLiteStore(tmp_path / "store.db", cipher=AesCipher(bytes(32))) as store:
            await fill(store)

    asyncio.run(run())

    assert back_up(tmp_path / "store.db", tmp_path / "copy.db").problems == ()


def test_copies_made_while_others_write_are_whole(path: Path, tmp_path: Path) -> None:
    """Of 20 copies made while a thread grows each is whole and holds a beginning of it."""
    stop = threading.Event()

    async def write() -> None:
        async with SQLiteStore(path, durability="relaxed") as store:
            thread = await store.thread("busy")
            while not stop.is_set():
                await thread.add_messages([Message.user("Go on."), Message.assistant("I do.")])

    async def look(copy: Path) -> tuple[int, bool]:
        async with SQLiteStore(copy) as store:
            thread = await store.find("busy")
            faults = [one.faults async for one in verify_store(store) if one.faults]
            return 0 if thread is None else thread.count, not faults

    writer = threading.Thread(target=asyncio.run, args=(write(),))
    writer.start()
    try:
        copies = [tmp_path / f"copy{number}.db" for number in range(20)]
        problems = [back_up(path, copy).problems for copy in copies]
    finally:
        stop.set()
        writer.join()
    found = [asyncio.run(look(copy)) for copy in copies]

    assert problems == [()] * 20
    assert all(is_whole and count % 2 == 0 for count, is_whole in found)
    assert [count for count, _ in found] == sorted(count for count, _ in found)
    assert found[0] < found[-1]


LOST = "the branch of a thread, or one that it goes on behind, is not there"
NO_NUMBER = "a branch in use has a number that is none"


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("DELETE FROM branches WHERE pk = 1", LOST),
        ("DELETE FROM branches WHERE pk = 3", LOST),
        ("UPDATE branches SET tenant = 'x' WHERE pk = 3", LOST),
        ("UPDATE branches SET parent = 2 WHERE pk = 1", LOST),
        ("UPDATE threads SET branch = 'x' WHERE branch = 3", LOST),
        ("UPDATE branches SET at = 'x' WHERE pk = 3", NO_NUMBER),
        ("UPDATE branches SET at = 9223372036854775807 WHERE pk = 3", NO_NUMBER),
    ],
    ids=["parent", "branch", "tenant", "circle", "number", "text", "beyond"],
)
def test_a_branch_that_is_lost_is_told(
    path: Path, tmp_path: Path, damage: str, problem: str
) -> None:
    """
    A thread whose branch cannot be followed is damaged in the copy, and never an error of its own.
    """
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(damage)
        connection.commit()

    assert problem in back_up(path, tmp_path / "copy.db").problems


def test_a_branch_with_a_number_beyond_all_is_told(path: Path, tmp_path: Path) -> None:
    """So is one with a number that no row can have."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE branches SET pk = 1 << 40 WHERE pk = 3")
        connection.execute("UPDATE threads SET branch = 1 << 40 WHERE branch = 3")
        connection.commit()

    assert NO_NUMBER in back_up(path, tmp_path / "copy.db").problems


def test_a_tenant_that_is_no_text_stops_no_copy(path: Path, tmp_path: Path) -> None:
    """
    A store with a damaged name can be copied, and the copy says that there is something wrong.
    """
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE threads SET tenant = CAST(x'61FF62' AS TEXT) WHERE branch = 3")
        connection.commit()

    assert LOST in back_up(path, tmp_path / "copy.db").problems
