"""
What SQLite and the system report, told without what is stored, with the file where it was named.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from foldline.errors import StoreCorruptError, StoreError
from foldline.threads.stores.sqlite.faults import store_error
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.faults.rights import without_privileges


def _refused(path: Path) -> sqlite3.Error:
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.Error) as caught:
        connection.execute("PRAGMA journal_mode = WAL")
    return caught.value


async def _open(path: Path) -> None:
    async with SQLiteStore(path):
        pass


def _raised(path: Path) -> StoreError:
    """Return what somebody meets who may not do everything, and opens a store at *path*."""
    with pytest.raises(StoreError) as caught:
        without_privileges(lambda: asyncio.run(_open(path)))
    return caught.value


def test_an_error_names_the_file_where_it_is_given(tmp_path: Path) -> None:
    """The name stands in front of the same line, of the same class; the folder is left out."""
    path = tmp_path / "notes.txt"
    path.write_text("a text " * 100)
    error = _refused(path)

    text = "the file is not a SQLite database (SQLITE_NOTADB)"
    assert (str(store_error(error)), type(store_error(error))) == (text, StoreCorruptError)
    assert str(store_error(error, of=path)) == f"notes.txt: {text}"
    assert type(store_error(error, of=path)) is StoreCorruptError


def test_an_error_of_python_itself_names_the_file_too(tmp_path: Path) -> None:
    """What has no result code of SQLite is told about the file as well."""
    error = sqlite3.ProgrammingError("canary")

    text = "a.db: SQLite refused a call (ProgrammingError)"
    assert str(store_error(error, of=tmp_path / "a.db")) == text


def test_a_folder_that_nobody_may_look_into_is_an_error_of_ours(tmp_path: Path) -> None:
    """A store may be named where nobody may look; opening it tells so, in one line."""
    folder = tmp_path / "shut"
    folder.mkdir()
    folder.chmod(0)
    try:
        error = _raised(folder / "a.db")
    finally:
        folder.chmod(0o700)

    assert "not writable" in str(error)
    assert str(error).endswith("(EACCES)")
    assert "\n" not in str(error)


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (number INTEGER)")


def _newer(path: Path) -> None:
    asyncio.run(_open(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 200")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_text("a text " * 100),
        _foreign,
        _newer,
        lambda path: path.with_name("a.db.lock").mkdir(),
        lambda path: path.mkdir(),
    ],
    ids=["text", "foreign", "newer", "lock", "folder"],
)
def test_what_cannot_be_opened_is_named(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """
    Anyone who has several stores is told which one it is that cannot be opened, and not its folder.
    """
    spoil(tmp_path / "a.db")

    with pytest.raises(StoreError, match=r"\ba\.db\b"):
        asyncio.run(_open(tmp_path / "a.db"))
