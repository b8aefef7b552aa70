"""
Threads in one SQLite file.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from foldline.errors import StoreCorruptError, StoreError, ThreadConflictError, ThreadNotFoundError
from foldline.threads.key import ThreadKey
from foldline.threads.step import Document, DocumentKind, Step, StoredRow, StoredThread
from foldline.threads.stores.sqlite.file import Durability, StoreFile
from foldline.threads.stores.sqlite.inspection import inspect, read_names
from foldline.threads.stores.sqlite.worker import Worker
from foldline.threads.stores.statements import statements


__all__ = ["SQLiteStorage"]


_PACKAGE: Final = "foldline.threads.stores.sqlite"
_SEQ_BITS: Final = 32
_SEQ_MASK: Final = (1 << _SEQ_BITS) - 1
# What most turns see, and the row before, whose seal the first one is compared with.
_TAIL: Final = 26
_SQL = Mapping[str, str]


class SQLiteStorage:
    """
    Rows and documents in one file, which any number of processes may share.

    One thread writes and one reads, each on its own connection, so that the event loop is never
    blocked and a reader never waits for a flush.
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
        self.ends_commits = True
        self.sql: Mapping[str, str] = {}
        self._write: Worker | None = None
        self._read: Worker | None = None

    async def open(self) -> None:
        """
        Open the file and bring it up to date.

        Raises:
            StoreError: It cannot be opened, or is none of ours.
            StoreVersionError: A newer foldline wrote it.
        """
        if self._write is not None:
            return
        self.sql = statements(_PACKAGE)
        name = f"foldline {self.file.path.name}"
        self._write = Worker(
            self.file.writer,
            name=f"{name} writer",
            exclusive=self.file.exclusive,
            tidy=self.file.shorten_log,
        )
        self._read = Worker(self.file.reader, name=f"{name} reader")
        try:
            await self._write.run(_nothing, is_outside=True)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """
        Finish what waits and close the file; harmless when repeated.
        """
        workers = [one for one in (self._read, self._write) if one is not None]
        for one in workers:
            one.stop()
        for one in workers:
            await one.ended()
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
        return [(pk, at, stop) for pk, _, at, stop in _lineage(connection, self.sql, key, branch)]

    @staticmethod
    def row_id(branch: int, number: int) -> int:
        """
        Return the id of a row.
        """
        return (branch << _SEQ_BITS) + number

    @staticmethod
    def number_of(row_id: int) -> int:
        """
        Return the number of a row.
        """
        return row_id & _SEQ_MASK

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """
        Return a thread as one moment saw it, or None where there is none.
        """
        sql = self.sql
        return await self.reader.run(lambda connection: _load(connection, sql, key))

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """
        Do all of *step*, durably, or nothing.

        Raises:
            ThreadConflictError: The revision is not the expected one.
            StoreError: The disk failed; nothing was written.
            CommitUnknownError: It failed in the last moment.
        """
        sql = self.sql
        await self.writer.run(lambda connection: _commit(connection, sql, key, step))
        if step.purge:
            await self.writer.run(_empty_log, is_outside=True)

    async def rows(
        self, key: ThreadKey, branch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """
        Return the rows from number *start* up to *stop*, shared ones included, in order.
        """
        sql = self.sql
        name = "system_rows" if system else "rows"

        def _read(connection: sqlite3.Connection) -> list[StoredRow]:
            return _rows(connection, sql, key, branch, (start, stop), sql[name])

        return await self.reader.run(_read)

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """
        Return the newest *limit* documents of *kind*, the newest first.
        """
        most = -1 if limit is None else limit
        values = (key.tenant, key.id, kind, most)
        sql = self.sql["documents"]
        return await self.reader.run(
            lambda connection: [Document(*row) for row in connection.execute(sql, values)]
        )

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """
        Return the threads of *tenant* with ids behind *after*, in order of their ids.
        """
        sql = self.sql
        values = (tenant, after, -1 if limit is None else limit)

        def _read(connection: sqlite3.Connection) -> list[StoredThread]:
            found = connection.execute(sql["threads"], values).fetchall()
            return [
                _stored(connection, sql, ThreadKey(tenant, name), (pk, *rest))
                for pk, name, *rest in found
            ]

        return await self.reader.run(_read)

    async def tenants(self) -> list[str]:
        """
        Return every tenant that has a thread, in order.
        """
        sql = self.sql["tenants"]
        return await self.reader.run(
            lambda connection: [name for (name,) in connection.execute(sql)]
        )

    async def names(self) -> list[tuple[str, str]]:
        """
        Return tenant and id of every thread, in order, allowed or not.
        """
        sql = self.sql
        return await self.reader.run(lambda connection: read_names(connection, sql))

    async def branch_of(self, key: ThreadKey) -> bytes | None:
        """
        Return the branch of a thread without reading its head; None where that is lost too.
        """
        sql, values = self.sql["branch_of"], (key.tenant, key.id)
        found = await self.reader.run(lambda connection: connection.execute(sql, values).fetchone())
        return None if found is None else found[0]

    async def inspect(self) -> list[str]:
        """
        Return what the integrity check of SQLite finds, and what belongs to nothing.
        """
        sql = self.sql
        return await self.reader.run(lambda connection: inspect(connection, sql))

    async def delete(self, key: ThreadKey, *, expected: int | None = None) -> bool:
        """
        Delete a thread with everything that no fork of it shares; False where there is none.

        Its bytes are overwritten, in the log too.

        Raises:
            ThreadConflictError: The revision is not *expected*, where that is given.
            StoreError: The disk failed. The thread may be gone already, but not its bytes.
        """
        sql = self.sql
        gone = await self.writer.run(lambda connection: _delete(connection, sql, key, expected))
        try:
            # Where there was none too: an earlier deletion may not have come so far.
            await self.writer.run(_empty_log, is_outside=True)
        except StoreError as error:
            message = f"the log still holds what was deleted, so delete it again: {error}"
            raise StoreError(message) from error
        return gone


def _nothing(connection: sqlite3.Connection) -> None:
    connection.execute("SELECT 1")


def _opened(worker: Worker | None) -> Worker:
    if worker is None:
        message = "the store is not open: use `async with`, or await `open()`"
        raise StoreError(message)
    return worker


def _empty_log(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _load(connection: sqlite3.Connection, sql: _SQL, key: ThreadKey) -> StoredThread | None:
    found = connection.execute(sql["load"], (key.tenant, key.id)).fetchone()
    if found is None:
        return None
    *facts, branch, name = found
    base = (branch or 0) << _SEQ_BITS
    rows: list[Any] = []
    # Whoever reads a damaged row itself is told; the thread can be loaded all the same.
    with suppress(sqlite3.DatabaseError):
        rows = connection.execute(sql["tail"], (base, base + _SEQ_MASK, _TAIL)).fetchall()
    tail = [
        StoredRow(name, id & _SEQ_MASK, is_system == 1, data)
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
    pk, revision, head, expires_at = facts
    documents = [Document(*row) for row in connection.execute(sql["load_documents"], (pk,))]
    newest = connection.execute(sql["load_reduction"], (pk,)).fetchone()
    if newest is not None:
        documents.append(Document(*newest))
    return StoredThread(
        key=key,
        revision=revision,
        head=head,
        documents=documents,
        expires_at=expires_at,
        tail=tail,
    )


def _lineage(
    connection: sqlite3.Connection, sql: _SQL, key: ThreadKey, branch: bytes, *, start: int = 0
) -> Iterator[tuple[int, bytes, int, int | None]]:
    """
    Give *branch* and its ancestors: key, name, first row of its own, and row behind its last.

    Ancestors whose rows all lie before *start* are left out.
    """
    found = connection.execute(sql["find_branch"], (branch, key.tenant)).fetchone()
    stop: int | None = None
    known: set[int] = set()
    while found is not None and (stop is None or start < stop):
        pk, parent, at, name = found
        if pk in known:
            message = f"the branches of thread {key.id!r} lead in a circle"
            raise StoreCorruptError(message)
        known.add(pk)
        yield pk, name, at, stop
        stop = at if stop is None else min(stop, at)
        if parent is None:
            return
        found = connection.execute(sql["find_parent"], (parent, key.tenant)).fetchone()


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
    for pk, name, at, end in _lineage(connection, sql, key, branch, start=start):
        base = pk << _SEQ_BITS
        last = stop if end is None else min(stop, end)
        parts.append(
            [
                StoredRow(name, id & _SEQ_MASK, is_system == 1, data)
                for id, is_system, data in connection.execute(
                    select, (base + max(start, at), base + last)
                )
            ]
        )
    return parts[0] if len(parts) == 1 else [row for part in reversed(parts) for row in part]


def _commit(connection: sqlite3.Connection, sql: _SQL, key: ThreadKey, step: Step) -> None:
    found = connection.execute(sql["find_thread"], (key.tenant, key.id)).fetchone()
    pk, revision, branch, name = found or (None, 0, 0, b"")
    if revision != step.expected:
        raise ThreadConflictError(thread_id=key.id, expected=step.expected, actual=revision)
    if step.opens is not None or name != step.branch:
        branch = _branch(connection, sql, key, step)
    values = (branch, step.head, step.last_activity, step.expires_at)
    if pk is None:
        connection.execute(sql["add_thread"], (key.tenant, key.id, *values))
        (pk,) = connection.execute("SELECT last_insert_rowid()").fetchone()
    else:
        connection.execute(sql["move_thread"], (revision + 1, *values, pk, revision))
    if step.opens is not None:
        connection.execute(sql["own_branch"], (pk, branch))
    if step.rows:
        base = branch << _SEQ_BITS
        connection.executemany(
            sql["add_row"], [(base + row.seq, row.system, row.data) for row in step.rows]
        )
    _change_documents(connection, sql, pk, step)
    if step.purge:
        _disown(connection, sql, pk, but=branch)


def _branch(connection: sqlite3.Connection, sql: _SQL, key: ThreadKey, step: Step) -> int:
    opens = step.opens
    if opens is not None:
        parent = None
        if opens.parent is not None:
            parent = _parent_pk(connection, sql, key, opens.parent, opens.at)
        # What shares nothing keeps nobody from being deleted.
        values = (opens.id, key.tenant, parent if opens.at else None, opens.at)
        connection.execute(sql["add_branch"], values)
    return _branch_pk(connection, sql, key, step.branch)


def _parent_pk(
    connection: sqlite3.Connection, sql: _SQL, key: ThreadKey, name: bytes, at: int
) -> int:
    """
    Return the branch that owns the last row before *at* of the branch *name*.

    A branch whose own rows all lie behind *at* has nothing to share, so that it is passed over:
    it may then be deleted without regard to the new one.
    """
    pk = _branch_pk(connection, sql, key, name)
    owner, _, shared = connection.execute(sql["sweep_facts"], (pk,)).fetchone()
    if owner is None and at > (shared or 0):
        # Of a branch that nobody owns only the rows are left that others share.
        raise ThreadNotFoundError(thread_id=key.id)
    for pk, _, start, _ in _lineage(connection, sql, key, name):  # noqa: B007 - the last counts
        if start < at:
            break
    return pk


def _branch_pk(connection: sqlite3.Connection, sql: _SQL, key: ThreadKey, name: bytes) -> int:
    found = connection.execute(sql["find_branch"], (name, key.tenant)).fetchone()
    if found is None:
        # Somebody has deleted or cleared the thread that was to be forked.
        raise ThreadNotFoundError(thread_id=key.id)
    return int(found[0])


def _change_documents(connection: sqlite3.Connection, sql: _SQL, pk: int, step: Step) -> None:
    for kind, name in step.drop:
        if name is None:
            connection.execute(sql["drop_documents"], (pk, kind))
        else:
            connection.execute(sql["drop_document"], (pk, kind, name))
    for one in step.put:
        connection.execute(sql["put_document"], (pk, one.kind, one.name, one.data))


def _delete(
    connection: sqlite3.Connection, sql: _SQL, key: ThreadKey, expected: int | None
) -> bool:
    found = connection.execute(sql["find_thread"], (key.tenant, key.id)).fetchone()
    revision = 0 if found is None else found[1]
    if expected is not None and expected != revision:
        raise ThreadConflictError(thread_id=key.id, expected=expected, actual=revision)
    if found is None:
        return False
    pk = found[0]
    connection.execute(sql["drop_all_documents"], (pk,))
    _disown(connection, sql, pk)
    connection.execute(sql["drop_thread"], (pk,))
    return True


def _disown(connection: sqlite3.Connection, sql: _SQL, pk: int, *, but: int | None = None) -> None:
    """
    Let the thread *pk* own no branch, or one alone, and delete what only it has needed.
    """
    left = [branch for (branch,) in connection.execute(sql["branches_of"], (pk,))]
    left = [branch for branch in left if branch != but]
    connection.executemany(sql["disown"], [(branch,) for branch in left])
    has_words = _has_words(connection, sql)
    for branch in left:
        _sweep(connection, sql, branch, has_words=has_words)
    if has_words and left:
        # Words of deleted rows stay in the index until its pieces are merged.
        connection.execute(sql["merge_words"])


def _has_words(connection: sqlite3.Connection, sql: _SQL) -> bool:
    return bool(connection.execute(sql["has_words"]).fetchone()[0])


def _sweep(
    connection: sqlite3.Connection, sql: _SQL, branch: int | None, *, has_words: bool
) -> None:
    """
    Delete the rows of a branch that nobody owns, but for those that another one shares.
    """
    while branch is not None:
        facts = connection.execute(sql["sweep_facts"], (branch,)).fetchone()
        if facts is None or facts[0] is not None:
            return
        _, parent, shared = facts
        base = branch << _SEQ_BITS
        span = (base + (shared or 0), base + _SEQ_MASK + 1)
        connection.execute(sql["drop_rows"], span)
        if has_words:
            connection.execute(sql["drop_words"], span)
        if shared is not None:
            return
        connection.execute(sql["forget_indexed"], (branch,))
        connection.execute(sql["drop_branch"], (branch,))
        branch = parent
