"""What a SQLite store is made of: a path and a time to wait."""

from pathlib import Path
from typing import Any

import pytest

from foldline.errors import ConfigError, StoreError
from foldline.threads.stores.sqlite.store import SQLiteStore


@pytest.mark.parametrize("path", [None, 5, b"a.db", [], ""])
def test_a_path_is_a_name(path: Any) -> None:
    """What names no file is refused as soon as a store is made of it, by its type."""
    with pytest.raises(ConfigError, match=r"^path") as caught:
        SQLiteStore(path)

    assert str(caught.value).startswith("path must be" if path != "" else "path is empty")


def test_a_folder_is_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A folder is refused by its name before anything is made beside it; a new name in it is not.
    """
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")

    for path in (".", tmp_path / "folder", "../folder/"):
        with pytest.raises(StoreError, match="is a folder: name the file of the store in it"):
            SQLiteStore(path)
    SQLiteStore("a.db")

    assert [one.name for one in tmp_path.rglob("*")] == ["folder"]


@pytest.mark.parametrize("seconds", ["5", None, True, 0, -1.0, float("nan")])
def test_a_timeout_is_a_number_of_seconds(tmp_path: Path, seconds: Any) -> None:
    """A time to wait that is no number above zero is refused."""
    with pytest.raises(ConfigError, match=r"^busy_timeout must be a number of seconds"):
        SQLiteStore(tmp_path / "a.db", busy_timeout=seconds)
