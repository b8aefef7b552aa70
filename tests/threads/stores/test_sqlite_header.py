"""A log that lies beside a SQLite file and was written beside another one."""

import asyncio
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from foldline.threads.stores.sqlite.diagnosis import diagnose_file
from foldline.threads.stores.sqlite.header import (
    is_named,
    number_in,
    numbered,
    schema_of,
    set_number,
)

from foldline.apps.cli.main import main
from foldline.errors import StoreCorruptError
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.backup import back_up
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.faults.rights import without_privileges


Said = dict[str, list[str]]

SIDES = ("-wal", ".lock")
MIXES = range(20)


async def grow(path: Path, name: str, turns: int, seed: int, *, size: int = 3_000) -> Said:
    """Say *turns* things on threads of *name* in the store at *path*, and return what they hold."""
    rng, said = random.Random(seed), Said()
    async with SQLiteStore(path, durability="relaxed") as store:
        for number in range(turns):
            thread = await store.thread(f"{name}{rng.randrange(4)}")
            text = f"{thread.id} {number} " + "x" * rng.randrange(size)
            await thread.add_message(Message.user(text))
            said.setdefault(thread.id, []).append(text)
        leave(path, path.with_name(f"{path.name}.killed"))
    return said


def leave(path: Path, target: Path) -> None:
    """Copy the file at *path* and what lies beside it to *target*, as a kill would leave them."""
    for end in ("", *SIDES):
        shutil.copy(f"{path}{end}", f"{target}{end}")


async def read(path: Path) -> Said:
    """Return what the threads at *path* hold."""
    async with SQLiteStore(path) as store:
        threads = [thread async for thread in store.threads()]
        return {
            thread.id: [message.text for message in await thread.get_messages()]
            for thread in threads
        }


def unnumber(path: Path) -> None:
    """Take the number of the file at *path*, as one has none that was made before files had any."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        set_number(connection, schema_of(number_in(connection)))


def beside(path: Path) -> dict[str, bytes]:
    """Return the file at *path* and what lies beside it, but for the index of the log."""
    found = [path.with_name(path.name + end) for end in ("", *SIDES)]
    return {one.name: one.read_bytes() for one in found if one.exists()}


@pytest.fixture(params=["long", "short", "wrapped"])
def restored(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """
    A backup in the place of a store whose program was killed, with the log of that beside it.

    A short log does not hold the first page of its file, and one that was begun again in the middle
    need not.
    """
    path = tmp_path / "a.db"
    asyncio.run(grow(path, "a", 40, 1))
    back_up(path, tmp_path / "backup.db")
    asyncio.run(grow(path, "a", 40, 2))
    if request.param == "wrapped":
        asyncio.run(grow(path, "a", 403, 3))
    asyncio.run(grow(path, "a", 40 if request.param == "long" else 2, 4, size=20))
    killed = tmp_path / "a.db.killed"
    killed.unlink()
    shutil.copy(tmp_path / "backup.db", killed)
    return killed


def test_a_restored_copy_refuses_the_log_of_what_it_replaced(restored: Path) -> None:
    """
    The log of the old file is named in the error, nothing is changed, and without it all is there.
    """
    before = beside(restored)

    with pytest.raises(StoreCorruptError, match=r"the log a\.db\.killed-wal was written beside"):
        asyncio.run(read(restored))

    assert beside(restored) == before
    for end in ("-wal", "-shm"):
        Path(f"{restored}{end}").unlink(missing_ok=True)
    assert asyncio.run(read(restored)) == asyncio.run(read(restored.with_name("backup.db")))


def test_whoever_looks_folds_no_foreign_log_back(restored: Path) -> None:
    """Doctor and backup tell of the log of another file, and leave both as they are."""
    before = restored.read_bytes()

    (finding,) = diagnose_file(restored)
    with pytest.raises(StoreCorruptError, match="beside another file"):
        back_up(restored, restored.with_name("copy.db"))

    assert (finding.name, finding.weight) == ("log", "danger")
    assert "written beside another file" in finding.advice
    assert restored.read_bytes() == before
    assert not restored.with_name("copy.db").exists()


def test_the_command_says_what_to_do(restored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command on such a store ends with one line and the code 1."""
    code = main(["threads", "list", "--store", str(restored)])

    said = capsys.readouterr().err
    assert (code, said.count("\n")) == (1, 1)
    assert "move it and a.db.killed-shm away" in said


