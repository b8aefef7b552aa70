"""Small reads, made in the thread of the caller."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from foldline.errors import StoreError
from foldline.threads.stores.home import Home
from foldline.threads.stores.sqlite.file import StoreFile
from foldline.threads.stores.sqlite.pace import Pace


_Result = TypeVar("_Result")

# What a turn reads takes some 600 steps of SQLite's machine, and its values a few kilobytes.
_STEPS: Final = 1_000
_MOST_STEPS: Final = 10
_MOST_BYTES: Final = 65_536
# Nothing is wrong with the connection after these.
_HARMLESS = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_TOOBIG})


class InlineReader:
    """
    Reads what is small on a connection of its own, in the thread of the caller.

    Asking another thread takes as long again. It waits for no lock, and the steps and the size of a
    value are limited. If a read cannot be made so, or fails, there is no answer, and the reader
    thread is asked instead: it may wait, and reports what is wrong.
    """

    def __init__(self, file: StoreFile, *, pace: Pace | None = None) -> None:
        self._file = file
        self.pace = pace or Pace()
        self._home = Home()
        self._connection: sqlite3.Connection | None = None
        self._one_at_a_time = threading.Lock()
        self._steps = 0

    def connect(self) -> sqlite3.Connection:
        """Return a connection for the reader thread, and open one for inline reads."""
        connection = self._file.reader()
        # If it fails there are no inline reads.
        with self._one_at_a_time, suppress(sqlite3.Error, StoreError):
            if self._connection is None:
                inline = self._file.reader(waits=False)
                inline.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
                inline.set_progress_handler(self._is_enough, _STEPS)
                self._connection, self._home = inline, Home()
        return connection

    def _is_enough(self) -> bool:
        self._steps += 1
        return self._steps > _MOST_STEPS

    def answer(self, job: Callable[[sqlite3.Connection], _Result]) -> tuple[_Result] | None:
        """Return what *job* reads as of one moment, in a tuple; None if it cannot at once."""
        if not self._home.is_same_process or not self._one_at_a_time.acquire(blocking=False):
            return None
        try:
            if self._connection is None or not self.pace.begin():
                return None
            found = self._read(self._connection, job)
            if found is not None:
                self.pace.end()
            return found
        finally:
            self._one_at_a_time.release()

    def _read(
        self, connection: sqlite3.Connection, job: Callable[[sqlite3.Connection], _Result]
    ) -> tuple[_Result] | None:
        self._steps = 0
        try:
            connection.execute("BEGIN")
            return (job(connection),)
        except Exception as error:  # noqa: BLE001 - the reader thread raises it
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_BUSY) not in _HARMLESS:
                # What a failure left in memory cannot be trusted.
                self._close()
            return None
        finally:
            # A commit would report damage again that the job has met and handled.
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    # Unlike that of `rollback`, this statement is parsed once for all reads.
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        """Give no more answers; harmless when repeated, and in another process."""
        if self._home.is_same_process:
            with self._one_at_a_time:
                self._close()

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()
