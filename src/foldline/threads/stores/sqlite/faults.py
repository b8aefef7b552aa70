"""What SQLite reports, as errors of foldline."""

import errno
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from foldline.errors import StoreBusyError, StoreCorruptError, StoreError


__all__ = ["SQLITE_ERRORS", "place_error", "store_error"]


SQLITE_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""
What SQLite reports.

Python cannot decode SQLite's message about a damaged table whose name is not text any more, and
raises that instead.
"""

# The lower eight bits of a result code say what kind of trouble it is.
_PRIMARY: Final = 0xFF
_TROUBLE: Mapping[int, tuple[type[StoreError], str]] = MappingProxyType(
    {
        sqlite3.SQLITE_BUSY: (
            StoreBusyError,
            "another program kept the database locked for too long",
        ),
        sqlite3.SQLITE_LOCKED: (
            StoreBusyError,
            "another program kept the database locked for too long",
        ),
        sqlite3.SQLITE_CORRUPT: (StoreCorruptError, "the database file is damaged"),
        sqlite3.SQLITE_NOTADB: (StoreCorruptError, "the file is not a SQLite database"),
        sqlite3.SQLITE_FULL: (StoreError, "the disk is full"),
        sqlite3.SQLITE_IOERR: (StoreError, "the disk reported an error"),
        sqlite3.SQLITE_READONLY: (StoreError, "the database is read-only"),
        sqlite3.SQLITE_CANTOPEN: (StoreError, "the database file cannot be opened"),
        sqlite3.SQLITE_PERM: (StoreError, "the database file cannot be opened: permission denied"),
    }
)


_PLACES: Mapping[int, str] = MappingProxyType(
    {
        errno.EROFS: "its folder is read-only, and a store writes beside its file",
        errno.EACCES: "it or its folder is not writable, and a store writes beside its file",
        errno.EPERM: "it or its folder is not writable, and a store writes beside its file",
        errno.ENOENT: "its folder does not exist",
        errno.ENOSPC: "the disk is full",
    }
)


def place_error(what: str, error: OSError) -> StoreError:
    """
    Return *error*, which the system raised for a file of the store, as an error of foldline.

    Args:
        what: What could not be done, for example `the file x cannot be made`.
        error: The error of the system.
    """
    code = error.errno or 0
    reason = f"{_PLACES[code]} " if code in _PLACES else ""
    colon = ": " if reason else " "
    return StoreError(f"{what}{colon}{reason}({errno.errorcode.get(code)})")


def store_error(error: sqlite3.Error | UnicodeDecodeError, *, of: Path | None = None) -> StoreError:
    """
    Return *error* as an error of foldline, without the values that it may quote.

    Args:
        error: SQLite's error.
        of: The file, if the caller has just named it and may have named the wrong one.
    """
    kind, text = _described(error)
    return kind(text if of is None else f"{of.name}: {text}")


def _described(error: sqlite3.Error | UnicodeDecodeError) -> tuple[type[StoreError], str]:
    if isinstance(error, UnicodeDecodeError):
        kind, text = _TROUBLE[sqlite3.SQLITE_CORRUPT]
        return kind, f"{text} (SQLITE_CORRUPT)"
    code = getattr(error, "sqlite_errorcode", None)
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if code is None and isinstance(error, sqlite3.OperationalError):
        # Python itself raises it for text that is not UTF-8.
        return StoreCorruptError, f"the database holds text that is not UTF-8 ({name})"
    if code is None:
        return StoreError, f"SQLite refused a call ({name})"
    kind, text = _TROUBLE.get(code & _PRIMARY, (StoreError, "SQLite failed"))
    return kind, f"{text} ({name})"
