"""
Which file a log belongs to.

SQLite leaves 32 bits of the header to the program (`PRAGMA user_version`). The lower eight are the
version of the tables; the others are drawn for each file, and for each backup, and noted in the
lock file, which a restored copy does not replace. So a log that was written beside another file is
recognized. SQLite itself would fold it into this one.
"""

import errno
import os
import re
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from foldline.errors import StoreCorruptError
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, place_error


_SCHEMA_BITS: Final = 8
SCHEMA_MASK: Final = (1 << _SCHEMA_BITS) - 1
"""The bits of the number that are the version of the tables."""
# The number is signed and stays above zero.
_FILES: Final = 1 << 30 - _SCHEMA_BITS
_NOTE: Final = re.compile(rb"(\d{1,10})\n")
_NOT_ALLOWED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class FileNumber(NamedTuple):
    """What the header of a file says of it."""

    # What tells the file from others; 0 in files of early versions.
    own: int
    # The version of its tables.
    schema: int

    def write(self, connection: sqlite3.Connection) -> None:
        """Write the first page of the file, even if it says this already; draw `own` if it is 0."""
        own = self.own or 1 + secrets.randbelow(_FILES - 1)
        connection.execute(f"PRAGMA user_version = {own << _SCHEMA_BITS | self.schema}")


def number_in(connection: sqlite3.Connection) -> FileNumber:
    """Return the number of the file that *connection* has open."""
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return FileNumber(number >> _SCHEMA_BITS, number & SCHEMA_MASK)


def lock_of(path: Path) -> Path:
    """Return the lock file beside the file at *path*."""
    return path.with_name(path.name + ".lock")


def log_of(path: Path) -> Path:
    """Return the write-ahead log beside the file at *path*."""
    return path.with_name(path.name + "-wal")


def note_file(path: Path, own: int) -> None:
    """Note in the lock file that the log beside *path* belongs to the file *own*; 0 is none."""
    if noted(path) == own:
        return
    try:
        with open(lock_of(path), "wb", opener=_private) as file:
            file.write(b"%d\n" % own)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in _NOT_ALLOWED:
            what = f"the lock file {lock_of(path).name} cannot be written"
            raise place_error(what, error) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def noted(path: Path) -> int:
    """Return the file that the lock file beside *path* names as the owner of the log, or 0."""
    try:
        # A note cut off by a crash has no end of line.
        found = _NOTE.fullmatch(lock_of(path).read_bytes())
    except OSError:
        return 0
    return int(found[1]) if found else 0


def check_log(path: Path) -> None:
    """
    Refuse a log beside the file at *path* that was written beside another file.

    It stays there when a backup takes the place of a store whose program was killed, or when the
    file itself is lost: SQLite deletes the log of an empty file.
    """
    log = log_of(path)
    if not _size(log):
        return
    if not _size(path):
        raise StoreCorruptError(
            f"{path.name} is missing or empty, but the log {log.name} of a store is beside it: put "
            f"the file back, or move {log.name} away to lose what it holds"
        )
    # The note is read first, since it is written last.
    note = noted(path)
    try:
        # Read-only, and without the log. The file is never opened past SQLite: closing it would drop
        # the locks that this process has on it.
        with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as connection:
            own = number_in(connection).own
    except SQLITE_ERRORS:
        # Opening the store reports what is wrong.
        return
    # A file from before there were numbers gets one in the log, which is folded back before the note
    # is written.
    if note not in {0, own}:
        raise StoreCorruptError(
            f"the log {log.name} belongs to another file than {path.name}: move it and "
            f"{path.name}-shm away (`foldline restore` does), or, if file and log were copied here "
            f"together, move {lock_of(path).name} away"
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        what = f"{path.name} cannot be looked at"
        raise place_error(what, error) from error
