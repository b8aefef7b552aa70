"""What a store implements, and what the threads of one store have in common."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct, field

from foldline.errors import CommitUnknownError, StoreError, ThreadConflictError
from foldline.history.tokens import TokenCounter, TokenEstimator
from foldline.threads.change import Change, Document, DocumentKind
from foldline.threads.cipher import Vault
from foldline.threads.key import ThreadKey
from foldline.threads.lease import TURN_LEASE, TURN_WAIT, Lease
from foldline.threads.random_bytes import RandomBytes
from foldline.threads.recent import Recent
from foldline.threads.row import StoredRow
from foldline.threads.waiters import Waiters


LOADED_KINDS: tuple[DocumentKind, ...] = ("metadata", "execution", "tool")
"""The documents that come with a thread, all of each kind; the newest reduction comes too."""


class StoredThread(Struct, frozen=True, kw_only=True):
    """A thread as a storage returns it, without its rows."""

    key: ThreadKey
    """Its tenant and id."""

    revision: int
    """How many commits made it."""

    head: bytes
    """Its head."""

    documents: Sequence[Document] = ()
    """Its metadata, execution and tool documents, and the newest reduction."""

    expires_at: float | None = None
    """When it expires, in seconds since 1970; None for never."""

    lease: Lease | None = None
    """Who runs a turn on it, and for how long from now; None if nobody does, or that has run out."""

    tail: Sequence[StoredRow] = ()
    """Its newest rows, if the storage has read them along: what is mostly asked for next."""


@runtime_checkable
class ThreadStorage(Protocol):
    """
    Where threads are stored: a database, or memory.

    It stores bytes, compares revisions and knows nothing of what they mean. A thread has rows,
    numbered from 0 without gaps, named documents, and *epochs*: a new one begins at each rewind,
    edit and clear. When epoch k opens at row n, the rows from n on are no longer current: they are
    kept as the rows that k replaced, and new rows are appended from n. To read row i as of an earlier
    epoch, look at the epochs after that one, the oldest first: it is the row i that the first of them
    replaced, or else the current one. After the last row that the epoch had, anything may be returned.

    The name of a document is any string, with NUL and lone surrogates too; a commit with one that
    the database cannot hold raises StoreError, as does every failure of the database.

    `foldline.testing.storage.StorageConformance` checks whether a storage keeps its promises.
    """

    ends_commits: bool
    """
    Whether a commit that has begun ends even if the task is cancelled.

    The `CancelledError` is then raised after the end, with a cause if the commit was not made. For
    any other storage a thread makes each commit in a task of its own.
    """

    async def open(self) -> None:
        """Get ready, once before anything else; raise StoreError if it cannot be opened."""
        ...

    async def close(self) -> None:
        """Release everything; harmless when repeated."""
        ...

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as of one moment, or None if there is none."""
        ...

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """
        Do everything in *change*, durably, or nothing.

        Raises:
            ThreadConflictError: The thread is at another revision than `change.revision`.
            ThreadNotFoundError: It is at that revision, but its current epoch is not
                `change.epoch`: it was deleted and made again. Or the thread of `change.copies` is
                missing, does not have that epoch, or has fewer rows.
            StoreError: The storage failed; nothing was written.
            CommitUnknownError: It failed, and whether it was written is unknown. A storage that ends
                commits sets `may_arrive` if a server may still write it.
        """
        ...

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """
        Return the rows from number *start* up to *stop*, in order; none for an unknown epoch.

        Args:
            key: The thread.
            epoch: The epoch to read at: the current one, or an earlier one; empty for the current
                one of a thread whose head is damaged.
            start: The first number.
            stop: The number after the last.
            system: Whether only system messages are wanted.
        """
        ...

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the newest *limit* documents of *kind*, the newest first; all without a limit."""
        ...

    async def document(self, key: ThreadKey, kind: DocumentKind, name: str) -> Document | None:
        """Return one document, at the same cost however many there are; None if there is none."""
        ...

    async def hold(self, key: ThreadKey, lease: Lease) -> bool:
        """
        Let *lease* last as long from now on, if its holder still has it; with 0 seconds give it back.

        The revision stays. False if another one has it or nobody, or if it has run out.
        """
        ...

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """
        Return the threads of *tenant* whose ids come after *after*, in order of their ids.

        May return a short page; an empty page is the end.
        """
        ...

    async def folds_due(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        """
        Return `Change.due_at` and the id of the threads of *tenant* that have one, in order of both.

        Args:
            tenant: The owner.
            after: The last of the page before; None for the first page.
            limit: How many to return at most; fewer are the end.
        """
        ...

    async def latest(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        """
        Return `Change.active_at` and the id of the threads of *tenant*, the greatest of both first.

        Args:
            tenant: The owner.
            after: The last of the page before; None for the first page.
            limit: How many to return at most; fewer are the end.
        """
        ...

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        ...

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """
        Delete a thread with everything stored for it; False if there is none.

        Args:
            key: The thread.
            expected: The thread as it was read. It is deleted only if its revision and its head
                are still the same, since one made again may have come as far.

        Raises:
            ThreadConflictError: It is not as *expected*.
        """
        ...

    async def check(self) -> list[str]:
        """Return what the database itself finds wrong, one line each; empty if it cannot check."""
        ...


def judge(key: ThreadKey, change: Change, *, revision: int, head: bytes, reason: str) -> None:
    """Raise unless *revision* and *head*, which are those of now, show that *change* was made."""
    if revision > change.revision + 1:
        raise CommitUnknownError(reason)
    if (revision, head) == (change.revision + 1, change.head):
        return
    if revision != change.revision:
        raise ThreadConflictError(thread_id=key.id, expected=change.revision, actual=revision)
    raise StoreError(f"{reason}: it was not made")


class Fact(Struct, frozen=True, kw_only=True):
    """What `foldline doctor` reports about a store, and what to do; a danger costs data."""

    name: str
    value: str
    advice: str = ""
    is_danger: bool = False


CheckpointRetention: TypeAlias = Literal["latest", "full"]
"""Whether only the last checkpoint is kept, or every one."""


class StoreContext(Struct, frozen=True, kw_only=True):
    """What the threads of one store have in common."""

    storage: ThreadStorage
    counter: TokenCounter = TokenEstimator()
    vault: Vault = Vault()
    clock: Callable[[], datetime] = partial(datetime.now, UTC)
    random_bytes: Callable[[int], bytes] = field(default_factory=RandomBytes)
    checkpoints: CheckpointRetention = "latest"
    turn_lease: float = TURN_LEASE
    turn_wait: float = TURN_WAIT
    waiters: Waiters = field(default_factory=Waiters)
    recent: Recent = field(default_factory=Recent)
