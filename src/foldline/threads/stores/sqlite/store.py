"""The store that needs nothing but a file."""

import asyncio
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from math import inf
from pathlib import Path
from time import time
from typing import Final, TypeVar, Unpack, get_args

from foldline.checks import expect, expect_choice, expect_seconds
from foldline.errors import CommitUnknownError, ConfigError, StoreError
from foldline.threads.change import Change, Document, DocumentKind
from foldline.threads.key import ThreadKey, name_of
from foldline.threads.lease import Lease
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread
from foldline.threads.store import StoreOptions, ThreadStore, seconds_of
from foldline.threads.stores.home import opened
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, store_error
from foldline.threads.stores.sqlite.file import LOG_PAGES, Durability, StoreFile
from foldline.threads.stores.sqlite.group import Commit, write_together
from foldline.threads.stores.sqlite.inline_read import InlineReader
from foldline.threads.stores.sqlite.log import WriteLog
from foldline.threads.stores.sqlite.pace import Pace
from foldline.threads.stores.sqlite.tables import Tables
from foldline.threads.stores.sqlite.worker import Worker
from foldline.threads.stores.statements import statements


_PACKAGE: Final = "foldline.threads.stores.sqlite"
# So much is read and written at once; more by a thread.
_SMALL: Final = 64
_MOST_BYTES: Final = 65_536
# SQLite counts milliseconds in 32 bits; beyond them it does not wait at all.
_LONGEST: Final = 2_147_483
# One letter before the colon is a drive.
_ADDRESS: Final = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]+:/")
_Result = TypeVar("_Result")


