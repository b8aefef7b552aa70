"""What a store of one's own has to offer."""

from typing import Protocol, runtime_checkable

from foldline.threads.key import ThreadKey
from foldline.threads.step import Document, DocumentKind, Step, StoredRow, StoredThread


__all__ = ["LOADED_KINDS", "SteadyStorage", "ThreadStorage", "WordIndex"]


LOADED_KINDS: tuple[DocumentKind, ...] = ("metadata", "execution", "tool")
"""The documents that come with a thread, all of each kind; the newest reduction comes too."""


@runtime_checkable
class ThreadStorage(Protocol):
    """
    Where threads lie: a database, or memory.

    It stores bytes, compares revisions and knows nothing of what they mean. Every method names
    the tenant. `foldline.testing.storage.StorageConformance` tells whether one keeps its promises.
    """

    async def open(self) -> None:
        """
        Get ready; called once before anything else.

        Raises:
            StoreError: It cannot be opened.
        """
        ...

    async def close(self) -> None:
        """Release everything; harmless when repeated."""
        ...

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as one moment saw it, or None where there is none."""
        ...

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """
        Do all of *step*, durably, or nothing.

        Raises:
            ThreadConflictError: The revision is not the expected one.
            ThreadNotFoundError: The branch is not the one that the thread stands on, as where it was
                deleted and made anew; or the one that a new one is to share is owned by no thread of
                the tenant, or by another thread although this one is not new.
            StoreError: The storage failed; nothing was written.
            CommitUnknownError: It failed in a way that leaves open whether it was written.
        """
        ...

    async def rows(
        self, key: ThreadKey, branch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """
        Return the rows from number *start* up to *stop*, shared ones included, in order.

        Args:
            key: The thread that asks; a branch of another tenant has no rows.
            branch: The branch.
            start: The first number.
            stop: The number behind the last.
            system: Whether only system messages are wanted.
        """
        ...

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the newest *limit* documents of *kind*, the newest first; all without a limit."""
        ...

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """
        Return the threads of *tenant* with ids behind *after*, in order of their ids.

        There may be fewer, but none only where there is none behind *after*.
        """
        ...

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        ...

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """
        Delete a thread with everything that no fork of it shares; False where there is none.

        Args:
            key: The thread.
            expected: The thread as it was read. It is deleted only where it is still so: with the
                same revision and the same head, since one made anew may have come as far.

        Raises:
            ThreadConflictError: It is not as *expected*, where that is given.
        """
        ...


@runtime_checkable
class SteadyStorage(Protocol):
    """
    A storage that ends a commit that it has begun, even if the task is cancelled.

    The `CancelledError` goes on behind the end; it has a cause where the commit failed. Of any
    other storage a thread makes each commit in a task of its own.
    """

    ends_commits: bool
    """Whether it does."""


@runtime_checkable
class WordIndex(Protocol):
    """A storage that finds the rows with given words without reading all of them."""

    async def indexed(self, key: ThreadKey, branch: bytes) -> int:
        """Return the number of the first row of *branch* that is not in the index."""
        ...

    async def index(self, key: ThreadKey, branch: bytes, words: list[tuple[int, str]]) -> None:
        """Add rows to the index: the number of each, and its words with a space between."""
        ...

    async def find(self, key: ThreadKey, branch: bytes, stop: int, words: list[str]) -> list[int]:
        """Return the numbers of the rows below *stop* that hold every one of *words*, in order."""
        ...
