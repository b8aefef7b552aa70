"""The write-ahead log of a SQLite file: kept short, and emptied of what was deleted."""

import asyncio
import logging
import sqlite3
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Final

from foldline.errors import StoreBusyError, StoreError
from foldline.threads.stores.sqlite.faults import store_error
from foldline.threads.stores.sqlite.identity import log_of
from foldline.threads.stores.sqlite.worker import Worker


_LOOKED_AT: Final = 64
_LONG: Final = 64 * 1024 * 1024
# What a commit writes, roughly: the pages of the head, the rows and an index, and what it says.
_PAGES_A_COMMIT: Final = 3
_BYTES_A_PAGE: Final = 3_000
# How long one attempt may hold the writer back, and how long all of them may take.
_ATTEMPT: Final = 0.05
_PATIENCE: Final = 2.0
_PAUSE: Final = 0.02

_LOGGER = logging.getLogger("foldline")


class WriteLog:
    """What SQLite writes first; its bytes stay until no reader needs them and it is emptied."""

    def __init__(self, path: Path, *, busy_timeout: float, most_pages: float = inf) -> None:
        """Keep the log beside *path* short; fold it back after *most_pages*, or leave it to SQLite."""
        self._path = log_of(path)
        self._most_pages = most_pages
        self._restarts = False
        self._name = path.name
        self._busy_timeout = busy_timeout
        self._pages = self._commits = self._asked = self._done = 0
        self._wait = 0.0
        self._failure: StoreError | None = None

    def ask(self) -> None:
        """Have the log emptied after the transaction that runs; called in the writer's thread."""
        self._asked += 1

    def flushes(self, size: int) -> bool:
        """Note a commit of *size* bytes; whether the log is emptied, folded back or begun again first."""
        is_due = self._pages >= self._most_pages or self._done < self._asked
        self._pages += _PAGES_A_COMMIT + size // _BYTES_A_PAGE
        return is_due or self._restarts

    def tidy(self, connection: sqlite3.Connection) -> None:
        """
        Empty it if it holds what was deleted, or is too long; what fails here is tried again.

        It is folded back into the file every few hundred commits, after a commit, and written over
        then; its file stays as long as it once was. SQLite does that by itself, but for commits in
        place, since it flushes.
        """
        self._restarts = False
        if self._done < self._asked:
            self._empty(connection)
        elif self._pages >= self._most_pages:
            self._pages, self._restarts = 0, True
            with suppress(sqlite3.Error):
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._commits += 1
        if self._commits % _LOOKED_AT == 0 or self._restarts:
            with suppress(OSError, sqlite3.Error):
                if self._path.stat().st_size > _LONG:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _empty(self, connection: sqlite3.Connection) -> None:
        asked, wait = self._asked, self._wait
        self._wait, self._failure = 0.0, None
        connection.execute(f"PRAGMA busy_timeout = {round(1000 * wait)}")
        try:
            # Others in the way are an answer here, not an error.
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as error:
            busy, self._failure = 1, store_error(error)
        connection.execute(f"PRAGMA busy_timeout = {round(1000 * self._busy_timeout)}")
        if not busy:
            self._done, self._pages, self._restarts = asked, 0, True

    async def emptied(self, writer: Worker, *, patience: float = _PATIENCE) -> None:
        """Wait until nothing deleted is in it any more, or raise StoreError."""
        clock = asyncio.get_running_loop().time
        until = clock() + patience
        while self._done < self._asked:
            self._wait = _ATTEMPT
            with suppress(StoreBusyError):
                # The log is tidied after every job.
                await writer.run(lambda _: None)
            if self._failure is not None:
                raise self._failure
            if self._done < self._asked and clock() >= until:
                raise StoreBusyError("other programs kept reading an older state")
            await asyncio.sleep(_PAUSE)

    def report(self, error: StoreError) -> None:
        """Log that deleted bytes are still there."""
        _LOGGER.warning("the log of %s still holds what was deleted: %s", self._name, error)
