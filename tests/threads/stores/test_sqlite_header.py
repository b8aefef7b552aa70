"""
A log that lies beside a SQLite file and was written beside another one.
"""

import asyncio
import random
import shutil
from pathlib import Path

import pytest

from foldline.apps.cli.main import main
from foldline.errors import FoldlineError, StoreCorruptError
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.backup import back_up
from foldline.threads.stores.sqlite.diagnosis import diagnose_file
from foldline.threads.stores.sqlite.header import numbered, schema_of
from foldline.threads.stores.sqlite.store import SQLiteStore


Said = dict[str, list[str]]

SIDES = ("-wal", "-shm")
MIXES = range(20)


async def grow(path: Path, name: str, turns: int, seed: int) -> Said:
    """
    Say *turns* things on threads of *name* in the store at *path*, and return what they hold.
    """
    rng, said = random.Random(seed), Said()
    async with SQLiteStore(path, durability="relaxed") as store:
        for number in range(turns):
            thread = await store.thread(f"{name}{rng.randrange(4)}")
            text = f"{thread.id} {number} " + "x" * rng.randrange(3_000)
            await thread.add_message(Message.user(text))
            said.setdefault(thread.id, []).append(text)
        leave(path, path.with_name(f"{path.name}.killed"))
    return said


def leave(path: Path, target: Path) -> None:
    """
    Copy the file at *path* and its log to *target*, as a kill would leave them.
    """
    for end in ("", "-wal"):
        shutil.copy(f"{path}{end}", f"{target}{end}")


async def read(path: Path) -> Said:
    """
    Return what the threads at *path* hold, as far as they can be read.
    """
    said = Said()
    async with SQLiteStore(path) as store:
        async for thread in store.threads():
            try:
                said[thread.id] = [message.text for message in await thread.get_messages()]
            except FoldlineError:
                continue
    return said


@pytest.fixture
def restored(tmp_path: Path) -> Path:
    """
    A backup in the place of a store whose program was killed, with the log of that beside it.
    """
    asyncio.run(grow(tmp_path / "a.db", "a", 40, 1))
    back_up(tmp_path / "a.db", tmp_path / "backup.db")
    asyncio.run(grow(tmp_path / "a.db", "a", 40, 2))
    killed = tmp_path / "a.db.killed"
    killed.unlink()
    shutil.copy(tmp_path / "backup.db", killed)
    return killed


def test_a_restored_copy_refuses_the_log_of_what_it_replaced(restored: Path) -> None:
    """
    The log of the old file is named in the error, nothing is changed, and without it all is there.
    """
    before = {path.name: path.read_bytes() for path in restored.parent.glob("a.db.killed*")}

    with pytest.raises(StoreCorruptError, match=r"move a\.db\.killed-wal and a\.db\.killed-shm"):
        asyncio.run(read(restored))

    assert {name: restored.with_name(name).read_bytes() for name in before} == before
    for end in SIDES:
        Path(f"{restored}{end}").unlink(missing_ok=True)
    assert asyncio.run(read(restored)) == asyncio.run(read(restored.with_name("backup.db")))


def test_whoever_looks_folds_no_foreign_log_back(restored: Path) -> None:
    """
    Doctor and backup tell of the log of another file, and leave both as they are.
    """
    before = restored.read_bytes()

    (finding,) = diagnose_file(restored)
    with pytest.raises(StoreCorruptError, match="beside another file"):
        back_up(restored, restored.with_name("copy.db"))

    assert (finding.name, finding.weight) == ("log", "danger")
    assert "written beside another file" in finding.advice
    assert restored.read_bytes() == before
    assert not restored.with_name("copy.db").exists()


def test_the_command_says_what_to_do(restored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """
    A command on such a store ends with one line and the code 1.
    """
    code = main(["threads", "list", "--store", str(restored)])

    said = capsys.readouterr().err
    assert (code, said.count("\n")) == (1, 1)
    assert "move a.db.killed-wal and a.db.killed-shm away" in said


@pytest.mark.parametrize("seed", MIXES)
def test_a_foreign_log_is_refused_or_harmless(seed: int, tmp_path: Path) -> None:
    """
    Whatever can be read of a file with the log of another store was said in one of the two.
    """
    rng = random.Random(seed)
    mixed = tmp_path / "mixed.db"
    known = [
        asyncio.run(grow(tmp_path / f"{name}.db", rng.choice("ab"), rng.randrange(1, 300), seed))
        for name in ("one", "other")
    ]
    shutil.copy(tmp_path / "one.db.killed", mixed)
    shutil.copy(tmp_path / "other.db.killed-wal", f"{mixed}-wal")

    try:
        found = asyncio.run(read(mixed))
    except StoreCorruptError:
        return

    for name, texts in found.items():
        assert any(said.get(name, [])[: len(texts)] == texts for said in known)


def test_the_log_of_the_file_itself_is_taken(tmp_path: Path) -> None:
    """
    What a kill has left in the log is there when the store is opened again.
    """
    said = asyncio.run(grow(tmp_path / "a.db", "a", 300, 1))

    assert asyncio.run(read(tmp_path / "a.db.killed")) == said


def test_a_file_keeps_its_number() -> None:
    """
    A number holds the version of the tables, and what tells the file when it is brought up to date.
    """
    first = numbered(1)

    assert [schema_of(first), schema_of(numbered(2, file=first))] == [1, 2]
    assert numbered(2, file=first) - first == 1
    assert first < 1 << 31
    assert len({numbered(1) for _ in range(8)}) > 1
