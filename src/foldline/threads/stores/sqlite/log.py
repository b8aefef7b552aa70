"""The write-ahead log of a SQLite file: kept short, and emptied of what was deleted."""

import asyncio
import logging
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from foldline.errors import StoreBusyError, StoreError
from foldline.threads.stores.sqlite.identity import log_of
from foldline.threads.stores.sqlite.worker import Worker


__all__ = ["WriteLog"]


_LOOKED_AT: Final = 64
_LONG: Final = 64 * 1024 * 1024
# How long one attempt may hold the writer back, and how long all of them may take.
_ATTEMPT: Final = 0.05
_PATIENCE: Final = 2.0
_PAUSE: Final = 0.02

_LOGGER = logging.getLogger("foldline")


class WriteLog:
    """
    What SQLite writes first, and folds back into the file now and then.

    Its bytes stay until it is emptied, which readers of an older state delay.
    """

    def __init__(self, path: Path, *, busy_timeout: float) -> None:
        """
        Watch the log beside the file at *path*.

        Args:
            path: The file.
            busy_timeout: How many seconds a write waits for other processes.
        """
        self._path = log_of(path)
        self._name = path.name
        self._busy_timeout = busy_timeout
        self._commits = 0
        self._asked = 0
        self._done = 0

    def ask(self) -> None:
        """Have the log emptied after the transaction that runs; called in the writer's thread."""
        self._asked += 1

    @property
    def is_due(self) -> bool:
        """Whether it may hold what was deleted."""
        return self._done < self._asked

    def tidy(self, connection: sqlite3.Connection) -> None:
        """
        Empty it if it holds what was deleted, or is too long.

        SQLite folds it back into the file every few hundred commits by itself, as a part of a
        commit, and writes over it then; its file stays as long as it once was.
        """
        if self.is_due:
            self._empty(connection, wait=0.0)
        self._commits += 1
        if self._commits % _LOOKED_AT:
            return
        # The commit is made; what fails here is tried again.
        with suppress(OSError, sqlite3.Error):
            if self._path.stat().st_size > _LONG:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _empty(self, connection: sqlite3.Connection, *, wait: float) -> None:
        asked = self._asked
        connection.execute(f"PRAGMA busy_timeout = {round(1000 * wait)}")
        try:
            # Others in the way are an answer here, not an error.
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {round(1000 * self._busy_timeout)}")
        if not busy:
            self._done = asked

    def _insist(self, connection: sqlite3.Connection) -> bool:
        if self.is_due:
            self._empty(connection, wait=_ATTEMPT)
        return not self.is_due

    async def emptied(self, writer: Worker) -> None:
        """
        Wait until nothing deleted is in it any more.

        Raises:
            StoreBusyError: Others kept reading an older state.
            StoreError: The disk failed.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + _PATIENCE
        while not await self._is_emptied(writer):
            if loop.time() >= until:
                message = "other programs kept reading an older state"
                raise StoreBusyError(message)
            await asyncio.sleep(_PAUSE)

    async def _is_emptied(self, writer: Worker) -> bool:
        if not self.is_due:
            return True
        with suppress(StoreBusyError):
            return await writer.run(self._insist, is_outside=True)
        return False

    async def leave(self, writer: Worker) -> None:
        """Try once more before the file is closed, and log a failure."""
        if not self.is_due:
            return
        try:
            is_emptied = await self._is_emptied(writer)
        except StoreError as error:
            self.report(error)
            return
        if not is_emptied:
            self.report(StoreBusyError("other programs read the database"))

    def report(self, error: StoreError) -> None:
        """Log that deleted bytes are still there."""
        _LOGGER.warning("the log of %s still holds what was deleted: %s", self._name, error)