@pytest.mark.parametrize("seed", MIXES)
def test_a_foreign_log_is_refused(seed: int, tmp_path: Path) -> None:
    """A file refuses the log of another store, whatever is in either."""
    rng = random.Random(seed)
    mixed = tmp_path / "mixed.db"
    for name in ("one", "other"):
        turns = rng.randrange(1, 300)
        asyncio.run(grow(tmp_path / f"{name}.db", rng.choice("ab"), turns, seed))
    shutil.copy(tmp_path / "one.db.killed", mixed)
    for end in SIDES:
        shutil.copy(f"{tmp_path}/other.db.killed{end}", f"{mixed}{end}")

    with pytest.raises(StoreCorruptError, match="beside another file"):
        asyncio.run(read(mixed))


@pytest.mark.parametrize("note", [None, b"", b"17", b"\0\0\0\0", b"12 of them\n"])
def test_the_log_of_the_file_itself_is_taken(note: bytes | None, tmp_path: Path) -> None:
    """
    What a kill has left in the log is there again, whatever it has left of the note in the lock.
    """
    said = asyncio.run(grow(tmp_path / "a.db", "a", 300, 1))
    if note is not None:
        (tmp_path / "a.db.killed.lock").write_bytes(note)

    assert asyncio.run(read(tmp_path / "a.db.killed")) == said


def test_a_file_without_a_number_is_given_one(tmp_path: Path) -> None:
    """
    A file of the newest tables that was made before files had numbers gets its own, and keeps it.
    """
    path = tmp_path / "a.db"
    asyncio.run(grow(path, "a", 4, 1))
    unnumber(path)
    numbers = []
    for _ in range(2):
        asyncio.run(read(path))
        with closing(sqlite3.connect(path)) as connection:
            numbers.append(number_in(connection))

    assert is_named(numbers[0])
    assert numbers[0] == numbers[1]


def test_a_file_that_may_not_be_written_to_is_read_without_a_number(tmp_path: Path) -> None:
    """Of the newest tables that were made before files had numbers everything can still be read."""
    path = tmp_path / "a.db"
    said = asyncio.run(grow(path, "a", 4, 1))
    unnumber(path)
    path.chmod(0o444)

    assert without_privileges(lambda: asyncio.run(read(path))) == said


def test_a_file_keeps_its_number() -> None:
    """
    A number holds the version of the tables, and what tells the file when it is brought up to date.
    """
    first = numbered(1)

    assert [schema_of(first), schema_of(numbered(2, file=first))] == [1, 2]
    assert numbered(2, file=first) - first == 1
    assert first < 1 << 31
    assert len({numbered(1) for _ in range(8)}) > 1


@pytest.mark.parametrize("turns", [2, 40, 403])
def test_a_copy_without_a_number_refuses_the_log_of_what_it_replaced(
    turns: int, tmp_path: Path
) -> None:
    """A backup from before files had numbers is not written over by the log of a store of today."""
    path, killed = tmp_path / "a.db", tmp_path / "a.db.killed"
    asyncio.run(grow(path, "a", 40, 1))
    shutil.copy(path, tmp_path / "old.db")
    unnumber(tmp_path / "old.db")
    asyncio.run(grow(path, "a", turns, 2))
    shutil.copy(tmp_path / "old.db", killed)
    before = beside(killed)

    with pytest.raises(StoreCorruptError, match="beside another file"):
        asyncio.run(read(killed))

    assert beside(killed) == before


def test_a_backup_that_is_restored_twice_is_another_file_each_time(tmp_path: Path) -> None:
    """The log of the first restoration is not folded into the second one."""
    path, copy = tmp_path / "a.db", tmp_path / "backup.db"
    asyncio.run(grow(path, "a", 40, 1))
    back_up(path, copy)
    shutil.copy(copy, path)
    asyncio.run(grow(path, "b", 300, 2))
    killed = tmp_path / "a.db.killed"
    shutil.copy(copy, killed)
    before = beside(killed)

    with pytest.raises(StoreCorruptError, match="beside another file"):
        asyncio.run(read(killed))

    assert beside(killed) == before


def test_a_file_that_was_being_written_to_is_taken_with_its_log(tmp_path: Path) -> None:
    """
    Where the power has taken the first sector of the file, the log that has it still mends it.
    """
    said = asyncio.run(grow(tmp_path / "a.db", "a", 40, 1))
    killed = tmp_path / "a.db.killed"
    with killed.open("r+b") as file:
        file.write(random.Random(1).randbytes(512))

    assert asyncio.run(read(killed)) == said


