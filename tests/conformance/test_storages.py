"""The promises of a storage, on every storage of ours."""

import asyncio
import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from foldline.testing.storage import StorageCheck, StorageConformance
from foldline.threads.storage import ThreadStorage
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.stores.sqlite.storage import SQLiteStorage
from foldline.threads.stores.sqlite.words import IndexedSQLiteStorage


MakeStorage = Callable[[], ThreadStorage]

# Servers have a process of their own and are started when a test first asks for one.
_SERVERS = {
    "postgres": ("foldline.threads.stores.postgres.storage", "PostgresStorage", "postgres_dsn"),
    "redis": ("foldline.threads.stores.redis.storage", "RedisStorage", "redis_url"),
}


def _is_there(module: str) -> bool:
    package = module.rpartition(".")[0]
    return find_spec(package) is not None and find_spec(module) is not None


STORAGES = [
    "memory",
    "sqlite",
    "sqlite-words",
    *(n for n, s in _SERVERS.items() if _is_there(s[0])),
]


@pytest.fixture
def make_storage(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStorage:
    """Return what makes storages of the kind that the test asks for, all over one place."""
    kind: str = request.param
    if kind == "memory":
        memory = MemoryStorage()
        return lambda: memory
    if kind in _SERVERS:
        module, name, fixture = _SERVERS[kind]
        address: str = request.getfixturevalue(fixture)
        storage: Callable[[str], ThreadStorage] = getattr(import_module(module), name)
        return lambda: storage(address)
    path = tmp_path / "threads.db"
    sqlite = SQLiteStorage if kind == "sqlite" else IndexedSQLiteStorage
    return lambda: sqlite(path, durability="relaxed")


@pytest.mark.parametrize("make_storage", STORAGES, indirect=True)
@pytest.mark.parametrize("check", StorageConformance.checks(), ids=lambda check: check.name)
def test_a_storage_keeps_the_promise(check: StorageCheck, make_storage: MakeStorage) -> None:
    """Memory, SQLite with and without an index, PostgreSQL and Redis keep each promise."""
    applies = asyncio.run(StorageConformance(make_storage, timeout=30).prove(check))

    assert applies or check.needs_words


def test_sqlite_keeps_its_promises_where_every_commit_is_flushed(tmp_path: Path) -> None:
    """The report of a SQLite file in its default mode names no broken promise."""
    conformance = StorageConformance(lambda: IndexedSQLiteStorage(tmp_path / "threads.db"))

    report = asyncio.run(conformance.run())

    assert report.broken == ()
    assert {one.outcome for one in report.results} == {"kept"}


def test_the_files_of_a_storage_are_its_own(tmp_path: Path) -> None:
    """A SQLite file that the kit has used can be read by nobody but its owner."""
    path = tmp_path / "threads.db"
    conformance = StorageConformance(lambda: SQLiteStorage(path))
    asyncio.run(conformance.prove(conformance.checks()[0]))

    assert os.stat(path).st_mode & 0o077 == 0  # noqa: PTH116 - the mode alone
