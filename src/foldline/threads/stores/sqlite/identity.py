"""
Which file a log belongs to.

SQLite leaves 32 bits of the header to the program (`PRAGMA user_version`). The lower eight are the
version of the tables. The others are drawn for each file and noted in the lock file as well, which
a restored copy does not replace: so a log that was written beside another file is recognized.
SQLite itself would fold it into this one. A backup gets a number of its own when it is made.
"""

import errno
import os
import re
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from foldline.errors import StoreCorruptError
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, place_error


__all__ = [
    "check_log",
    "has_log",
    "is_named",
    "is_remembered",
    "lock_of",
    "log_of",
    "number_in",
    "numbered",
    "remember",
    "schema_of",
    "set_number",
]


_SCHEMA_BITS: Final = 8
# The number is signed and stays above zero.
_FILES: Final = 1 << 30 - _SCHEMA_BITS
_NOTE: Final = re.compile(rb"(\d{1,10})\n")
_NOT_ALLOWED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def lock_of(path: Path) -> Path:
    """Return the lock file beside the file at *path*."""
    return path.with_name(path.name + ".lock")


def log_of(path: Path) -> Path:
    """Return the write-ahead log beside the file at *path*."""
    return path.with_name(path.name + "-wal")


def schema_of(number: int) -> int:
    """Return the version of the tables in *number*."""
    return number & ((1 << _SCHEMA_BITS) - 1)


def is_named(number: int) -> bool:
    """Whether *number* tells its file from others."""
    return _file_of(number) != 0


def _file_of(number: int) -> int:
    return number >> _SCHEMA_BITS


def numbered(schema: int, *, file: int = 0) -> int:
    """
    Return the number of a file with tables of the version *schema*.

    Args:
        schema: The version.
        file: The number that the file has so far; without one it gets a new one.
    """
    return (_file_of(file) or 1 + secrets.randbelow(_FILES - 1)) << _SCHEMA_BITS | schema


def number_in(connection: sqlite3.Connection) -> int:
    """
    Return the number of the file that *connection* has open.

    Raises:
        sqlite3.Error: It cannot be read.
    """
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def set_number(connection: sqlite3.Connection, number: int) -> None:
    """
    Write *number* into the file's first page, even if it is there already.

    Raises:
        sqlite3.Error: It cannot be written.
    """
    connection.execute(f"PRAGMA user_version = {number}")


def remember(path: Path, number: int) -> None:
    """
    Note in the lock file that the log beside the file at *path* belongs to the file with *number*.

    A number of 0 is no file. Without permission to write there, nothing is noted.

    Raises:
        StoreError: It cannot be written.
    """
    if is_remembered(path, number):
        return
    try:
        with lock_of(path).open("wb") as file:
            file.write(b"%d\n" % _file_of(number))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in _NOT_ALLOWED:
            return
        what = f"the lock file {lock_of(path).name} cannot be written"
        raise place_error(what, error) from error


def is_remembered(path: Path, number: int) -> bool:
    """Whether the lock file at *path* names the file with *number* as the owner of the log."""
    return _remembered(path) == _file_of(number)


def _remembered(path: Path) -> int:
    try:
        text = lock_of(path).read_bytes()
    except OSError:
        return 0
    # A note cut off by a crash has no end of line.
    found = _NOTE.fullmatch(text)
    return int(found[1]) if found else 0


def check_log(path: Path) -> None:
    """
    Refuse a log beside the file at *path* that was written beside another file.

    It stays there when a backup takes the place of a store whose program was killed, or when the
    file itself is lost: SQLite deletes the log of an empty file.

    Raises:
        StoreCorruptError: The log belongs to another file; nothing was changed.
        StoreError: The log cannot be looked at.
    """
    if not has_log(path):
        return
    log = log_of(path).name
    # The note is read first, since it is written last.
    note = _remembered(path)
    if not _has_content(path):
        message = (
            f"{path.name} is missing or empty, but the log {log} of a store is beside it: put the "
            f"file back, or move {log} away to lose what it holds"
        )
        raise StoreCorruptError(message)
    if _is_foreign(path, note):
        message = (
            f"the log {log} belongs to another file than {path.name}: move it and {path.name}-shm "
            f"away (`foldline restore` does), or, if file and log were copied here together, move "
            f"{lock_of(path).name} away"
        )
        raise StoreCorruptError(message)


def has_log(path: Path) -> bool:
    """
    Whether there is anything in the log of the file at *path*.

    Raises:
        StoreError: The log cannot be looked at.
    """
    log = log_of(path)
    try:
        return log.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as error:
        what = f"the log {log.name} cannot be looked at"
        raise place_error(what, error) from error


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        # Opening the file says why.
        return True


def _is_foreign(path: Path, note: int) -> bool:
    """Whether the log is of another file than that at *path*; *note* is the owner noted for it."""
    try:
        own = _file_of(_number(path, "immutable=1"))
        # As the log has it, if it has changed the first page.
        logged = _file_of(_number(path, "mode=ro"))
    except SQLITE_ERRORS:
        # Opening the store reports what is wrong.
        return False
    if not own:
        # A file from before there were numbers gets one in the log, which is folded back before
        # the note is written.
        return note != 0
    return logged != own or note not in {0, own}


def _number(path: Path, how: str) -> int:
    """
    Return the number of the file; without its log if it is opened as immutable.

    A read-only connection folds no log back when it is closed. The file is never opened past
    SQLite: closing it would drop the locks that this process has on it.
    """
    with _opened(path, how) as connection:
        return number_in(connection)


def _opened(path: Path, how: str) -> closing[sqlite3.Connection]:
    uri = f"{path.as_uri()}?{how}"
    return closing(sqlite3.connect(uri, uri=True, isolation_level=None))
