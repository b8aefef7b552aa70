"""
The number in the header of a SQLite file: how far its tables are, and which file it is.

SQLite leaves 32 bits of the header to the program (`PRAGMA user_version`). The lower eight are the
version of the tables. Those above are drawn once for each file and each backup, so that a log that
was written beside another file is known: SQLite itself would fold it into this one.
"""

import secrets
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from foldline.errors import StoreCorruptError


__all__ = ["check_log", "numbered", "schema_of"]


_SCHEMA_BITS: Final = 8
# The number is signed, and stays above zero.
_FILES: Final = 1 << (31 - _SCHEMA_BITS)


def schema_of(number: int) -> int:
    """
    Return the version of the tables in *number*.
    """
    return number & ((1 << _SCHEMA_BITS) - 1)


def numbered(schema: int, *, file: int = 0) -> int:
    """
    Return the number of a file with tables of the version *schema*.

    Args:
        schema: The version.
        file: The number that the file has; it stays the same file, or else becomes a new one.
    """
    return ((file >> _SCHEMA_BITS) or 1 + secrets.randbelow(_FILES - 1)) << _SCHEMA_BITS | schema


def check_log(path: Path) -> None:
    """
    Refuse a log beside the file at *path* that was written beside another one.

    It is what a copy leaves that is put in the place of a store whose program was killed. Whether
    it is one is seen where the log has changed the header, as every commit does that makes the file
    longer.

    Raises:
        StoreCorruptError: There is such a log; neither file was changed.
    """
    log = path.with_name(path.name + "-wal")
    if not log.exists():
        return
    file, seen = _number(path, "immutable=1"), _number(path, "mode=ro")
    if file >> _SCHEMA_BITS and seen >> _SCHEMA_BITS not in {0, file >> _SCHEMA_BITS}:
        message = (
            f"the log beside {path.name} was written beside another file, of which this one took "
            f"the place: move {log.name} and {path.name}-shm away, then open the store again"
        )
        raise StoreCorruptError(message)


def _number(path: Path, how: str) -> int:
    """
    Return the number of the file, or 0; without its log where it is opened as immutable.

    A connection that cannot write folds no log back when it is closed. The file is never opened
    past SQLite: to close it would drop the locks that this process has on it.
    """
    # Whoever opens the store behind this is told what SQLite has against it.
    with suppress(sqlite3.Error):
        uri = f"{path.resolve().as_uri()}?{how}"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            (number,) = connection.execute("PRAGMA user_version").fetchone()
            return int(number)
    return 0
