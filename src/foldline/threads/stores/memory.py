"""Threads in memory: gone with the process, and otherwise like those in any other store."""

from collections.abc import Callable, Iterable
from heapq import nlargest, nsmallest
from time import time
from typing import Unpack

from msgspec import Struct, field

from foldline.errors import ThreadConflictError, ThreadNotFoundError
from foldline.threads.change import Change, Copy, Document, DocumentKind
from foldline.threads.key import ThreadKey
from foldline.threads.lease import Lease, lease_at
from foldline.threads.row import StoredRow
from foldline.threads.storage import LOADED_KINDS, StoredThread
from foldline.threads.store import StoreOptions, ThreadStore, seconds_of


class _Thread(Struct):
    revision: int = 0
    head: bytes = b""
    expires_at: float | None = None
    holder: str = ""
    held_until: float = 0.0
    due_at: float | None = None
    active_at: float = 0.0
    documents: dict[tuple[DocumentKind, str], Document] = field(default_factory=dict)
    rows: list[StoredRow] = field(default_factory=list)
    # Of each epoch: its number, counted for the whole life of the thread, oldest first.
    epochs: dict[bytes, int] = field(default_factory=dict)
    # By the number of the epoch that replaced them.
    replaced: dict[int, list[StoredRow]] = field(default_factory=dict)

    @property
    def epoch(self) -> bytes:
        return next(reversed(self.epochs))

    def at(self, epoch: bytes) -> list[StoredRow]:
        """Return the rows at *epoch*."""
        if not epoch or epoch == self.epoch:
            return self.rows
        if epoch not in self.epochs:
            return []
        found = {row.seq: row for row in self.rows}
        for number in sorted(self.replaced, reverse=True):
            # The first epoch to replace a row is the last to be applied.
            if number > self.epochs[epoch]:
                found.update((row.seq, row) for row in self.replaced[number])
        return [found[seq] for seq in sorted(found)]

    def open(self, epoch: bytes, at: int, *, clears: bool) -> None:
        """Begin *epoch*: the rows from *at* on are replaced."""
        number = self.epochs[self.epoch] + 1
        self.replaced[number] = self.rows[at:]
        del self.rows[at:]
        self.epochs[epoch] = number
        if clears:
            self.replaced.clear()
            self.epochs = {epoch: number}

    def prune(self, keeps: Iterable[bytes]) -> None:
        """Keep only what the current epoch and those in *keeps* need."""
        known = {*keeps, self.epoch} & self.epochs.keys()
        first = min(self.epochs[epoch] for epoch in known)
        self.epochs = {epoch: number for epoch, number in self.epochs.items() if number >= first}
        self.replaced = {number: rows for number, rows in self.replaced.items() if number > first}


