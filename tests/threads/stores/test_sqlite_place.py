"""The file of a SQLite store under its names, and when it is gone."""

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from foldline.errors import StoreBusyError, StoreError
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.doctor import sqlite_facts
from foldline.threads.stores.sqlite.faults import place_error
from foldline.threads.stores.sqlite.file import StoreFile, needs_lock
from foldline.threads.stores.sqlite.store import SQLiteStorage, SQLiteStore
from tests.threads.stores.opened import use


def fail(connection: sqlite3.Connection) -> None:
    """Fail as a disk does, so that the connection is made again."""
    connection.execute("SELECT * FROM nowhere")


async def reconnected(storage: SQLiteStorage) -> None:
    """Have both threads of *storage* start again."""
    for worker in (storage.reader, storage.writer):
        with pytest.raises(StoreError):
            await worker.run(fail)


async def test_a_program_may_change_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store of a relative path stays the file that it was, even when it connects again."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    storage = SQLiteStorage("a.db", durability="relaxed")
    await storage.open()
    monkeypatch.chdir(tmp_path / "there")
    await reconnected(storage)
    await storage.writer.run(lambda c: c.execute("INSERT INTO epochs VALUES (1, 7, x'00')"))
    await storage.close()

    assert [*(tmp_path / "there").iterdir()] == []
    with closing(sqlite3.connect(tmp_path / "here" / "a.db")) as connection:
        assert connection.execute("SELECT pk, thread FROM epochs").fetchall() == [(1, 7)]


def test_a_path_that_leads_nowhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A working folder that is gone is a typed error, as soon as a relative path is named."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    with pytest.raises(StoreError, match="cannot be resolved"):
        SQLiteStore("a.db")


def test_a_link_is_the_file_that_it_leads_to(tmp_path: Path) -> None:
    """Two names of one file have one lock and one log."""
    (tmp_path / "folder").mkdir()
    link, real = tmp_path / "link.db", tmp_path / "folder" / "real.db"
    link.symlink_to(real)
    files = [StoreFile(path, durability="full", busy_timeout=0.01) for path in (link, real)]
    with closing(files[0].writer()) as one, closing(files[1].writer()):
        one.execute("INSERT INTO epochs VALUES (1, 7, x'00')")

    assert files[0].path == files[1].path == real.resolve()
    assert [entry.name for entry in tmp_path.glob("*.lock")] == []
    assert real.stat().st_mode & 0o777 == 0o600
    if needs_lock():
        with files[0].exclusive(), pytest.raises(StoreBusyError), files[1].exclusive():
            pass


@pytest.mark.parametrize("way", ["deleted", "moved", "replaced"])
def test_a_file_that_is_gone_is_reported(tmp_path: Path, way: str) -> None:
    """If its file is taken away, an open store says so; no write is lost in it, and none made."""
    path = tmp_path / "a.db"

    async def lose(store: SQLiteStore) -> None:
        thread = await store.thread("t")
        path.rename(tmp_path / "b.db")
        if way == "deleted":
            (tmp_path / "b.db").unlink()
        if way == "replaced":
            path.write_bytes(b"")
        for _ in range(2):
            with pytest.raises(StoreError, match="was moved, deleted or replaced"):
                await thread.add_message(Message.user("x"))

    use(path, lose)

    assert path.exists() is (way == "replaced")
    assert not path.exists() or path.read_bytes() == b""


async def test_a_reader_does_not_take_another_file(tmp_path: Path) -> None:
    """The thread that reads, when it connects again, reports a file that is gone; it makes none."""
    path = tmp_path / "a.db"
    storage = SQLiteStorage(path)
    await storage.open()
    await storage.tenants()
    path.rename(tmp_path / "b.db")
    with pytest.raises(StoreError):
        await storage.reader.run(fail)
    with pytest.raises(StoreError, match="was moved, deleted or replaced"):
        await storage.tenants()
    (tmp_path / "b.db").rename(path)
    assert await storage.tenants() == []
    await storage.close()
    path.unlink()
    await storage.open()
    await storage.close()

    assert path.exists()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (errno.EROFS, "its folder is read-only"),
        (errno.EACCES, "not writable"),
        (errno.ENOENT, "its folder does not exist"),
        (errno.EMFILE, r"cannot be opened \(EMFILE\)"),
    ],
)
def test_a_folder_that_takes_no_file_is_named(code: int, told: str) -> None:
    """What the system says of a folder is reported as what it is, in one line."""
    error = place_error("the lock file beside the database cannot be opened", OSError(code, ""))

    assert type(error) is StoreError
    with pytest.raises(StoreError, match=told):
        raise error
    assert errno.errorcode[code] in str(error)
    assert "\n" not in str(error)


def test_a_file_that_cannot_be_opened_is_not_damaged(tmp_path: Path) -> None:
    """If the system lets nobody open the file, or its lock, no backup is advised."""
    path = tmp_path / "a.db"
    StoreFile(path, durability="full", busy_timeout=1.0).writer().close()
    for name in (f"{path}-wal", f"{path}.lock"):
        Path(name).unlink(missing_ok=True)
        Path(name).mkdir()
    found = [one for one in sqlite_facts(path) if one.is_danger]

    assert "SQLITE_CANTOPEN" in " ".join(one.value for one in found if one.name == "file")
    assert not any("backup" in one.advice for one in found)
