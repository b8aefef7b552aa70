"""A log that lies beside a SQLite file and was written beside another one."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from foldline.errors import StoreCorruptError
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.backup import back_up
from foldline.threads.stores.sqlite.doctor import sqlite_facts
from foldline.threads.stores.sqlite.identity import (
    FileNumber,
    lock_of,
    note_file,
    noted,
    number_in,
)
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.stores.opened import use
from tests.threads.stores.recorded import materialize_sqlite


Said = dict[str, list[str]]

SIDES = ("-wal", ".lock")


def grow(path: Path, name: str, turns: int, seed: int, *, size: int = 3_000) -> Said:
    """
    Say *turns* things on threads of *name* in the store at *path*, and return what they hold.

    The file and what lies beside it are copied to one with the end `.killed`, as a kill leaves them.
    """
    rng, said = random.Random(seed), Said()

    async def say(store: SQLiteStore) -> Said:
        for number in range(turns):
            thread = await store.thread(f"{name}{rng.randrange(4)}")
            text = f"{thread.id} {number} " + "x" * rng.randrange(size)
            await thread.add_message(Message.user(text))
            said.setdefault(thread.id, []).append(text)
        for end in ("", *SIDES):
            shutil.copy(f"{path}{end}", f"{path}.killed{end}")
        return said

    return use(path, say)


def read(path: Path) -> Said:
    """Return what the threads at *path* hold."""

    async def look(store: SQLiteStore) -> Said:
        return {
            thread.id: [message.text for message in await thread.get_messages()]
            for thread in [one async for one in store.threads()]
        }

    return use(path, look)


def beside(path: Path) -> dict[str, bytes]:
    """Return the file at *path* and what lies beside it, but for the index of the log."""
    found = [path.with_name(path.name + end) for end in ("", *SIDES)]
    return {one.name: one.read_bytes() for one in found if one.exists()}


def restored(tmp_path: Path, log: str) -> Path:
    """
    Return a backup in the place of a store whose program was killed, with the log of that beside it.

    A short log does not hold the first page of its file, and one that was begun again in the middle
    need not.
    """
    path = tmp_path / "a.db"
    grow(path, "a", 40, 1)
    back_up(path, tmp_path / "backup.db")
    grow(path, "a", 40, 2)
    if log == "wrapped":
        grow(path, "a", 403, 3)
    grow(path, "a", 40 if log == "long" else 2, 4, size=20)
    killed = tmp_path / "a.db.killed"
    killed.unlink()
    shutil.copy(tmp_path / "backup.db", killed)
    return killed


@pytest.mark.parametrize("log", ["long", "short", "wrapped"])
def test_a_restored_copy_refuses_the_log_of_what_it_replaced(tmp_path: Path, log: str) -> None:
    """The log of the old file is named, by every way in; nothing is changed, and it can go."""
    path = restored(tmp_path, log)
    before = beside(path)
    # Another name of a store is that store.
    link, copy = tmp_path / "link.db", tmp_path / "copy.db"
    link.symlink_to(path)
    refused = pytest.raises(
        StoreCorruptError, match=r"the log a\.db\.killed-wal belongs to another file"
    )

    with refused:
        read(path)
    for source in (path, link):
        with refused:
            back_up(source, copy)
    (fact,) = (one for one in sqlite_facts(path) if one.name == "file")

    assert fact.is_danger
    assert "belongs to another file" in fact.value
    assert not copy.exists()
    assert beside(path) == before
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    assert read(path) == read(tmp_path / "backup.db")


@pytest.mark.parametrize("seed", range(3))
def test_a_foreign_log_is_refused(seed: int, tmp_path: Path) -> None:
    """A file refuses the log of another store, whatever is in either."""
    rng = random.Random(seed)
    mixed = tmp_path / "mixed.db"
    for name in ("one", "other"):
        turns = rng.randrange(1, 100)
        grow(tmp_path / f"{name}.db", rng.choice("ab"), turns, seed)
    shutil.copy(tmp_path / "one.db.killed", mixed)
    for end in SIDES:
        shutil.copy(f"{tmp_path}/other.db.killed{end}", f"{mixed}{end}")

    with pytest.raises(StoreCorruptError, match="belongs to another file"):
        read(mixed)


@pytest.mark.parametrize("note", [None, b"", b"17", b"\0\0\0\0", b"12 of them\n"])
def test_the_log_of_the_file_itself_is_taken(note: bytes | None, tmp_path: Path) -> None:
    """What a kill has left in the log is there again, whatever it has left of the note."""
    said = grow(tmp_path / "a.db", "a", 60, 1)
    if note is not None:
        (tmp_path / "a.db.killed.lock").write_bytes(note)

    assert read(tmp_path / "a.db.killed") == said


def test_a_file_keeps_its_number() -> None:
    """A file is given a number once, which stays when its tables are brought up to date."""
    with closing(sqlite3.connect(":memory:")) as connection:
        FileNumber(0, 1).write(connection)
        first = number_in(connection)
        first._replace(schema=2).write(connection)
        second = number_in(connection)

    assert first.own > 0
    assert second == (first.own, 2)


def test_a_file_that_was_being_written_to_is_taken_with_its_log(tmp_path: Path) -> None:
    """If the power has taken the first sector of the file, the log that has it repairs it."""
    said = grow(tmp_path / "a.db", "a", 40, 1)
    killed = tmp_path / "a.db.killed"
    with killed.open("r+b") as file:
        file.write(random.Random(1).randbytes(512))

    assert read(killed) == said


def test_a_copy_gets_its_number_before_a_log(tmp_path: Path) -> None:
    """A backup that is opened and killed at once is itself with its log, by its own number."""
    path, copy = tmp_path / "a.db", tmp_path / "backup.db"
    grow(path, "a", 40, 1)
    back_up(path, copy)
    said = grow(copy, "b", 1, 2)
    killed = tmp_path / "backup.db.killed"
    with closing(sqlite3.connect(f"{killed.as_uri()}?immutable=1", uri=True)) as connection:
        own = number_in(connection).own
    with closing(sqlite3.connect(path)) as connection:
        first = number_in(connection).own

    assert 0 != own != first
    Path(f"{killed}.lock").unlink()
    assert read(killed).items() >= said.items()


def test_file_and_log_that_were_put_back_together_are_taken_without_the_note(
    tmp_path: Path,
) -> None:
    """If another file was there in the meantime, the error says which note to move away."""
    said = grow(tmp_path / "a.db", "a", 60, 1)
    killed, note = tmp_path / "a.db.killed", tmp_path / "a.db.killed.lock"
    note.write_bytes(b"17\n")

    with pytest.raises(StoreCorruptError, match=r"move a\.db\.killed\.lock away"):
        read(killed)

    note.unlink()
    assert read(killed) == said


@pytest.mark.parametrize("data", [None, b""], ids=["missing", "empty"])
def test_a_log_without_its_file_is_kept(data: bytes | None, tmp_path: Path) -> None:
    """If the file of a store is lost, its log, which holds what was acknowledged, is not touched."""
    grow(tmp_path / "a.db", "a", 40, 1)
    killed = tmp_path / "a.db.killed"
    whole = killed.read_bytes()
    killed.unlink()
    if data is not None:
        killed.write_bytes(data)
    before = beside(killed)

    with pytest.raises(StoreCorruptError, match=r"a\.db\.killed is missing or empty, but the log"):
        read(killed)

    assert beside(killed) == before
    killed.write_bytes(whole)
    assert sum(map(len, read(killed).values())) == 40


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """A file that was made empty, or that a kill has left so, is one to begin with."""
    path = tmp_path / "a.db"
    path.touch()

    assert read(path) == {}


def test_a_note_of_another_file_is_gone_before_the_log_is_written(tmp_path: Path) -> None:
    """A file that could not be noted, as somebody read it, is itself with its log after a kill."""
    path = tmp_path / "a.db"
    materialize_sqlite("sqlite-3", path)
    path.with_name("a.db.lock").write_bytes(b"17\n")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM threads").fetchone()
        # The migration is in the log, and stays there as long as somebody reads what was before.
        said = grow(path, "new", 1, 1)

    killed = tmp_path / "a.db.killed"
    assert killed.with_name("a.db.killed.lock").read_bytes() == b"0\n"
    assert read(killed).items() >= said.items()


def test_a_note_is_its_owners_alone(tmp_path: Path) -> None:
    """The lock file is private where the note makes it, as with an SQLite that needs no lock."""
    note_file(tmp_path / "t.db", 7)

    assert noted(tmp_path / "t.db") == 7
    assert lock_of(tmp_path / "t.db").stat().st_mode & 0o777 == 0o600
