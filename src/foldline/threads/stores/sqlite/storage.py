"""Threads in one SQLite file."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from foldline.errors import CommitUnknownError, StoreError
from foldline.threads.change import Change, Document, DocumentKind
from foldline.threads.key import ThreadKey, listed_key, name_of
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread
from foldline.threads.stores.sqlite.commit import commit_change, delete_thread, read_rows
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, store_error
from foldline.threads.stores.sqlite.file import Durability, StoreFile
from foldline.threads.stores.sqlite.inline_read import InlineReader
from foldline.threads.stores.sqlite.log import WriteLog
from foldline.threads.stores.sqlite.migration import SEQ_BITS, SEQ_MASK
from foldline.threads.stores.sqlite.worker import Worker
from foldline.threads.stores.statements import statements


__all__ = ["SQLiteStorage", "quick_check"]


_PACKAGE: Final = "foldline.threads.stores.sqlite"
# What most turns see, and the row before, whose seal the first one is compared with.
_TAIL: Final = 26
# So many rows are read at once; more by the thread.
_SMALL: Final = 64
_SQL = Mapping[str, str]
_Result = TypeVar("_Result")


class SQLiteStorage:
    """
    Rows and documents in one file, which any number of processes may share.

    One thread writes and one reads, each on its own connection, so that the event loop is never
    blocked and a reader never waits for a flush. What is small is read at once (see `InlineReader`).
    """

    def __init__(
        self, path: str | Path, *, durability: Durability = "full", busy_timeout: float = 10.0
    ) -> None:
        """
        Use the file at *path*, which is made when it is first opened.

        Args:
            path: Where it lies.
            durability: What a power cut may take.
            busy_timeout: How many seconds a write waits for other processes.
        """
        self.file = StoreFile(Path(path), durability=durability, busy_timeout=busy_timeout)
        self.log = WriteLog(self.file.path, busy_timeout=busy_timeout)
        self.ends_commits = True
        self.sql: Mapping[str, str] = {}
        self._inline = InlineReader(self.file)
        self._opening = threading.Lock()
        self._write: Worker | None = None
        self._read: Worker | None = None

    async def open(self) -> None:
        """
        Open the file and bring it up to date.

        Raises:
            StoreError: It cannot be opened, or is not a store.
            StoreVersionError: A newer foldline wrote it.
        """
        write, is_first = await self._begin()
        try:
            await write.run(_nothing, is_outside=True)
        except BaseException:
            if is_first:
                await self.close()
            raise

    async def _begin(self) -> tuple[Worker, bool]:
        """Return the writer, and whether it was started now."""
        while True:
            # Several threads may open one store at once.
            with self._opening:
                if self._write is None:
                    self.sql = statements(_PACKAGE)
                    self._write, self._read = self._workers()
                    return self._write, True
                write = self._write
            write.check()
            if self._is_at_work:
                return write, False
            # Another task closes it now: that ends first.
            await self.close()

    def _workers(self) -> tuple[Worker, Worker]:
        name = f"foldline {self.file.path.name}"
        write = Worker(
            self.file.writer,
            name=f"{name} writer",
            exclusive=self.file.exclusive,
            tidy=self.log.tidy,
        )
        return write, Worker(self._inline.connect, name=f"{name} reader")

    @property
    def _is_at_work(self) -> bool:
        return all(worker is not None and worker.is_at_work for worker in (self._read, self._write))

    async def close(self) -> None:
        """
        Finish what waits and close the file, however often it is cancelled; harmless when repeated.
        """
        write, read = self._write, self._read
        if write is None or read is None:
            return
        async with AsyncExitStack() as ends:
            # The writer ends last: the last connection to close folds the log back.
            ends.callback(self._forget, write)
            ends.push_async_callback(_end, write)
            ends.callback(self._forget_inline, read)
            ends.push_async_callback(_end, read)
            if read.is_at_work:
                # An opening from here on waits for the end.
                read.stop()
                await self.log.leave(write)

    def _forget_inline(self, read: Worker) -> None:
        if self._read is read:
            self._inline.close()

    def _forget(self, write: Worker) -> None:
        # Two tasks may have closed it, and one of them opened it again.
        if self._write is write:
            self._write = self._read = None
            self.file.close()

    @property
    def writer(self) -> Worker:
        """
        The thread that writes.

        Raises:
            StoreError: The store is not open.
        """
        return _opened(self._write)

    @property
    def reader(self) -> Worker:
        """
        The thread that reads.

        Raises:
            StoreError: The store is not open.
        """
        return _opened(self._read)

    async def _seen(self, job: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Read what is probably small: at once, or in the thread that reads."""
        reader = self.reader
        if self._inline.take_turn():
            await asyncio.sleep(0)
        found = self._inline.answer(job)
        return await reader.run(job) if found is None else found[0]

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as one moment saw it, or None if there is none."""
        sql = self.sql
        return await self._seen(lambda connection: _load(connection, sql, key))

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """
        Do all of *change*, durably, or nothing.

        Raises:
            ThreadConflictError: The thread has another revision.
            StoreError: The disk failed; nothing was written.
            CommitUnknownError: It failed in the last moment, with a cause if it may still be found
                after a crash; or it was made, and the log still holds what it deleted.
        """
        sql, log = self.sql, self.log
        deletes = change.clears or change.keeps is not None

        def _make(connection: sqlite3.Connection) -> None:
            commit_change(connection, sql, key, change)
            if deletes:
                log.ask()

        await self.writer.run(_make)
        if not deletes:
            return
        try:
            await log.emptied(self.writer)
        except StoreError as error:
            log.report(error)
            message = f"the commit was made, but the log still holds what it deleted: {error}"
            raise CommitUnknownError(message) from error

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop* as they were at *epoch*, in order."""
        sql = self.sql

        def _read(connection: sqlite3.Connection) -> list[StoredRow]:
            return read_rows(connection, sql, key, epoch, (start, stop), system=system)

        is_small = system or stop - start <= _SMALL
        return await (self._seen(_read) if is_small else self.reader.run(_read))

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the newest *limit* documents of *kind*, the newest first."""
        most = -1 if limit is None else limit
        name, sql = (key.tenant, key.id), self.sql

        def _read(connection: sqlite3.Connection) -> list[Document]:
            found = connection.execute(sql["documents"], (*name, kind, most)).fetchall()
            if kind == "execution":
                # It has no name, and so comes after all others.
                found += connection.execute(sql["state"], name)
            return [Document(*row) for row in found[:limit]]

        return await self.reader.run(_read)

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return the threads of *tenant* with ids after *after*, in order of their ids."""
        sql = self.sql

        def _read(connection: sqlite3.Connection) -> list[StoredThread]:
            with closing(connection.execute(sql["threads"], (tenant, after))) as rows:
                found = (
                    _stored(connection, sql, key, (pk, *rest))
                    for pk, name, *rest in rows
                    if (key := listed_key(tenant, name_of(name))) is not None
                )
                return list(islice(found, limit))

        return await self.reader.run(_read)

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        sql = self.sql["tenants"]
        return await self.reader.run(
            lambda connection: [name_of(name) for (name,) in connection.execute(sql)]
        )

    async def check(self) -> list[str]:
        """Return what SQLite's quick check finds; nothing if the file is sound."""
        return await self.reader.run(quick_check)

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """
        Delete a thread with everything that belongs to it; False if there is none.

        Its bytes are overwritten, in the log too.

        Raises:
            ThreadConflictError: It is not the thread *expected* any more, if that is given.
            StoreError: The disk failed. The thread may be gone already, but not its bytes.
        """
        sql, log = self.sql, self.log

        def _make(connection: sqlite3.Connection) -> bool:
            gone = delete_thread(connection, sql, key, expected)
            # Even if there was none: an earlier deletion may have stopped before this.
            log.ask()
            return gone

        gone = await self.writer.run(_make)
        try:
            await log.emptied(self.writer)
        except StoreError as error:
            message = f"the log still holds what was deleted, so delete it again: {error}"
            raise StoreError(message) from error
        return gone


