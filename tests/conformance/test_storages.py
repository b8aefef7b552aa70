"""The promises of a storage, on every storage of ours."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from foldline.testing.storage import StorageCheck, StorageConformance
from foldline.threads.storage import ThreadStorage
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.stores.sqlite.storage import SQLiteStorage


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
def test_a_storage_keeps_the_promise(check: StorageCheck, make_storage: MakeStorage) -> None:
    """Memory and SQLite keep each promise; the tests of the servers run the kit on them."""
    assert asyncio.run(StorageConformance(make_storage, timeout=30).prove(check))


def test_the_files_of_a_storage_are_its_own(tmp_path: Path) -> None:
    """A SQLite file that the kit has used can be read by nobody but its owner."""
    path = tmp_path / "threads.db"
    conformance = StorageConformance(lambda: SQLiteStorage(path))
    asyncio.run(conformance.prove(conformance.checks()[0]))

    assert os.stat(path).st_mode & 0o077 == 0  # noqa: PTH116 - the mode alone
