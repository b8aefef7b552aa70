"""Threads in memory: gone with the process, and otherwise like those in any other store."""

from collections.abc import Callable, Iterable
from datetime import datetime

from msgspec import Struct, field

from foldline.errors import ThreadConflictError, ThreadNotFoundError
from foldline.history.tokens import TokenCounter
from foldline.threads.checkpoint import CheckpointRetention
from foldline.threads.cipher import Cipher
from foldline.threads.key import ThreadKey
from foldline.threads.step import Branch, Document, DocumentKind, Step, StoredRow, StoredThread
from foldline.threads.storage import LOADED_KINDS
from foldline.threads.store import ThreadStore


__all__ = ["MemoryStorage", "MemoryStore"]


class _Branch(Struct):
    tenant: str
    owner: ThreadKey | None
    parent: bytes | None
    at: int
    rows: list[StoredRow] = field(default_factory=list)


class _Thread(Struct):
    revision: int = 0
    head: bytes = b""
    branch: bytes = b""
    expires_at: float | None = None
    documents: dict[tuple[DocumentKind, str], Document] = field(default_factory=dict)


class MemoryStorage:
    """
    Rows and documents in dictionaries.

    A commit has no point at which another task could see half of it.
    """

    def __init__(self) -> None:
        """Hold nothing."""
        self._threads: dict[ThreadKey, _Thread] = {}
        self._branches: dict[bytes, _Branch] = {}

    async def open(self) -> None:
        """Get ready, which takes nothing."""

    async def close(self) -> None:
        """Keep everything: whoever holds the storage may open it again."""

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread, or None where there is none."""
        thread = self._threads.get(key)
        return None if thread is None else _stored(key, thread)

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """
        Do all of *step*, or nothing.

        Raises:
            ThreadConflictError: The revision is not the expected one.
            ThreadNotFoundError: The branch that it goes on from is gone, nobody's, or another thread's.
        """
        thread = self._threads.get(key)
        self._compare(key, thread, step.expected)
        if step.opens is not None:
            self._need_parent(key, step.opens, is_new=thread is None)
        elif thread is None or thread.branch != step.branch:
            # The thread was deleted and made anew, and has come to the same revision.
            raise ThreadNotFoundError(thread_id=key.id)
        thread = thread or _Thread()
        self._threads[key] = thread
        if step.opens is not None:
            parent = self._owner_of(step.opens.parent, step.opens.at)
            self._branches[step.opens.id] = _Branch(key.tenant, key, parent, step.opens.at)
        self._branches[step.branch].rows.extend(step.rows)
        _drop(thread.documents, step.drop)
        thread.documents.update(((one.kind, one.name), one) for one in step.put)
        thread.revision = step.expected + 1
        thread.head, thread.branch = step.head, step.branch
        thread.expires_at = step.expires_at
        if step.purge:
            self._disown(key, but=step.branch)

    def _need_parent(self, key: ThreadKey, branch: Branch, *, is_new: bool) -> None:
        if branch.parent is None:
            return
        parent = self._branches.get(branch.parent)
        owner = None if parent is None else parent.owner
        if owner is None or owner.tenant != key.tenant:
            # Somebody has deleted or cleared the thread that was to be forked.
            raise ThreadNotFoundError(thread_id=key.id)
        if not is_new and owner != key:
            # The thread was deleted and made anew: what is to be rewound is another one.
            raise ThreadNotFoundError(thread_id=key.id)

    def _shared(self, name: bytes) -> int:
        """Return how many rows of the branch *name* others share."""
        return max((one.at for one in self._branches.values() if one.parent == name), default=0)

    def _owner_of(self, name: bytes | None, at: int) -> bytes | None:
        """
        Return the branch that owns the last row before *at* of the branch *name*.

        A branch whose own rows all lie behind *at* has nothing to share, so that it is passed
        over: it may then be deleted without regard to the new one.
        """
        while name is not None and self._branches[name].at >= at:
            name = self._branches[name].parent
        return name

    def _compare(self, key: ThreadKey, thread: _Thread | None, expected: int) -> None:
        actual = 0 if thread is None else thread.revision
        if actual != expected:
            raise ThreadConflictError(thread_id=key.id, expected=expected, actual=actual)

    async def rows(
        self, key: ThreadKey, branch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop*, shared ones included, in order."""
        parts: list[list[StoredRow]] = []
        known: bytes | None = branch
        while known is not None and start < stop:
            one = self._branches.get(known)
            if one is None or one.tenant != key.tenant:
                break
            first = max(start, one.at)
            parts.append(one.rows[max(0, first - one.at) : max(0, stop - one.at)])
            known, stop = one.parent, min(stop, one.at)
        rows = [row for part in reversed(parts) for row in part]
        return [row for row in rows if row.system] if system else rows

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the newest *limit* documents of *kind*, the newest first."""
        thread = self._threads.get(key)
        found = [] if thread is None else [d for d in thread.documents.values() if d.kind == kind]
        return sorted(found, key=lambda one: one.name, reverse=True)[:limit]

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return the threads of *tenant* with ids behind *after*, in order of their ids."""
        keys = sorted(key for key in self._threads if key.tenant == tenant and key.id > after)
        return [_stored(key, self._threads[key]) for key in keys[:limit]]

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        return sorted({key.tenant for key in self._threads})

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """
        Delete a thread with everything that no fork of it shares; False where there is none.

        Raises:
            ThreadConflictError: It is not the thread *expected* any more, where that is given.
        """
        thread = self._threads.get(key)
        if expected is not None:
            self._compare(key, thread, expected.revision)
        if thread is None:
            return False
        if expected is not None and expected.head != thread.head:
            # The thread was deleted and made anew, and has come to the same revision.
            raise ThreadConflictError(thread_id=key.id, expected=expected.revision, actual=0)
        del self._threads[key]
        self._disown(key)
        return True

    def _disown(self, key: ThreadKey, *, but: bytes | None = None) -> None:
        """Let *key* own no branch, or one alone, and delete what only it has needed."""
        left = [
            name for name, branch in self._branches.items() if branch.owner == key and name != but
        ]
        for name in left:
            self._branches[name].owner = None
        for name in left:
            self._sweep(name)

    def _sweep(self, name: bytes | None) -> None:
        """Delete the rows of a branch that nobody owns, but for those that another one shares."""
        while name is not None:
            branch = self._branches.get(name)
            if branch is None or branch.owner is not None:
                return
            shared = self._shared(name)
            if shared:
                del branch.rows[max(0, shared - branch.at) :]
                return
            del self._branches[name]
            name = branch.parent


def _drop(
    documents: dict[tuple[DocumentKind, str], Document],
    dropped: Iterable[tuple[DocumentKind, str | None]],
) -> None:
    for kind, name in dropped:
        gone = [one for one in documents if one[0] == kind and name in {None, one[1]}]
        for one in gone:
            del documents[one]


def _stored(key: ThreadKey, thread: _Thread) -> StoredThread:
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
    )


class MemoryStore(ThreadStore):
    """Threads in memory, for tests and for conversations that need not outlive their process."""

    def __init__(
        self,
        *,
        counter: TokenCounter | None = None,
        cipher: Cipher | None = None,
        checkpoints: CheckpointRetention = "latest",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """Hold nothing; `ThreadStore` tells what the options do."""
        super().__init__(
            MemoryStorage(), counter=counter, cipher=cipher, checkpoints=checkpoints, clock=clock
        )
