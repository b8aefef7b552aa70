"""What a commit that has failed may leave in the log of a SQLite file."""

import sqlite3
from typing import Final

from foldline.threads.stores.sqlite.header import number_in, set_number


__all__ = ["is_torn", "overwrite"]


# Behind these the last frame of the commit, which makes it whole, was not written.
_TORN: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE})


def is_torn(error: sqlite3.Error) -> bool:
    """Whether the frames of a commit that has failed so are certainly not all in the log."""
    return getattr(error, "sqlite_errorcode", None) in _TORN


def overwrite(connection: sqlite3.Connection) -> None:
    """
    Write over what a failed commit has left, by a commit that changes nothing.

    Where the flush fails, the frames are all in the log, and only its index in memory does not
    know of them: whoever opens the file behind a crash would take them for a commit. A frame that
    lies over the first one breaks the chain of sums that holds the others.

    Raises:
        sqlite3.Error: It cannot be written.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        # It stays the same, and the first page is written.
        set_number(connection, number_in(connection))
        connection.execute("COMMIT")
    except sqlite3.Error:
        connection.rollback()
        raise
