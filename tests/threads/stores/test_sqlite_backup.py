"""A copy that is made while others write is one moment of the store."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from foldline.errors import StoreError, UsageError
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.backup import back_up
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.verify import verify_store
from tests.apps.damage import smash
from tests.threads.sample import fill
from tests.threads.stores.opened import use
from tests.threads.stores.recorded import SQLITE, materialize_sqlite, open_store
from tests.threads.stores.test_sqlite_schema import header


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of a store with everything in it."""
    use(tmp_path / "store.db", fill)
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


async def test_what_is_in_the_log_alone_is_copied(path: Path, tmp_path: Path) -> None:
    """A copy of a store that is open has what is not yet folded back into its file."""
    async with SQLiteStore(path) as store:
        thread = await store.thread("new")
        await thread.add_message(Message.user("Is this in the log?"))

        assert back_up(path, tmp_path / "copy.db").threads == 4


@pytest.mark.parametrize("name", SQLITE[::2])
def test_a_store_of_any_version_is_copied_as_it_is(tmp_path: Path, name: str) -> None:
    """A store of an older foldline is copied without its key, and migrated when it is opened."""
    materialize_sqlite(name, tmp_path / "old.db")
    old = header(tmp_path / "old.db")

    backup = back_up(tmp_path / "old.db", tmp_path / "copy.db")

    assert (backup.threads > 3, backup.problems) == (True, ())
    assert header(tmp_path / "copy.db") == old
    asyncio.run(_opened(name, tmp_path / "copy.db"))


async def _opened(name: str, path: Path) -> None:
    async with open_store(name, path) as store:
        assert [one.faults async for one in verify_store(store) if one.faults] == []


def test_nothing_is_overwritten(path: Path, tmp_path: Path) -> None:
    """A file that is there stays as it is, and no draft is left."""
    (tmp_path / "there.db").write_bytes(b"precious")
    names = sorted(one.name for one in tmp_path.iterdir())

    with pytest.raises(UsageError, match="never overwritten"):
        back_up(path, tmp_path / "there.db")

    assert (tmp_path / "there.db").read_bytes() == b"precious"
    assert sorted(one.name for one in tmp_path.iterdir()) == names


def test_another_database_is_refused(tmp_path: Path) -> None:
    """A file of another program is not copied."""
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE one (two)")

    with pytest.raises(StoreError, match="not a store of foldline"):
        back_up(tmp_path / "other.db", tmp_path / "copy.db")

    assert not (tmp_path / "copy.db").exists()


def test_damage_that_sqlite_finds_is_in_the_copy(path: Path, tmp_path: Path) -> None:
    """A store with a damaged index is copied as it is, and the backup names the problem."""
    smash(path, "documents")

    problems = back_up(path, tmp_path / "copy.db").problems

    assert problems
    assert (tmp_path / "copy.db").exists()


def test_copies_made_while_others_write_are_whole(path: Path, tmp_path: Path) -> None:
    """Of copies made while a thread grows each is whole and holds a beginning of it."""
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
        copies = [tmp_path / f"copy{number}.db" for number in range(6)]
        problems = [back_up(path, copy).problems for copy in copies]
    finally:
        stop.set()
        writer.join()
    found = [asyncio.run(look(copy)) for copy in copies]

    assert problems == [()] * 6
    assert all(is_whole and count % 2 == 0 for count, is_whole in found)
    assert found == sorted(found)