def test_a_note_that_is_known_to_be_wrong_goes(tmp_path: Path) -> None:
    """
    Where a reader is in the way of the fold, the note of another file does not outlast the opening.
    """
    path = tmp_path / "a.db"
    asyncio.run(grow(path, "a", 40, 1))
    killed, note = tmp_path / "a.db.killed", tmp_path / "a.db.killed.lock"
    note.write_bytes(b"17\n")
    with closing(sqlite3.connect(killed, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM rows").fetchone()
        with closing(sqlite3.connect(killed, isolation_level=None)) as writer:
            writer.execute("UPDATE threads SET last_activity = last_activity + 1")
            asyncio.run(read(killed))

        assert note.read_bytes() == b"0\n"
    asyncio.run(read(killed))
    assert note.read_bytes() != b"0\n"


def test_a_copy_knows_a_foreign_log_without_the_note(tmp_path: Path) -> None:
    """Where the lock file is gone, the log that names another file is refused all the same."""
    path, killed = tmp_path / "a.db", tmp_path / "a.db.killed"
    asyncio.run(grow(path, "a", 40, 1))
    back_up(path, tmp_path / "backup.db")
    asyncio.run(grow(path, "a", 300, 2))
    shutil.copy(tmp_path / "backup.db", killed)
    Path(f"{killed}.lock").unlink()

    with pytest.raises(StoreCorruptError, match="beside another file"):
        asyncio.run(read(killed))


def test_a_copy_gets_its_number_before_a_log(tmp_path: Path) -> None:
    """A backup that is opened and killed at once is itself with its log, and keeps that number."""
    path, copy = tmp_path / "a.db", tmp_path / "backup.db"
    asyncio.run(grow(path, "a", 40, 1))
    back_up(path, copy)
    said = asyncio.run(grow(copy, "b", 1, 2))
    killed = tmp_path / "backup.db.killed"
    with closing(sqlite3.connect(f"{killed.as_uri()}?immutable=1", uri=True)) as connection:
        own = number_in(connection)
    with closing(sqlite3.connect(path)) as connection:
        first = number_in(connection)

    assert is_named(own)
    assert own != first
    Path(f"{killed}.lock").unlink()
    assert asyncio.run(read(killed)).items() >= said.items()


def test_a_first_opening_that_is_killed_is_gone_on_with(tmp_path: Path) -> None:
    """A file that has its number in the log alone is taken with it, until the note has come."""
    path = tmp_path / "a.db"
    asyncio.run(grow(path, "a", 40, 1))
    unnumber(path)
    said = asyncio.run(read(path))
    unnumber(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        set_number(connection, numbered(schema_of(number_in(connection))))
        (tmp_path / "a.db.lock").write_bytes(b"0\n")
        leave(path, tmp_path / "killed.db")

    assert asyncio.run(read(tmp_path / "killed.db")) == said


def test_a_log_that_names_its_file_is_taken_whatever_the_note_says(tmp_path: Path) -> None:
    """
    File and log that were put back together are whole, although another file lay there meanwhile.
    """
    said = asyncio.run(grow(tmp_path / "a.db", "a", 300, 1))
    killed = tmp_path / "a.db.killed"
    (tmp_path / "a.db.killed.lock").write_bytes(b"17\n")

    assert asyncio.run(read(killed)) == said


@pytest.mark.parametrize("what", ["is not there", "is empty", "is no SQLite database"])
def test_a_log_without_its_file_is_kept(what: str, tmp_path: Path) -> None:
    """
    Where the file of a store is lost, its log, which holds what was acknowledged, stays as it is.
    """
    asyncio.run(grow(tmp_path / "a.db", "a", 40, 1))
    killed = tmp_path / "a.db.killed"
    whole = killed.read_bytes()
    killed.unlink()
    if what != "is not there":
        killed.write_bytes(b"" if what == "is empty" else random.Random(1).randbytes(20_000))
    before = beside(killed)

    with pytest.raises(StoreCorruptError, match=rf"a\.db\.killed {what}, and the log"):
        asyncio.run(read(killed))

    assert beside(killed) == before
    killed.write_bytes(whole)
    assert sum(map(len, asyncio.run(read(killed)).values())) == 40


def test_a_backup_by_another_name_refuses_a_foreign_log(restored: Path) -> None:
    """A link to a store is that store: no log of another file is folded into it by a backup."""
    link = restored.with_name("link.db")
    link.symlink_to(restored)
    before = beside(restored)

    with pytest.raises(StoreCorruptError, match="beside another file"):
        back_up(link, restored.with_name("copy.db"))

    assert beside(restored) == before


def test_an_empty_file_in_the_place_of_a_store_is_refused(tmp_path: Path) -> None:
    """What a failed copy has left is not taken for a new store; a deleted one is begun anew."""
    path = tmp_path / "a.db"
    asyncio.run(grow(path, "a", 4, 1))
    path.write_bytes(b"")

    with pytest.raises(StoreCorruptError, match=r"a\.db is empty, and a store was in its place"):
        asyncio.run(read(path))

    assert path.read_bytes() == b""
    path.unlink()
    assert asyncio.run(read(path)) == {}
    assert asyncio.run(read(path)) == {}


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """A file that was made empty, or that a kill has left so, is one to begin with."""
    path = tmp_path / "a.db"
    path.touch()

    assert asyncio.run(read(path)) == {}
