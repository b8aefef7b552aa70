"""What SQLite reports, as errors of foldline."""

import errno
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from foldline.errors import StoreBusyError, StoreCorruptError, StoreError


SQLITE_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite reports; Python cannot decode its message about a table whose name is damaged."""

# The lower eight bits of a result code say what kind of trouble it is.
_PRIMARY: Final = 0xFF
_BUSY: Final = (StoreBusyError, "another program kept the database locked for too long")
_TROUBLE: Mapping[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_CORRUPT: (StoreCorruptError, "the database file is damaged"),
    sqlite3.SQLITE_NOTADB: (StoreCorruptError, "the file is not a SQLite database"),
    sqlite3.SQLITE_FULL: (StoreError, "the disk is full"),
    sqlite3.SQLITE_IOERR: (StoreError, "the disk reported an error"),
    sqlite3.SQLITE_READONLY: (StoreError, "the database is read-only"),
    sqlite3.SQLITE_CANTOPEN: (
        StoreError,
        "the database file cannot be opened, perhaps since its folder is missing or not writable",
    ),
    sqlite3.SQLITE_PERM: (StoreError, "the database file cannot be opened: permission denied"),
}
_NOT_WRITABLE: Final = "it or its folder is not writable, and a store writes beside its file"
_PLACES: Mapping[int, str] = {
    errno.EROFS: "its folder is read-only, and a store writes beside its file",
    errno.EACCES: _NOT_WRITABLE,
    errno.EPERM: _NOT_WRITABLE,
    errno.ENOENT: "its folder does not exist: make it first",
    errno.ENOSPC: "the disk is full",
}


def place_error(what: str, error: OSError) -> StoreError:
    """Return *error*, which the system raised for a file; *what* says what could not be done."""
    code = error.errno or 0
    reason = f": {_PLACES[code]}" if code in _PLACES else ""
    return StoreError(f"{what}{reason} ({errno.errorcode.get(code)})")


def store_error(error: sqlite3.Error | UnicodeDecodeError, *, of: Path | None = None) -> StoreError:
    """Return *error*, of the file *of* if it was just named, without the values that it quotes."""
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
