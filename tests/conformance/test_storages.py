"""The promises of a storage, on every storage of ours."""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from foldline.testing.storage import StorageCheck, StorageConformance
from foldline.threads.storage import ThreadStorage
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.stores.sqlite.store import SQLiteStorage


MakeStorage = Callable[[], ThreadStorage]


@pytest.fixture
def make_storage(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStorage:
    """Return what makes storages of the kind that the test asks for, all over one place."""
    if request.param == "memory":
        memory = MemoryStorage()
        return lambda: memory
    return lambda: SQLiteStorage(tmp_path / "threads.db")


@pytest.mark.parametrize("make_storage", ["memory", "sqlite"], indirect=True)
@pytest.mark.parametrize("check", StorageConformance.checks(), ids=lambda check: check.name)
def test_a_storage_keeps_the_promise(
    check: StorageCheck, make_storage: MakeStorage, tmp_path: Path
) -> None:
    """Memory and SQLite keep each promise, and nothing is left of what was deleted."""
    assert asyncio.run(StorageConformance(make_storage, timeout=30).prove(check))

    for path in tmp_path.glob("*.db"):
        # Nobody but its owner may read it.
        assert os.stat(path).st_mode & 0o077 == 0  # noqa: PTH116 - the mode alone
        with closing(sqlite3.connect(path)) as connection:
            for table in ("threads", "epochs", "rows", "documents"):
                assert connection.execute(f"SELECT * FROM {table}").fetchall() == []
