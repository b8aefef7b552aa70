"""What SQLite and the system report, without what is stored, with the file if it was named."""

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


def test_an_error_names_the_file_if_it_is_given(tmp_path: Path) -> None:
    """The name precedes the line, of the same class, without the folder or what SQLite quotes."""
    path = tmp_path / "notes.txt"
    path.write_text("a text " * 100)
    for error, kind, text in (
        (
            _refused(path),
            StoreCorruptError,
            "the file is not a SQLite database (SQLITE_NOTADB)",
        ),
        # Without a result code of SQLite.
        (
            sqlite3.ProgrammingError("canary"),
            StoreError,
            "SQLite refused a call (ProgrammingError)",
        ),
    ):
        for found, wanted in (
            (store_error(error), text),
            (store_error(error, of=path), f"notes.txt: {text}"),
        ):
            assert (type(found), str(found)) == (kind, wanted)


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


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.with_name("a.db.lock").mkdir(),
        lambda path: path.mkdir(),
    ],
    ids=["lock", "folder"],
)
def test_what_cannot_be_opened_is_named(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """The error names the store that cannot be opened, and not its folder."""
    spoil(tmp_path / "a.db")

    with pytest.raises(StoreError, match=r"\ba\.db\b"):
        asyncio.run(_open(tmp_path / "a.db"))