class MemoryStorage:
    """Rows and documents in dictionaries; no task can see half of a commit."""

    ends_commits = False
    """A commit has nothing to wait for."""

    def __init__(self, *, clock: Callable[[], float] = time) -> None:
        """Keep nothing yet; *clock* tells when a lease runs out, in seconds."""
        self._threads: dict[ThreadKey, _Thread] = {}
        self._clock = clock

    async def open(self) -> None:
        """Get ready, which takes nothing."""

    async def close(self) -> None:
        """Keep everything: the same storage may be opened again."""

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread, or None if there is none."""
        thread = self._threads.get(key)
        return None if thread is None else _stored(key, thread, self._clock())

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Do everything in *change*, or nothing; see `ThreadStorage`."""
        thread = self._threads.get(key)
        self._compare(key, thread, change.revision)
        if thread is not None and thread.epoch != change.epoch:
            # It was deleted and made again, and has come to the same revision.
            raise ThreadNotFoundError(thread_id=key.id)
        if thread is None:
            thread = _Thread(epochs={change.epoch: 0}, rows=self._copied(key, change.copies))
            self._threads[key] = thread
        if change.opens is not None:
            thread.open(change.opens.id, change.opens.at, clears=change.clears)
        if change.keeps is not None:
            thread.prune(change.keeps)
        thread.rows.extend(change.rows)
        if dropped := {*change.drop}:
            thread.documents = {
                name: one
                for name, one in thread.documents.items()
                if dropped.isdisjoint((name, (one.kind, None)))
            }
        thread.documents.update(((one.kind, one.name), one) for one in change.put)
        thread.revision = change.revision + 1
        thread.head, thread.expires_at = change.head, change.gone_at
        thread.due_at, thread.active_at = change.due_at, change.active_at
        if change.lease is not None:
            self._give(thread, change.lease)

    def _give(self, thread: _Thread, lease: Lease) -> None:
        thread.holder, thread.held_until = lease.holder, self._clock() + lease.seconds

    async def hold(self, key: ThreadKey, lease: Lease) -> bool:
        """Let *lease* last as long from now on, if its holder still has it."""
        thread = self._threads.get(key)
        if thread is None or thread.holder != lease.holder or thread.held_until <= self._clock():
            return False
        self._give(thread, lease)
        return True

    def _copied(self, key: ThreadKey, copies: Copy | None) -> list[StoredRow]:
        if copies is None:
            return []
        source = self._threads.get(ThreadKey(key.tenant, copies.source.id))
        if source is None or copies.epoch not in source.epochs:
            raise ThreadNotFoundError(thread_id=key.id)
        rows = source.at(copies.epoch)[: copies.count]
        if len(rows) < copies.count:
            raise ThreadNotFoundError(thread_id=key.id)
        return rows

    def _compare(self, key: ThreadKey, thread: _Thread | None, expected: int) -> None:
        actual = 0 if thread is None else thread.revision
        if actual != expected:
            raise ThreadConflictError(thread_id=key.id, expected=expected, actual=actual)

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop* at *epoch*, in order."""
        thread = self._threads.get(key)
        rows = [] if thread is None else thread.at(epoch)[start:stop]
        return [row for row in rows if row.system] if system else rows

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the newest *limit* documents of *kind*, the newest first."""
        thread = self._threads.get(key)
        found = [] if thread is None else [d for d in thread.documents.values() if d.kind == kind]
        return sorted(found, key=lambda one: one.name, reverse=True)[:limit]

    async def document(self, key: ThreadKey, kind: DocumentKind, name: str) -> Document | None:
        """Return one document, or None if there is none."""
        thread = self._threads.get(key)
        return None if thread is None else thread.documents.get((kind, name))

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return the threads of *tenant* whose ids come after *after*, in order of their ids."""
        keys = sorted(key for key in self._threads if key.tenant == tenant and key.id > after)
        now = self._clock()
        return [_stored(key, self._threads[key], now) for key in keys[:limit]]

    async def folds_due(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        """Return since when folds of *tenant* are due, and the ids, the oldest first."""
        found = (
            (thread.due_at, key.id)
            for key, thread in self._threads.items()
            if key.tenant == tenant and thread.due_at is not None
        )
        return nsmallest(limit, (one for one in found if after is None or one > after))

    async def latest(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        """Return when threads of *tenant* were last active, and the ids, the newest first."""
        found = (
            (one.active_at, key.id) for key, one in self._threads.items() if key.tenant == tenant
        )
        return nlargest(limit, (one for one in found if after is None or one < after))

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        return sorted({key.tenant for key in self._threads})

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """Delete a thread with everything stored for it; False if there is none."""
        thread = self._threads.get(key)
        if expected is not None:
            self._compare(key, thread, expected.revision)
        if thread is None:
            return False
        if expected is not None and expected.head != thread.head:
            # It was deleted and made again, and has come to the same revision.
            raise ThreadConflictError(thread_id=key.id, expected=expected.revision, actual=0)
        del self._threads[key]
        return True

    async def check(self) -> list[str]:
        """Find nothing: there is no file that could be damaged."""
        return []


def _stored(key: ThreadKey, thread: _Thread, now: float) -> StoredThread:
    documents = [one for one in thread.documents.values() if one.kind in LOADED_KINDS]
    reductions = [one for one in thread.documents.values() if one.kind == "reduction"]
    if reductions:
        documents.append(max(reductions, key=lambda one: one.name))
    return StoredThread(
        key=key,
        revision=thread.revision,
        head=thread.head,
        documents=documents,
        expires_at=thread.expires_at,
        lease=lease_at(thread.holder, thread.held_until, now),
    )


class MemoryStore(ThreadStore):
    """Threads in memory, for tests and for conversations that need not outlive their process."""

    def __init__(self, **options: Unpack[StoreOptions]) -> None:
        """Keep nothing yet; see `ThreadStore` for the options."""
        super().__init__(MemoryStorage(clock=seconds_of(options.get("clock"))), **options)
