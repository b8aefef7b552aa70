"""What `doctor` finds about the environment of a SQLite store."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from foldline.threads.storage import Fact
from foldline.threads.stores.sqlite.doctor import sqlite_facts
from tests.apps.damage import smash
from tests.threads.sample import fill
from tests.threads.stores.opened import use
from tests.threads.stores.recorded import materialize_sqlite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of a store with everything in it."""
    use(tmp_path / "store.db", fill)
    return tmp_path / "store.db"


def facts(path: Path) -> dict[str, Fact]:
    """Return the facts about the store at *path* by their names."""
    return {one.name: one for one in sqlite_facts(path)}


def dangers(path: Path) -> list[str]:
    """Return the names of the facts that are dangers."""
    return [one.name for one in sqlite_facts(path) if one.is_danger]


def test_a_sound_store_is_described_and_not_changed(path: Path) -> None:
    """Versions, counts and sizes are facts, none is a danger, and no byte of the file changes."""
    before = path.read_bytes()

    found = facts(path)

    assert [found[name].value for name in ("schema", "threads", "messages")] == ["5", "3", "69"]
    assert found["quick check"].value == "no damage found"
    assert {"SQLite", "file size", "log size", "free disk", "permissions"} <= found.keys()
    assert dangers(path) == []
    assert path.read_bytes() == before


def test_another_schema_is_named(path: Path, tmp_path: Path) -> None:
    """A file of an earlier format is no danger: opening it migrates it. A newer one is one."""
    materialize_sqlite("sqlite-2", tmp_path / "old.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 200")

    old, new = facts(tmp_path / "old.db")["schema"], facts(path)["schema"]

    assert (old.value, old.is_danger) == ("2, older than 5", False)
    assert old.advice == "opening the store migrates it"
    assert (new.advice, new.is_danger) == ("upgrade foldline", True)


def test_damage_is_named(path: Path) -> None:
    """What SQLite's quick check finds is a danger, and the advice names both ways out."""
    smash(path, "documents")

    found = facts(path)["quick check"]

    assert found.is_danger
    assert "foldline restore" in found.advice
    assert "--whole-rows" in found.advice


@pytest.mark.parametrize("data", [b"a text " * 100, b""], ids=["text", "empty"])
def test_another_file_is_a_danger(tmp_path: Path, data: bytes) -> None:
    """A file that is not a store of foldline is reported as that."""
    (tmp_path / "a.db").write_bytes(data)

    assert dangers(tmp_path / "a.db") == ["file"]


def test_a_full_disk_is_a_danger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With less than 100 MiB free the advice is to make room."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5_000_000))

    assert dangers(path) == ["free disk"]
