"""
The file of a SQLite store, looked at before anybody opens it, so that nothing is made beside it.
"""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from foldline.errors import UsageError
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS
from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.stores.sqlite.header import check_log, has_log, number_in, schema_of
from foldline.threads.stores.statements import migrations


__all__ = ["FileKind", "check_file", "kind_of"]


FileKind: TypeAlias = Literal["none", "folder", "file", "other"]
"""What lies where a path leads."""

_MAGIC = b"SQLite format 3\0"
_HEADER_SIZE = 100
_NUMBER = slice(60, 64)
_MARK = slice(68, 72)
_PACKAGE = "foldline.threads.stores.sqlite"


class _Header(Struct, frozen=True):
    mark: int
    version: int


def kind_of(path: Path) -> FileKind:
    """
    Return what lies at *path*; a link is what it leads to.

    Raises:
        UsageError: Nobody lets us look.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # No file has such a name, as one with a NUL.
        return "none"
    except OSError as error:
        raise _unreadable(path, error) from error
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "other"


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot read {path}: {error.strerror}")


def check_file(path: Path, *, may_make: bool = False, may_be_newer: bool = False) -> None:
    """
    Refuse what is no store of ours, or one that this foldline cannot read.

    Never call it while this process has a store on the file open: closing a file drops every lock
    that the process holds on it, and another one could then delete the log of the store.

    Args:
        path: A file that is there.
        may_make: Whether a store may be made of an empty file.
        may_be_newer: Whether a store that a newer foldline has written will do.

    Raises:
        UsageError: It will not do.
        StoreCorruptError: It is empty or no database, and the log of a store lies beside it.
    """
    try:
        header = _header(path, may_make=may_make)
    except OSError as error:
        raise _unreadable(path, error) from error
    if header is None:
        return
    if header.mark != APPLICATION_ID:
        message = (
            f"{path} is a SQLite database, but no store of foldline: name the file of a store; "
            "it was not changed"
        )
        raise UsageError(message)
    newest = migrations(_PACKAGE)[-1][0]
    if header.version > newest and not may_be_newer:
        message = (
            f"{path} is a store of format {header.version}, and this foldline reads up to "
            f"{newest}: upgrade foldline"
        )
        raise UsageError(message)
    if header.version == 0 and not may_make:
        message = f"{path} holds no store yet: `foldline threads import` makes one of it"
        raise UsageError(message)


def _header(path: Path, *, may_make: bool) -> _Header | None:
    """Return what the header says; None for an empty file of which a store may be made."""
    if kind_of(path) != "file":
        message = f"{path} is no file: name the file of a store"
        raise UsageError(message)
    with path.open("rb") as file:
        header = file.read(_HEADER_SIZE)
    if not header and may_make:
        return None
    # A link is another name of the file, and the log lies beside the file itself.
    place = path.resolve()
    is_logged = has_log(place)
    if is_logged and not header.startswith(_MAGIC):
        check_log(place)
    return (_logged(path) if is_logged else None) or _written(header, path)


def _written(header: bytes, path: Path) -> _Header:
    if not header:
        message = f"{path}: the file is empty: no store; mend the path, or restore a backup"
        raise UsageError(message)
    if not header.startswith(_MAGIC):
        message = (
            f"{path} is not a SQLite database: name the file of a store; if it was one, "
            "restore a backup"
        )
        raise UsageError(message)
    mark = int.from_bytes(header[_MARK], "big")
    return _Header(mark, schema_of(int.from_bytes(header[_NUMBER], "big")))


def _logged(path: Path) -> _Header | None:
    """Return the header with what the log changes in it; None where SQLite cannot tell."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            (mark,) = connection.execute("PRAGMA application_id").fetchone()
            number = number_in(connection)
    except SQLITE_ERRORS:
        return None
    return _Header(mark, schema_of(number))
