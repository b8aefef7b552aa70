"""The branches in a SQLite file: damage of one, and who may share one."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from foldline.threads.repair import whole_rows
from foldline.threads.revision import forked as forked_from
from foldline.threads.verification import verify_store

from foldline.errors import StoreCorruptError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.threads.head import decode_record
from foldline.threads.key import ThreadKey
from foldline.threads.step import Step
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.stores.opened import use


NEW = ThreadKey("default", "new")
SAID = [Message.user(f"m{number}") for number in range(30)]


async def damaged(store: SQLiteStore) -> list[str]:
    """Return the threads of *store* that are not as they were written."""
    return [one.key.id async for one in verify_store(store) if one.key and one.faults]


@pytest.fixture
def forked(tmp_path: Path) -> Path:
    """
    Return the file of a store with the thread `t`, its fork `f` behind 20 messages, and another.
    """

    async def fill(store: SQLiteStore) -> None:
        thread = await store.thread("t")
        await thread.add_messages(SAID)
        await (await thread.fork("f", at=20)).add_messages(SAID[20:])
        await (await store.thread("other")).add_messages(SAID)

    use(tmp_path / "a.db", fill)
    return tmp_path / "a.db"


def execute(path: Path, *pieces: str) -> None:
    """Run each of *pieces* on the file at *path*, past every store."""
    for piece in pieces:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(piece)


@pytest.mark.parametrize(
    "change",
    [
        "at = 'x'",
        "at = x'00'",
        "at = 7.5",
        "at = -1",
        "at = 1 << 40",
        "parent = 'x'",
        "parent = 0.5",
    ],
)
def test_a_number_that_is_none_is_damage_of_one_thread(forked: Path, change: str) -> None:
    """
    A branch whose numbers are none is an error of the store for its thread; others can be read.
    """
    execute(forked, f"UPDATE branches SET {change} WHERE parent IS NOT NULL")

    async def look(store: SQLiteStore) -> list[str]:
        thread = await store.thread("f")
        with pytest.raises(StoreCorruptError, match="a branch of thread 'f'"):
            await thread.get_messages()
        with pytest.raises(StoreCorruptError, match="a branch of thread 'f'"):
            await thread.search("m3")
        for id in ("t", "other"):
            assert await (await store.thread(id)).get_messages() == SAID
        return await damaged(store)

    assert use(forked, look) == ["f"]


def lose_name(path: Path) -> None:
    """Take the name of the branch of the thread `t` out of its page, and leave it in the index."""
    twin = (
        "SELECT 'table', 'twin', 'twin', rootpage, replace(replace(sql, 'branches', 'twin'), "
        "'NOT NULL UNIQUE', '') FROM sqlite_schema WHERE name = 'branches'"
    )
    execute(
        path,
        f"INSERT INTO sqlite_schema {twin}",
        "UPDATE twin SET id = NULL WHERE pk = (SELECT branch FROM threads WHERE id = 't')",
        "DELETE FROM sqlite_schema WHERE name = 'twin'",
    )


def test_a_branch_without_a_name_is_told_and_its_messages_are_saved(forked: Path) -> None:
    """
    Where the page of a branch has lost its name its thread is damaged, and every message is whole.
    """
    lose_name(forked)

    async def look(store: SQLiteStore) -> tuple[list[Message], list[str]]:
        thread = await store.thread("t")
        with pytest.raises(StoreCorruptError, match="branch of thread 't'"):
            await thread.add_message(Message.user("late"))
        saved = await whole_rows(store.backing, thread.key)
        return list(saved.messages.values()), await damaged(store)

    assert use(forked, look) == (SAID, ["f", "t"])


def test_who_shares_a_branch_without_a_name_keeps_rows_of_its_own(forked: Path) -> None:
    """A fork of it cannot read what it shares, and saves what it has written itself."""
    lose_name(forked)

    async def look(store: SQLiteStore) -> list[Message]:
        thread = await store.thread("f")
        with pytest.raises(
            StoreCorruptError, match="a branch of thread 'f' has a name that is none"
        ):
            await thread.get_messages()
        saved = await whole_rows(store.backing, thread.key)
        return list(saved.messages.values())

    assert use(forked, look) == SAID[20:]


async def planned_fork(store: SQLiteStore, at: int) -> Step:
    """Return the commit that makes a fork of the thread `t` that shares its first *at* messages."""
    stored = await store.backing.storage.load(ThreadKey("default", "t"))
    assert stored is not None
    record = decode_record(stored, store.backing.vault)
    return (await forked_from(store.backing, record, NEW, at)).step


@pytest.mark.parametrize("at", [0, 5, 20])
@pytest.mark.parametrize("way", ["delete", "clear"])
def test_what_nobody_owns_is_shared_no_more(forked: Path, way: str, at: int) -> None:
    """
    A thread that was deleted or cleared is forked no more, also where a fork still needs its rows.
    """

    async def live(store: SQLiteStore) -> list[Message]:
        thread, planned = await store.thread("t"), await planned_fork(store, at)
        await (store.delete("t") if way == "delete" else thread.clear())
        with pytest.raises(ThreadNotFoundError):
            await store.backing.storage.commit(NEW, planned)
        assert await store.find("new") is None
        return await (await store.thread("f")).get_messages()

    assert use(forked, live) == SAID


def test_a_thread_owns_the_branches_that_it_has_left(forked: Path) -> None:
    """Behind a rewind the branch that was left can still be shared."""

    async def live(store: SQLiteStore) -> int:
        thread, planned = await store.thread("t"), await planned_fork(store, 25)
        await thread.rewind(3)
        await store.backing.storage.commit(NEW, planned)
        return (await store.thread("new")).count

    assert use(forked, live) == 25
