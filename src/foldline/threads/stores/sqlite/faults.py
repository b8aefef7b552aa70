"""
What SQLite reports, as errors of foldline.
"""

import sqlite3
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from foldline.errors import FoldlineError, StoreBusyError, StoreCorruptError, StoreError


__all__ = ["FAILURES", "store_error"]


FAILURES: Final = (
    sqlite3.Error,
    FoldlineError,
    OSError,
    ValueError,
    OverflowError,
    MemoryError,
    TypeError,
)
"""
What a job on a connection may raise.

Values that SQLite does not take are a ValueError (text that is no Unicode) or an OverflowError; a
damaged file may give back a value of any type, which is a TypeError.
"""

# The lower eight bits of a result code say what kind of trouble it is.
_PRIMARY = 0xFF
_TROUBLE: Mapping[int, tuple[type[StoreError], str]] = MappingProxyType(
    {
        sqlite3.SQLITE_BUSY: (StoreBusyError, "others kept the database locked for too long"),
        sqlite3.SQLITE_LOCKED: (StoreBusyError, "others kept the database locked for too long"),
        sqlite3.SQLITE_CORRUPT: (StoreCorruptError, "the database file is damaged"),
        sqlite3.SQLITE_NOTADB: (StoreCorruptError, "the file is not a SQLite database"),
        sqlite3.SQLITE_FULL: (StoreError, "the disk is full"),
        sqlite3.SQLITE_IOERR: (StoreError, "the disk reported an error"),
        sqlite3.SQLITE_READONLY: (StoreError, "the database may not be written to"),
        sqlite3.SQLITE_CANTOPEN: (StoreError, "the database file cannot be opened"),
        sqlite3.SQLITE_PERM: (StoreError, "the database file may not be opened"),
    }
)


def store_error(error: sqlite3.Error) -> StoreError:
    """
    Return *error* as an error of foldline, without the values that it may quote.
    """
    code = getattr(error, "sqlite_errorcode", None)
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if code is None and isinstance(error, sqlite3.OperationalError):
        # Python itself raises it, of a text that is not UTF-8.
        return StoreCorruptError(f"the database holds a text that is none ({name})")
    if code is None:
        return StoreError(f"SQLite refused a call ({name})")
    kind, text = _TROUBLE.get(code & _PRIMARY, (StoreError, "SQLite failed"))
    return kind(f"{text} ({name})")
