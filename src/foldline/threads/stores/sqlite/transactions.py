"""Jobs on one connection, in transactions, and what their failures leave behind."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct

from foldline.errors import CommitUnknownError, FoldlineError, StoreCorruptError, StoreError
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, place_error, store_error
from foldline.threads.stores.sqlite.identity import number_in


__all__ = ["Job", "Transactions", "known_error"]


_Result = TypeVar("_Result")
# After these the last frame of the commit, which completes it, was not written.
_TORN = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE})


class Job(Struct, Generic[_Result], eq=False):
    """What is to be done in a transaction, and what came of it."""

    call: Callable[[sqlite3.Connection], _Result]
    result: _Result | None = None
    error: BaseException | None = None


class Transactions:
    """
    Runs jobs in transactions, one of which ends before the next begins.

    A job that raises an error of foldline must not have written; the others continue. A failure of
    the database undoes all of them.
    """

    def __init__(self, *, write: bool) -> None:
        """Let jobs *write*, or else only read."""
        self._writes = write
        self._leaves_rest = False

    def run(self, connection: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> bool:
        """Run *jobs* in one transaction; False if one of several failed and nothing was done."""
        if self._leaves_rest and (rest := self._overwritten(connection)):
            message = "the log may still hold a commit that has failed before"
            raise CommitUnknownError(message) from rest
        cursor = connection.execute("BEGIN IMMEDIATE" if self._writes else "BEGIN")
        try:
            for job in jobs:
                try:
                    job.result = job.call(connection)
                except FoldlineError as error:
                    job.error = error
        except BaseException as error:
            connection.rollback()
            if len(jobs) == 1 or not isinstance(error, Exception):
                raise
            return False
        if not self._writes:
            # A commit would report damage again that a job has met and handled.
            connection.rollback()
            return True
        try:
            cursor.execute("COMMIT")
        except sqlite3.Error as error:
            connection.rollback()
            is_torn = getattr(error, "sqlite_errorcode", None) in _TORN
            unknown = CommitUnknownError(str(store_error(error)))
            raise unknown from (None if is_torn else self._overwritten(connection))
        return True

    def _overwritten(self, connection: sqlite3.Connection) -> StoreError | None:
        """
        Make sure that a failed commit is not found after a crash; return why not, if so.

        If the flush fails, the frames are all in the log, and only its index in memory does not know
        of them: after a crash they would be taken for a commit. A frame over the first one breaks
        the chain of checksums that holds the others, so a commit that changes nothing is made.
        """
        try:
            connection.execute("BEGIN IMMEDIATE")
            # The number stays the same, and the first page is written.
            number_in(connection).write(connection)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._leaves_rest = True
            connection.rollback()
            return store_error(error)
        self._leaves_rest = False
        return None


def known_error(error: Exception) -> Exception:
    """Return *error*, which a job or its connection raised, as an error of foldline."""
    if isinstance(error, FoldlineError):
        return error
    if isinstance(error, SQLITE_ERRORS):
        return store_error(error)
    if isinstance(error, TypeError):
        return StoreCorruptError("the database holds a value of the wrong type")
    if isinstance(error, OSError):
        return place_error("the files of the store cannot be used", error)
    known = StoreError(f"SQLite could not be called ({type(error).__name__})")
    known.__cause__ = error
    return known
