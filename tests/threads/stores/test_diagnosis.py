"""What endangers a store is told."""

import asyncio
import fcntl
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import closing
from pathlib import Path

import pytest
from foldline.threads.stores.sqlite.diagnosis import diagnose_file, diagnose_library

from foldline.errors import StoreError
from foldline.threads.finding import Finding
from foldline.threads.stores.postgres.diagnosis import diagnose_postgres
from foldline.threads.stores.redis.diagnosis import diagnose_redis
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.faults.rights import without_privileges
from tests.threads.sample import fill


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of a store with everything in it."""

    async def run() -> None:
        async with SQLiteStore(tmp_path / "store.db") as store:
            await fill(store)

    asyncio.run(run())
    return tmp_path / "store.db"


def _named(findings: Iterable[Finding]) -> dict[str, Finding]:
    return {one.name: one for one in findings}


async def _all(findings: AsyncIterator[Finding]) -> list[Finding]:
    return [one async for one in findings]


def test_a_usual_store_is_in_no_danger(path: Path) -> None:
    """The counts are told, and nothing is a danger."""
    found = _named(diagnose_file(path))

    assert (found["threads"].value, found["messages"].value) == ("3", "56")
    assert found["journal mode"].value == "wal"
    assert {one.weight for one in found.values()} == {"fine"}


def test_looking_folds_no_log_back(path: Path, tmp_path: Path) -> None:
    """What a kill has left in the log stays there, and its length is told."""
    killed = tmp_path / "killed.db"

    async def kill() -> None:
        async with SQLiteStore(path) as store:
            thread = await store.thread("one")
            await thread.set_metadata({"size": "x" * 50_000})
            for end in ("", "-wal", ".lock"):
                shutil.copy(f"{path}{end}", f"{killed}{end}")

    asyncio.run(kill())
    before = [killed.read_bytes(), Path(f"{killed}-wal").read_bytes()]

    found = _named(diagnose_file(killed))

    assert [killed.read_bytes(), Path(f"{killed}-wal").read_bytes()] == before
    assert found["log size"].value == f"{len(before[1]):,} bytes"
    assert {one.weight for one in found.values()} == {"fine"}


def test_looking_changes_nothing(path: Path) -> None:
    """The file is the same afterwards, byte for byte."""
    before = path.read_bytes()

    tuple(diagnose_file(path))

    assert path.read_bytes() == before


def test_the_library_is_judged() -> None:
    """The version is told, and the bug of old ones is either mended or guarded by a lock."""
    found = _named(diagnose_library())

    assert found["SQLite"].value == sqlite3.sqlite_version
    is_old = sqlite3.sqlite_version_info < (3, 51, 3)
    assert found["WAL-reset bug"].weight == ("note" if is_old else "fine")


def test_a_file_that_others_may_write_to_is_a_danger(path: Path) -> None:
    """Permissions that let others write are a danger, those that let them read a note."""
    path.chmod(0o666)
    writable = _named(diagnose_file(path))["permissions"]
    path.chmod(0o644)
    readable = _named(diagnose_file(path))["permissions"]

    assert (writable.weight, readable.weight) == ("danger", "note")


def _diagnosed(path: Path) -> list[Finding]:
    return without_privileges(lambda: list(diagnose_file(path)))


def test_a_file_that_may_not_be_written_to_is_a_danger(path: Path) -> None:
    """It is one although SQLite lets it be opened, and lets a write begin as if it were a read."""
    writable = [one for one in _diagnosed(path) if one.name == "file"]
    path.chmod(0o444)
    (found,) = (one for one in _diagnosed(path) if one.name == "file")

    assert writable == []
    assert (found.value, found.weight) == ("may not be written to", "danger")
    assert "make the file and its folder writable" in found.advice


def test_a_folder_that_may_not_be_written_to_is_a_danger(path: Path) -> None:
    """A store writes beside its file, so that the folder counts as the file does."""
    path.parent.chmod(0o555)
    found = _named(_diagnosed(path))
    path.parent.chmod(0o700)

    assert found["folder"].weight == "danger"
    assert "make the file and its folder writable" in found["folder"].advice


def test_a_writer_and_its_lock_are_seen(path: Path) -> None:
    """Another program in the middle of a write, and one that holds the lock, are told."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with path.with_name("store.db.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = _named(diagnose_file(path))

    assert found["writers"].value == "another program is writing now"
    assert found["lock"].value == "held by another program now"


@pytest.mark.parametrize(
    ("statement", "name", "weight"),
    [
        ("PRAGMA user_version = 99", "schema", "danger"),
        ("PRAGMA user_version = 0", "schema", "note"),
        ("PRAGMA application_id = 7", "file", "danger"),
        ("PRAGMA journal_mode = DELETE", "journal mode", "note"),
    ],
    ids=["newer", "older", "other program", "journal"],
)
def test_a_file_that_is_not_as_it_should_be_is_told(
    path: Path, statement: str, name: str, weight: str
) -> None:
    """Another version, another program's file and another journal are told by weight."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)

    assert _named(diagnose_file(path))[name].weight == weight


def test_a_file_that_is_none_is_a_danger(tmp_path: Path) -> None:
    """What is no database is told, and raises nothing."""
    (tmp_path / "store.db").write_bytes(b"not a database" * 100)

    assert _named(diagnose_file(tmp_path / "store.db"))["file"].weight == "danger"


def test_postgres_tells_its_modes(postgres_dsn: str) -> None:
    """A server that flushes every commit is in no danger."""
    found = _named(asyncio.run(_all(diagnose_postgres(postgres_dsn))))

    assert set(found) == {"PostgreSQL", "fsync", "full_page_writes", "synchronous_commit"}
    assert found["fsync"].value == "on"
    assert {one.weight for one in found.values()} <= {"fine", "note"}


def test_redis_tells_its_modes(redis_url: str) -> None:
    """A server that writes before it answers is in no danger."""
    found = _named(asyncio.run(_all(diagnose_redis(redis_url))))

    assert set(found) == {"Redis", "persistence", "maxmemory-policy"}
    assert found["persistence"].value.startswith("always")
    assert {one.weight for one in found.values()} == {"fine"}


def test_a_server_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    """A server that cannot be reached is a typed error without the address."""
    with pytest.raises(StoreError) as postgres:
        asyncio.run(_all(diagnose_postgres(f"host={tmp_path} password=geheim dbname=x")))
    with pytest.raises(StoreError) as redis:
        asyncio.run(_all(diagnose_redis(f"unix://:geheim@{tmp_path}/none.sock")))

    assert "geheim" not in f"{postgres.value}{redis.value}"
