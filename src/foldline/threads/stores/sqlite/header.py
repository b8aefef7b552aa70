"""
The number in the header of a SQLite file: how far its tables are, and which file it is.

SQLite leaves 32 bits of the header to the program (`PRAGMA user_version`). The lower eight are the
version of the tables. Those above are drawn for each file, and stand in the lock file as well, which
a restored copy does not replace: so a log that was written beside another file is known. SQLite
itself would fold it into this one. A backup has a number that says so, until it is opened as a
store: it may take that place more than once, and is another file each time.
"""

import errno
import os
import re
import secrets
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from foldline.errors import StoreCorruptError
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, place_error
from foldline.threads.stores.sqlite.frames import numbers_logged


__all__ = [
    "check_log",
    "check_size",
    "copied",
    "has_log",
    "is_named",
    "is_remembered",
    "lock_of",
    "log_of",
    "name_copy",
    "number_in",
    "numbered",
    "remember",
    "schema_of",
    "set_number",
]


_SCHEMA_BITS: Final = 8
# The number is signed, and stays above zero.
_COPY: Final = 1 << 30
_FILES: Final = _COPY >> _SCHEMA_BITS
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
        file: The number that the file has; it stays the same file, or else becomes a new one.
    """
    return (_file_of(file) or 1 + secrets.randbelow(_FILES - 1)) << _SCHEMA_BITS | schema


def copied(number: int) -> int:
    """Return the number of a copy of the file with *number*."""
    return numbered(schema_of(number)) | _COPY


def name_copy(path: Path) -> None:
    """
    Give a copy at *path* that is opened for the first time a number of its own.

    It has no log yet, so that the number stands in the file before anything is in one. What may not
    be written to keeps its number.
    """
    if has_log(path):
        return
    # Whatever is wrong with the file, who opens it behind this is told.
    with suppress(*SQLITE_ERRORS):
        if not _number(path, "immutable=1") & _COPY:
            return
        with _opened(path, "mode=rw") as connection:
            connection.execute("BEGIN IMMEDIATE")
            number = number_in(connection)
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            # Somebody else may have been faster.
            if number & _COPY and mode != "wal":
                set_number(connection, numbered(schema_of(number)))
            connection.execute("COMMIT")


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
    Give the file *number*; this writes its first page, also where the number stays the same.

    Raises:
        sqlite3.Error: It cannot be written.
    """
    connection.execute(f"PRAGMA user_version = {number}")


def remember(path: Path, number: int) -> None:
    """
    Note in the lock file that the log beside the file at *path* is of the file with *number*.

    A number of 0 is no file. Who may not write there goes without the note.

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
    """
    Whether the lock file says that the log beside the file at *path* is of the file with *number*.
    """
    return _remembered(path) == _file_of(number)


def _remembered(path: Path) -> int:
    try:
        text = lock_of(path).read_bytes()
    except OSError:
        return 0
    # What a crash has cut off has no end of line.
    found = _NOTE.fullmatch(text)
    return int(found[1]) if found else 0


def check_size(path: Path) -> None:
    """
    Refuse an empty file at *path* where a store has been.

    A store that was only just begun is never empty behind the note in the lock file; what is left
    of a copy that failed is, and an agent would begin with it as if nothing had ever been said.

    Raises:
        StoreCorruptError: There is such a file.
        OSError: It cannot be looked at.
    """
    if path.stat().st_size == 0 and _remembered(path):
        message = (
            f"{path.name} is empty, and a store was in its place: restore a backup, or move "
            f"{lock_of(path).name} away to begin anew"
        )
        raise StoreCorruptError(message)


def check_log(path: Path) -> None:
    """
    Refuse a log beside the file at *path* that was written beside another one.

    It is what stays where a backup is put in the place of a store whose program was killed, and
    where that is lost itself: SQLite deletes the log of a file that is empty.

    Raises:
        StoreCorruptError: There is such a log; nothing was changed.
        StoreError: Nobody lets us look.
    """
    if not has_log(path):
        return
    log = log_of(path)
    # The note is read first, since it is written last.
    note = _remembered(path)
    problem = _no_database(path)
    if problem is not None:
        message = (
            f"{path.name} {problem}, and the log {log.name} of a store lies beside it: put the "
            f"file of that store back, or move {log.name} away to go on without what it holds"
        )
        raise StoreCorruptError(message)
    if _is_foreign(path, log, note):
        message = (
            f"the log {log.name} was written beside another file, of which {path.name} took the "
            f"place: move it and {path.name}-shm away; or {lock_of(path).name} alone, where log and "
            "file were copied here together"
        )
        raise StoreCorruptError(message)


def has_log(path: Path) -> bool:
    """
    Whether there is anything in the log of the file at *path*.

    Raises:
        StoreError: Nobody lets us look.
    """
    log = log_of(path)
    # At once: whoever closes the store last deletes its log.
    try:
        return log.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as error:
        what = f"the log {log.name} cannot be looked at"
        raise place_error(what, error) from error


def _no_database(path: Path) -> str | None:
    """Return why there is no database at *path*; None where there may be one."""
    try:
        if path.stat().st_size == 0:
            return "is empty"
    except FileNotFoundError:
        return "is not there"
    except OSError:
        return None
    try:
        _number(path, "immutable=1")
    except SQLITE_ERRORS as error:
        code = getattr(error, "sqlite_errorcode", None)
        is_none = code == sqlite3.SQLITE_NOTADB and not _is_whole(path)
        return "is no SQLite database" if is_none else None
    return None


def _is_whole(path: Path) -> bool:
    """
    Whether file and log are whole together, as where the power went when the file was written to.
    """
    try:
        with _opened(path, "mode=ro") as connection:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except SQLITE_ERRORS:
        return False


def _is_foreign(path: Path, log: Path, note: int) -> bool:
    """
    Whether *log* is of another file than that at *path*; *note* is what the lock file says of it.
    """
    try:
        own = _file_of(_number(path, "immutable=1"))
        # As the log has it, where that has changed the first page.
        logged = _file_of(_number(path, "mode=ro"))
    except SQLITE_ERRORS:
        # Whoever opens the store behind this is told what SQLite has against it.
        return False
    if not own:
        # One from before there were numbers gets its own in the log, which is folded back before the
        # note is written.
        return note != 0
    if logged != own:
        return True
    return note not in {0, own} and own not in map(_file_of, numbers_logged(log))


def _number(path: Path, how: str) -> int:
    """
    Return the number of the file; without its log where it is opened as immutable.

    A connection that cannot write folds no log back when it is closed. The file is never opened
    past SQLite: to close it would drop the locks that this process has on it.
    """
    with _opened(path, how) as connection:
        return number_in(connection)


def _opened(path: Path, how: str) -> closing[sqlite3.Connection]:
    uri = f"{path.as_uri()}?{how}"
    return closing(sqlite3.connect(uri, uri=True, isolation_level=None))
