"""What SQLite, and the system that it runs on, do not let a store have."""

import asyncio
import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from foldline.errors import ConfigError, StoreError
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.store import SQLiteStore


resource = pytest.importorskip("resource")


async def test_the_longest_wait_is_one(tmp_path: Path) -> None:
    """With the longest time to wait a write waits for another program, and a deletion works."""
    path = tmp_path / "a.db"

    async with SQLiteStore(path, busy_timeout=2_147_483) as store:
        thread = await store.thread("one")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            adding = asyncio.create_task(thread.add_message(Message.user("x")))
            await asyncio.wait([adding], timeout=0.05)
            assert not adding.done()
            other.execute("ROLLBACK")
            await adding
        assert await store.delete("one")


@contextmanager
def _free_files(count: int) -> Generator[None]:
    """Let this process open *count* more files, at most."""
    lowest = os.dup(0)
    os.close(lowest)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def _opened(path: Path, *, free: int) -> str:
    """Return what opening the store comes to where so many files may be opened."""
    store = SQLiteStore(path, durability="relaxed")
    with _free_files(free):
        try:
            await store.open()
        except StoreError as error:
            return str(error)
        finally:
            await store.close()
    return "opened"


async def test_no_free_file_is_an_error_of_foldline(tmp_path: Path) -> None:
    """However few files may still be opened, a store opens, or the error says what is missing."""
    found = [await _opened(tmp_path / "a.db", free=free) for free in range(0, 40, 2)]

    assert found[0].endswith("cannot be read (EMFILE)")
    assert found[-1] == "opened"
    assert all(one.endswith(("opened", "(EMFILE)", "(SQLITE_CANTOPEN)")) for one in found)


@pytest.mark.parametrize("path", [None, 5, b"a.db", [], ""])
def test_a_path_is_a_name(path: Any) -> None:
    """What names no file is refused as soon as a store is made of it, by its type."""
    with pytest.raises(ConfigError, match=r"^path (must be|is empty)"):
        SQLiteStore(path)


@pytest.mark.parametrize("path", ["sqlite:///a.db", "postgresql+x://me:secret@host/a"])
def test_an_address_is_not_a_path(path: str) -> None:
    """What begins like an address is refused without a word of it; a drive is none."""
    with pytest.raises(ConfigError, match=r"^path must be the path of a file, .* got an address$"):
        SQLiteStore(path)
    SQLiteStore("C:/a.db")


def test_a_folder_is_not_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is refused by its name before anything is made beside it; a name in it is not."""
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")

    for path in (".", tmp_path / "folder", "../folder/"):
        with pytest.raises(StoreError, match="is a folder: name the file of the store in it"):
            SQLiteStore(path)
    SQLiteStore("a.db")

    assert [one.name for one in tmp_path.rglob("*")] == ["folder"]


_LONG = (2_147_484, 3e6, float("inf"), 10**400)


@pytest.mark.parametrize("seconds", ["5", None, True, 0, -1.0, float("nan"), *_LONG])
def test_a_timeout_is_a_number_of_seconds(tmp_path: Path, seconds: Any) -> None:
    """A time to wait that is not a number, or that SQLite cannot count, is refused."""
    limit = "above 0 and at most 2,147,483" if seconds in _LONG else "a number of seconds"
    with pytest.raises(ConfigError, match=rf"^busy_timeout must be .*{limit}"):
        SQLiteStore(tmp_path / "a.db", busy_timeout=seconds)
