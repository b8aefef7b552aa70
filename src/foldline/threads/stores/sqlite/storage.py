"""Threads in one SQLite file."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from foldline.errors import CommitUnknownError, StoreError
from foldline.threads.fault import Fault
from foldline.threads.key import ThreadKey, listed_key, name_of
from foldline.threads.step import Document, DocumentKind, Step, StoredRow, StoredThread
from foldline.threads.stores.sqlite.commit import commit_step, delete_thread
from foldline.threads.stores.sqlite.damaged_log import kept_faults
from foldline.threads.stores.sqlite.file import Durability, StoreFile
from foldline.threads.stores.sqlite.glance import Glance
from foldline.threads.stores.sqlite.inspection import look_into, read_names
from foldline.threads.stores.sqlite.lineage import SEQ_BITS, SEQ_MASK, lineage
from foldline.threads.stores.sqlite.log import WriteLog
from foldline.threads.stores.sqlite.names import check_absent
from foldline.threads.stores.sqlite.postings import drop_broken_words
from foldline.threads.stores.sqlite.worker import Worker
from foldline.threads.stores.statements import statements


__all__ = ["SQLiteStorage"]


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
    blocked and a reader never waits for a flush. What is small is read at once (see `Glance`).
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
        self._glance = Glance(self.file)
        self._write: Worker | None = None
        self._read: Worker | None = None

    async def open(self) -> None:
        """
        Open the file and bring it up to date.

        Raises:
            StoreError: It cannot be opened, or is none of ours.
            StoreVersionError: A newer foldline wrote it.
        """
        while self._write is not None:
            self._write.check()
            if self._is_at_work:
                return
            # Somebody closes it now: that ends first, and then another one may have opened it.
            await self.close()
        self.sql = statements(_PACKAGE)
        self._write, self._read = write, _ = self._workers()
        try:
            await write.run(_nothing, is_outside=True)
        except BaseException:
            await self.close()
            raise

    def _workers(self) -> tuple[Worker, Worker]:
        name = f"foldline {self.file.path.name}"
        write = Worker(
            self.file.writer,
            name=f"{name} writer",
            exclusive=self.file.exclusive,
            tidy=self.log.tidy,
        )
        return write, Worker(self._glance.connect, name=f"{name} reader")

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
            # The writer ends last: who is the last to close folds the log back.
            ends.callback(self._forget, write)
            ends.push_async_callback(_end, write)
            ends.callback(self._forget_glance, read)
            ends.push_async_callback(_end, read)
            if read.is_at_work:
                # Whoever opens it from here on waits for the end.
                read.stop()
                await self.log.leave(write)

    def _forget_glance(self, read: Worker) -> None:
        if self._read is read:
            self._glance.close()

    def _forget(self, write: Worker) -> None:
        # Two may have closed it, and one of them have opened it again.
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

    def spans(
        self, connection: sqlite3.Connection, key: ThreadKey, branch: bytes
    ) -> list[tuple[int, int, int | None]]:
        """
        Return what *branch* is made of, its own rows first: branch, first number, number behind.
        """
        return [(pk, at, stop) for pk, _, at, stop in lineage(connection, self.sql, key, branch)]

    @staticmethod
    def row_id(branch: int, number: int) -> int:
        """Return the id of a row."""
        return (branch << SEQ_BITS) + number

    @staticmethod
    def number_of(row_id: int) -> int:
        """Return the number of a row."""
        return row_id & SEQ_MASK

    async def _seen(self, job: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Read what is probably small: at once, or in the thread that reads."""
        reader = self.reader
        if self._glance.take_turn():
            await asyncio.sleep(0)
        found = self._glance.answer(job)
        return await reader.run(job) if found is None else found[0]

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as one moment saw it, or None where there is none."""
        sql = self.sql
        return await self._seen(lambda connection: _load(connection, sql, key))

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """
        Do all of *step*, durably, or nothing.

        Raises:
            ThreadConflictError: The revision is not the expected one.
            StoreError: The disk failed; nothing was written.
            CommitUnknownError: It failed in the last moment, with a cause where it may still be found
                behind a crash; or it was made, and the log still holds what it purged.
        """
        sql, log = self.sql, self.log

        def _make(connection: sqlite3.Connection) -> None:
            commit_step(connection, sql, key, step)
            if step.purge:
                log.ask()

        await self.writer.run(_make)
        if not step.purge:
            return
        try:
            await log.emptied(self.writer)
        except StoreError as error:
            log.report(error)
            message = f"the commit was made, but the log still holds what it purged: {error}"
            raise CommitUnknownError(message) from error

    async def rows(
        self, key: ThreadKey, branch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop*, shared ones included, in order."""
        sql = self.sql
        name = "system_rows" if system else "rows"

        def _read(connection: sqlite3.Connection) -> list[StoredRow]:
            return _rows(connection, sql, key, branch, (start, stop), sql[name])

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
                # Of no name, and so behind all others.
                found += connection.execute(sql["state"], name)
            return [Document(*row) for row in found[:limit]]

        return await self.reader.run(_read)

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return the threads of *tenant* with ids behind *after*, in order of their ids."""
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

    async def names(self) -> list[tuple[str, str]]:
        """Return tenant and id of every thread, in order, allowed or not."""
        sql = self.sql
        return await self.reader.run(lambda connection: read_names(connection, sql))

    async def branch_of(self, key: ThreadKey) -> bytes | None:
        """Return the branch of a thread without reading its head; None where that is lost too."""
        sql, values = self.sql["branch_of"], (key.tenant, key.id)
        found = await self.reader.run(lambda connection: connection.execute(sql, values).fetchone())
        return None if found is None else found[0]

    async def inspect(self) -> list[Fault]:
        """
        Return what the integrity check of SQLite finds, what belongs to nothing, and kept logs.
        """
        sql, path = self.sql, self.file.path
        return await self.reader.run(
            lambda connection: [*look_into(connection, sql).faults, *kept_faults(path)]
        )

    async def mend(self) -> list[Fault]:
        """
        Drop what is damaged of the index of words, which searches make anew, and return it.

        Nothing is done where SQLite itself finds the file damaged: what is out of reach there may
        be whole.
        """
        sql = self.sql
        found = await self.reader.run(lambda connection: look_into(connection, sql))
        faults = [one for one in found.faults if one.kind == "index"]
        if found.broken or not faults:
            return []
        await self.writer.run(lambda connection: drop_broken_words(connection, sql))
        return faults

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """
        Delete a thread with everything that no fork of it shares; False where there is none.

        Its bytes are overwritten, in the log too.

        Raises:
            ThreadConflictError: It is not the thread *expected* any more, where that is given.
            StoreError: The disk failed. The thread may be gone already, but not its bytes.
        """
        sql, log = self.sql, self.log

        def _make(connection: sqlite3.Connection) -> bool:
            gone = delete_thread(connection, sql, key, expected)
            # Where there was none too: an earlier deletion may not have come so far.
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


def _load(connection: sqlite3.Connection, sql: _SQL, key: ThreadKey) -> StoredThread | None:
    found = connection.execute(sql["load"], (key.tenant, key.id)).fetchone()
    if found is None:
        check_absent(connection, sql, key)
        return None
    *facts, branch, name = found
    base = (branch or 0) << SEQ_BITS
    try:
        rows = connection.execute(sql["tail"], (base, base + SEQ_MASK, _TAIL)).fetchall()
    except sqlite3.DatabaseError:
        # Whoever reads a damaged row itself is told; the thread can be loaded all the same.
        rows = []
    if not isinstance(name, bytes):
        # The head names it too, and leads to its rows.
        rows = []
    tail = [
        StoredRow(branch=name, seq=id & SEQ_MASK, system=is_system == 1, data=data)
        for id, is_system, data in reversed(rows)
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


def _rows(
    connection: sqlite3.Connection,
    sql: _SQL,
    key: ThreadKey,
    branch: bytes,
    numbers: tuple[int, int],
    select: str,
) -> list[StoredRow]:
    start, stop = numbers
    parts: list[list[StoredRow]] = []
    for pk, name, at, end in lineage(connection, sql, key, branch, start=start):
        base = pk << SEQ_BITS
        last = stop if end is None else min(stop, end)
        parts.append(
            [
                StoredRow(branch=name, seq=id & SEQ_MASK, system=is_system == 1, data=data)
                for id, is_system, data in connection.execute(
                    select, (base + max(start, at), base + last)
                )
            ]
        )
    return parts[0] if len(parts) == 1 else [row for part in reversed(parts) for row in part]