async def _end(worker: Worker) -> None:
    worker.stop()
    await worker.ended()


def _nothing(connection: sqlite3.Connection) -> None:
    connection.execute("SELECT 1")


def _opened(worker: Worker | None) -> Worker:
    if worker is None:
        message = "the store is not open: use `async with`, or await `open()`"
        raise StoreError(message)
    return worker


def quick_check(connection: sqlite3.Connection) -> list[str]:
    """Return what SQLite's quick check finds, a line each; nothing if the file is sound."""
    try:
        found = [str(line) for (line,) in connection.execute("PRAGMA quick_check")]
    except SQLITE_ERRORS as error:
        # What SQLite says of a damaged file may quote what is stored.
        return [str(store_error(error))]
    return [] if found == ["ok"] else [" ".join(line.split()) for line in found]


def _load(connection: sqlite3.Connection, sql: _SQL, key: ThreadKey) -> StoredThread | None:
    found = connection.execute(sql["load"], (key.tenant, key.id)).fetchone()
    if found is None:
        return None
    *facts, live = found
    base = live << SEQ_BITS
    try:
        rows = connection.execute(sql["tail"], (base, base + SEQ_MASK, _TAIL)).fetchall()
    except sqlite3.DatabaseError:
        # Reading the damaged row itself reports it; the thread can be loaded all the same.
        rows = []
    tail = [
        StoredRow(id & SEQ_MASK, is_system == 1, data) for id, is_system, data in reversed(rows)
    ]
    return _stored(connection, sql, key, facts, tail)


def _stored(
    connection: sqlite3.Connection,
    sql: _SQL,
    key: ThreadKey,
    facts: Sequence[Any],
    tail: Sequence[StoredRow] = (),
) -> StoredThread:
    pk, revision, head, execution, expires_at = facts
    documents = [Document(*row) for row in connection.execute(sql["load_documents"], (pk,))]
    if execution is not None:
        documents.append(Document("execution", "", execution))
    return StoredThread(
        key=key,
        revision=revision,
        head=head,
        documents=documents,
        expires_at=expires_at,
        tail=tail,
    )
