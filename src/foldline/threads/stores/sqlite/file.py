"""The file of a SQLite store: opening it, its layout, and the lock beside it."""

import os
import sqlite3
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from foldline.errors import StoreBusyError, StoreError
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, place_error, store_error
from foldline.threads.stores.sqlite.identity import (
    check_log,
    lock_of,
    note_file,
    noted,
    number_in,
)
from foldline.threads.stores.sqlite.migration import NEWEST_SCHEMA, migrate


Durability: TypeAlias = Literal["full", "relaxed"]
"""
What a power cut may take.

`full`: nothing that was acknowledged; each commit is flushed to the disk. `relaxed`: the newest
commits, whole and from the end, but never one in the middle; a crash of the process alone takes
nothing.
"""

APPLICATION_ID: Final = 0x666F6C64
"""The mark in the header of every file of ours: `fold` in ASCII."""

_SYNCHRONOUS: Mapping[Durability, str] = {"full": "FULL", "relaxed": "NORMAL"}
LOG_PAGES: Final = 1_000
"""
How long the log gets before it is folded back.

A commit that makes it longer costs twice one that writes over an earlier round of it.
"""

# Before this release two connections that write or fold the log back in the same instant could
# damage the file (SQLite's release notes call it the WAL-reset bug).
_SAFE_VERSION = (3, 51, 3)


def needs_lock() -> bool:
    """Whether writers have to be kept apart by a lock of our own."""
    return sqlite3.sqlite_version_info < _SAFE_VERSION


_PAUSE = 0.001

if sys.platform == "win32":
    import msvcrt

    def _set(file: int, *, is_locked: bool) -> None:
        # Far after the note in the file, since Windows lets nobody read a locked byte.
        os.lseek(file, 1 << 30, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK if is_locked else msvcrt.LK_UNLCK, 1)

else:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

    _TAKE = LOCK_EX | LOCK_NB

    def _set(file: int, *, is_locked: bool) -> None:
        flock(file, _TAKE if is_locked else LOCK_UN)


