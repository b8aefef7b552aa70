"""Small reads, made in the thread of the caller."""

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from foldline.errors import StoreError
from foldline.threads.stores.home import Home
from foldline.threads.stores.sqlite.file import StoreFile


__all__ = ["InlineReader"]


_Result = TypeVar("_Result")

# What a turn reads takes some 600 steps of SQLite's machine, and its values a few kilobytes.
_STEPS: Final = 1_000
_MOST_STEPS: Final = 10
_MOST_BYTES: Final = 65_536
# So long a read came from the disk, not from memory; one alone may have been the scheduler.
_LONG: Final = 0.002
_MOST_LONG: Final = 2
_REST: Final = 1.0
# An inline read lets no other task run, so there are no more between two turns of the loop.
_MOST_ANSWERS: Final = 32
_MOST_SECONDS: Final = 0.001
# Nothing is wrong with the connection after these.
_HARMLESS = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_TOOBIG})


class InlineReader:
    """
    Reads what is small on a connection of its own, in the thread of the caller.

    That takes some twenty microseconds; asking another thread takes as long again. It waits for no
    lock, the steps and the size of a value are limited, and a disk that was slow twice in a row is
    left alone for a second. If a read cannot be made so, or fails, there is no answer, and the
    reader thread is asked instead: it may wait, and reports what is wrong.
    """

    def __init__(self, file: StoreFile, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._file = file
        self._clock = clock
        self._home = Home()
        self._connection: sqlite3.Connection | None = None
        self._one_at_a_time = threading.Lock()
        # How many answers there were since an event loop had its turn, and what they took.
        self._answers = 0
        self._seconds = 0.0
        self._steps = 0
        self._long = 0
        self._rests_until = 0.0

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
            started = self._clock()
            if self._connection is None or started < self._rests_until:
                return None
            found = self._read(self._connection, job)
            if found is not None:
                self._note(self._clock() - started)
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
                    connection.rollback()

    def _note(self, seconds: float) -> None:
        self._answers += 1
        self._seconds += seconds
        self._long = self._long + 1 if seconds > _LONG else 0
        if self._long == _MOST_LONG:
            self._long = 0
            self._rests_until = self._clock() + _REST

    def take_turn(self) -> bool:
        """Whether the event loop should run other tasks now, since inline reads do not suspend."""
        if self._answers < _MOST_ANSWERS and self._seconds < _MOST_SECONDS:
            return False
        self._answers, self._seconds = 0, 0.0
        return True

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