class SQLiteStorage:
    """
    Rows and documents in one file, which any number of processes may share.

    One thread writes and one reads, each on its own connection, so that the event loop is never
    blocked and a reader never waits for a flush. What is small is read at once (see `InlineReader`).
    """

    ends_commits = True
    """A commit that has begun ends even if the task is cancelled."""

    def __init__(
        self,
        path: str | Path,
        *,
        durability: Durability = "full",
        busy_timeout: float = 10.0,
        clock: Callable[[], float] = time,
    ) -> None:
        self.file = StoreFile(Path(path), durability=durability, busy_timeout=busy_timeout)
        most_pages = LOG_PAGES if self.file.commits_in_place else inf
        self.log = WriteLog(self.file.path, busy_timeout=busy_timeout, most_pages=most_pages)
        self.pace = Pace()
        self._clock = clock
        self._sql: Mapping[str, str] = {}
        self._places: dict[ThreadKey, tuple[int, int]] = {}
        self._inline = InlineReader(self.file)
        self._opening = threading.Lock()
        self._write: Worker | None = None
        self._read: Worker | None = None

    async def open(self) -> None:
        """Open the file, which is made if it is not there, and bring it up to date."""
        write, is_first = await self._begin()
        try:
            await write.run(lambda _: None)
        except BaseException:
            if is_first:
                await self.close()
            raise

    async def _begin(self) -> tuple[Worker, bool]:
        """Return the writer, and whether it was started now."""
        while True:
            # Several threads may open one store at once.
            with self._opening:
                write, read = self._write, self._read
                if write is None or read is None:
                    return self._start(), True
            write.home.check()
            if write.is_at_work and read.is_at_work:
                return write, False
            # Another task closes it now: that ends first.
            await self.close()

    def _start(self) -> Worker:
        self._sql, self._places = statements(_PACKAGE), {}
        name, file = f"foldline {self.file.path.name}", self.file
        self._write = Worker(
            file.writer,
            name=f"{name} writer",
            file=file,
            tidy=self.log.tidy,
            pace=self.pace,
            together=write_together,
        )
        self._read = Worker(self._inline.connect, name=f"{name} reader")
        return self._write

    async def close(self) -> None:
        """Finish what waits and close the file, however often it is cancelled or repeated."""
        write, read = self._write, self._read
        if write is None or read is None:
            return
        async with AsyncExitStack() as ends:
            # The writer ends last: the last connection to close folds the log back.
            for worker in (write, read):
                ends.callback(self._forget, worker)
                ends.push_async_callback(worker.ended)
            if read.is_at_work:
                # An opening from here on waits for the end.
                read.stop()
                try:
                    await self.log.emptied(write, patience=0.0)
                except StoreError as error:
                    self.log.report(error)

    def _forget(self, worker: Worker) -> None:
        # Two tasks may have closed it, and one of them opened it again.
        if worker is self._read:
            self._inline.close()
        elif worker is self._write:
            self._write = self._read = None
            self.file.close()

    @property
    def writer(self) -> Worker:
        """The thread that writes."""
        return opened(self._write)

    @property
    def reader(self) -> Worker:
        """The thread that reads."""
        return opened(self._read)

    async def _ask(self, job: Callable[[Tables], _Result], *, is_small: bool = False) -> _Result:
        """Read in the thread that reads, or, what is probably small, at once."""
        reader, sql, clock = self.reader, self._sql, self._clock

        def _read(connection: sqlite3.Connection) -> _Result:
            return job(Tables(connection, sql, clock))

        if is_small:
            if self._inline.pace.is_turn_over:
                # A crowd reads faster here than in the thread, one after the other.
                self._inline.pace.begin_turn()
                await asyncio.sleep(0)
            found = self._inline.answer(_read)
            if found is not None:
                return found[0]
        return await reader.run(_read)

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as one moment saw it, or None if there is none."""
        return await self._ask(lambda tables: tables.load(key), is_small=True)

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop* as they were at *epoch*, in order."""
        return await self._ask(
            lambda tables: tables.rows(key, epoch, (start, stop), system=system),
            is_small=system or stop - start <= _SMALL,
        )

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the newest *limit* documents of *kind*, the newest first."""
        place = (key.tenant, key.id, kind, -1 if limit is None else limit)
        found = await self._ask(lambda tables: tables.run("documents", *place).fetchall())
        return [Document(*row) for row in found]

    async def document(self, key: ThreadKey, kind: DocumentKind, name: str) -> Document | None:
        """Return one document, or None if there is none."""
        place = (key.tenant, key.id, kind, name)
        found = await self._ask(
            lambda tables: tables.run("document", *place).fetchone(), is_small=True
        )
        return None if found is None else Document(*found)

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return the threads of *tenant* with ids after *after*, in order of their ids."""
        return await self._ask(lambda tables: tables.threads(tenant, after, limit))

    async def folds_due(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        """Return since when folds of *tenant* are due, and the ids, the oldest first."""
        place = (tenant, *(after or (-inf, "")), limit)
        found = await self._ask(lambda tables: tables.run("folds_due", *place).fetchall())
        return [(due_at, name_of(name)) for due_at, name in found]

    async def latest(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        """Return when threads of *tenant* were last active, and the ids, the newest first."""
        place = (tenant, *(after or (inf, "")), limit)
        found = await self._ask(lambda tables: tables.run("latest", *place).fetchall())
        return [(active_at, name_of(name)) for active_at, name in found]

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        return await self._ask(lambda tables: [name_of(name) for (name,) in tables.run("tenants")])

    async def check(self) -> list[str]:
        """Return what SQLite's quick check finds; nothing if the file is sound."""
        return await self.reader.run(quick_check)

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Do all of *change*, durably, or nothing."""
        writer, sql, log = opened(self._write), self._sql, self.log
        deletes = change.clears or change.keeps is not None
        job = Commit(key, change, deletes, log, sql, self._clock, self._places)
        if self.file.commits_in_place and self._fits_in_place(change):
            made = writer.in_place(job)
            if made is not None:
                if made.error is not None:
                    raise made.error
                if self.pace.is_turn_over:
                    # After the commit: a task that is cancelled here has made it.
                    await self.pace.next_turn()
                return
        await writer.run(job)
        try:
            if deletes:
                await log.emptied(writer)
        except StoreError as error:
            log.report(error)
            message = f"the commit was made, but the log still holds what it deleted: {error}"
            raise CommitUnknownError(message) from error

    async def hold(self, key: ThreadKey, lease: Lease) -> bool:
        """Let *lease* last as long from now on, if its holder still has it."""
        sql, clock = self._sql, self._clock
        return await self.writer.run(
            lambda connection: Tables(connection, sql, clock).hold(key, lease)
        )

    def _fits_in_place(self, change: Change) -> bool:
        """Whether the caller may make the commit *change*, since it is small and flushes nothing."""
        size = 0
        for row in change.rows:
            size += len(row.data)
        for one in change.put:
            size += len(one.data)
        if self.log.flushes(size) or size > _MOST_BYTES or len(change.rows) > _SMALL:
            return False
        return not (change.opens or change.copies or change.keeps is not None)

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """Delete a thread and overwrite its bytes, in the log too; False if there is none."""
        writer, sql, log, places = self.writer, self._sql, self.log, self._places

        def _make(connection: sqlite3.Connection) -> bool:
            gone = Tables(connection, sql, places=places).delete(key, expected)
            # Even if there was none: an earlier deletion may have stopped before this.
            log.ask()
            return gone

        gone = await writer.run(_make)
        try:
            await log.emptied(writer)
        except StoreError as error:
            message = f"the log still holds what was deleted, so delete it again: {error}"
            raise StoreError(message) from error
        return gone


def quick_check(connection: sqlite3.Connection) -> list[str]:
    """Return what SQLite's quick check finds, a line each; nothing if the file is sound."""
    try:
        found = [str(line) for (line,) in connection.execute("PRAGMA quick_check")]
    except SQLITE_ERRORS as error:
        # What SQLite says of a damaged file may quote what is stored.
        return [str(store_error(error))]
    return [] if found == ["ok"] else [" ".join(line.split()) for line in found]


class SQLiteStore(ThreadStore):
    """
    Threads in one SQLite file, shared by any number of tasks and processes of one machine.

    An open store serves every event loop of its process; a forked process opens one of its own.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        durability: Durability = "full",
        busy_timeout: float = 10.0,
        **options: Unpack[StoreOptions],
    ) -> None:
        """
        Use the file at *path*, which is made when it is first opened.

        Args:
            path: The path; its folder must exist.
            durability: `full` flushes each commit to the disk, so that a power cut loses nothing.
                `relaxed` does not: a crash of the process loses nothing, a power cut may lose the
                newest commits.
            busy_timeout: How many seconds a write waits for other processes; up to 2,147,483.
            options: What every store takes; see `ThreadStore`.

        Raises:
            ConfigError: An argument is invalid.
            StoreError: The path cannot be resolved, or is a folder.
        """
        file = _file_at(path)
        expect_choice("durability", durability, get_args(Durability))
        expect_seconds("busy_timeout", busy_timeout, most=_LONGEST)
        clock = seconds_of(options.get("clock"))
        storage = SQLiteStorage(file, durability=durability, busy_timeout=busy_timeout, clock=clock)
        super().__init__(storage, **options)


def _file_at(path: str | Path) -> Path:
    expect("path", path, str | Path)
    if str(path) == ":memory:":
        raise ConfigError("path=':memory:': use a MemoryStore to keep threads in memory")
    if _ADDRESS.match(str(path)):
        raise ConfigError("path must be the path of a file, such as 'chat.db', got an address")
    if not str(path):
        raise ConfigError("path is empty: name the file of the store")
    if os.path.isdir(path):  # noqa: PTH112 - a path that cannot be looked at raises when it is opened
        # Before a lock file is made beside it.
        raise StoreError(f"{str(path)!r} is a folder: name the file of the store in it")
    return Path(path)