class _FileLock:
    """A lock on a file beside the database; the system releases it when its process ends."""

    def __init__(self, path: Path, *, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._file: int | None = None

    def take(self, *, waits: bool = True) -> bool:
        """Take the lock; False if another process has it, and StoreBusyError after a wait."""
        file = self._open() if self._file is None else self._file
        until = time.monotonic() + self._timeout
        while True:
            try:
                _set(file, is_locked=True)
            # The second is what Windows raises.
            except (BlockingIOError, PermissionError):
                if not waits:
                    return False
                if time.monotonic() > until:
                    message = f"another process kept {self._path.name} locked for too long"
                    raise StoreBusyError(message) from None
                time.sleep(_PAUSE)
            else:
                return True

    def _open(self) -> int:
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            self._file = os.open(self._path, flags, 0o600)
        except OSError as error:
            what = f"the lock file {self._path.name} cannot be opened"
            raise place_error(what, error) from error
        return self._file

    def release(self) -> None:
        if self._file is not None:
            _set(self._file, is_locked=False)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class StoreFile:
    """One SQLite file, from which connections are made."""

    def __init__(self, path: Path, *, durability: Durability, busy_timeout: float) -> None:
        try:
            # Once: a program may change its folder, and a link is another name of one file.
            self.path = path.resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise StoreError(
                "the path of the store cannot be resolved: a link or the working folder is broken"
            ) from error
        self._name = str(self.path)
        self._synchronous = _SYNCHRONOUS[durability]
        self._busy_timeout = busy_timeout
        self._lock = _FileLock(lock_of(self.path), timeout=busy_timeout)
        self._needs_lock = needs_lock()
        self.commits_in_place: Final = durability == "relaxed"
        """Whether a commit does not flush, so that the caller itself may make it."""
        # Tells the file from another one of its name; None until it was opened.
        self._identity: tuple[int, int] | None = None

    def reader(self, *, waits: bool = True) -> sqlite3.Connection:
        """Return a connection that only reads, and *waits* for other processes."""
        self._check()
        connection = self._connect(timeout=self._busy_timeout if waits else 0.0)
        connection.execute("PRAGMA query_only = ON")
        return connection

    def writer(self) -> sqlite3.Connection:
        """Return a connection that writes, after bringing the file up to date."""
        try:
            with self.exclusive():
                if self._identity is None:
                    check_log(self.path)
                    self._make()
                connection = self._connect(timeout=self._busy_timeout)
                try:
                    _bring_up_to_date(connection, self.path)
                    self._identity = self._check()
                except BaseException:
                    connection.close()
                    raise
                return connection
        except SQLITE_ERRORS as error:
            raise store_error(error, of=self.path) from None

    def _check(self) -> tuple[int, int] | None:
        """Return what tells the file from others; refuse another one than was opened first."""
        try:
            found = os.stat(self._name)  # noqa: PTH116 - each commit asks, and a path asks slower
            identity = (found.st_dev, found.st_ino)
        except OSError:
            identity = None
        # What is written to a file without a name is lost, and a new one under the name would start
        # a second store beside the first.
        if self._identity != identity and self._identity is not None:
            raise StoreError(
                "the file of the store was moved, deleted or replaced while it was open: close the "
                "store, and open the right file"
            )
        return identity

    def _make(self) -> None:
        # Private from the first byte on. SQLite gives its log the mode of the file.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            with suppress(FileExistsError):
                os.close(os.open(self.path, flags, 0o600))
        except OSError as error:
            what = f"the database file {self.path.name} cannot be made"
            raise place_error(what, error) from error

    def _connect(self, *, timeout: float) -> sqlite3.Connection:
        connection = sqlite3.connect(
            # Made by _make with the right mode, and never again under a store that is open.
            f"{self.path.as_uri()}?mode=rw",
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            for pragma in (
                "journal_mode = WAL",
                f"synchronous = {self._synchronous}",
                "fullfsync = ON",
                "checkpoint_fullfsync = ON",
                # To fold the log back flushes, so that is for the thread then (`WriteLog.tidy`).
                f"wal_autocheckpoint = {0 if self.commits_in_place else LOG_PAGES}",
                "temp_store = MEMORY",
                "cell_size_check = ON",
                "trusted_schema = OFF",
                # Pages that grow leave copies of their content in gaps, which a later deletion
                # would not find.
                "secure_delete = ON",
            ):
                connection.execute(f"PRAGMA {pragma}")
        except SQLITE_ERRORS:
            connection.close()
            raise
        return connection

    @contextmanager
    def exclusive(self, writer: sqlite3.Connection | None = None) -> Generator[None, None, None]:
        """Keep other processes from writing, if SQLite itself does not do it well enough."""
        if self._needs_lock:
            self._lock.take()
        try:
            self._check()
            # A writer of commits in place waits for nobody else.
            if writer is not None and self.commits_in_place:
                writer.execute(f"PRAGMA busy_timeout = {round(1000 * self._busy_timeout)}")
            yield
        finally:
            if writer is not None and self.commits_in_place:
                writer.execute("PRAGMA busy_timeout = 0")
            if self._needs_lock:
                self._lock.release()

    def seize(self) -> bool:
        """Keep others from writing until `release`; False if `exclusive` would wait, or raise."""
        is_ours = False
        try:
            is_ours = not self._needs_lock or self._lock.take(waits=False)
            self._check()
        except (OSError, StoreError):
            if is_ours:
                self.release()
            return False
        return is_ours

    def release(self) -> None:
        """Let other processes write again."""
        if self._needs_lock:
            self._lock.release()

    def close(self) -> None:
        """Release the lock file; the next opening may find another file."""
        self._lock.close()
        self._identity = None


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    if noted(path) != number_in(connection).own:
        # From the first page in the log on the note must not name another file, nor this one before
        # its first page says which one it is.
        note_file(path, 0)
    _mark(connection, path.name)
    if number_in(connection).schema != NEWEST_SCHEMA:
        migrate(connection, path.name)
    own = number_in(connection).own
    if noted(path) != own:
        busy, pages, folded = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        # A reader of an older moment may be in the way.
        if not busy and pages == folded:
            note_file(path, own)


def _mark(connection: sqlite3.Connection, name: str) -> None:
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark == APPLICATION_ID:
        return
    if tables or mark:
        raise StoreError(f"{name} is a SQLite database of another program: choose another path")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
