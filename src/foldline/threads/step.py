"""
What a storage keeps and what one commit changes, as bytes that only the room above can read.

A thread is a *head*, numbered rows on a *branch*, and named documents. A branch begins where
another one is left, and shares its rows up to there, so that a fork or a rewind copies nothing.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from foldline.threads.key import ThreadKey


__all__ = ["Branch", "Document", "DocumentKind", "Step", "StoredRow", "StoredThread"]


DocumentKind: TypeAlias = Literal["metadata", "execution", "reduction", "tool", "checkpoint"]
"""
What a document is.

`metadata`: name and values of the owner. `execution`: the state of the open run. `reduction`: one
for each fold in force or before it. `tool`: the intent or the result of a call whose answer is not
yet a message. `checkpoint`: one of the kept moments, where all are kept.
"""


class StoredRow(Struct, frozen=True, gc=False, kw_only=True):
    """One stored message."""

    branch: bytes
    """The branch that it was written on, 16 bytes."""

    seq: int
    """Its number in the thread, from 0, without gaps."""

    system: bool
    """Whether it is a system message."""

    data: bytes
    """Its seal, counts, digest and body."""


class Document(Struct, frozen=True, gc=False):
    """One named document of a thread."""

    kind: DocumentKind
    """What it is."""

    name: str
    """Its name among those of its kind: empty where there is only one; of two reductions or
    checkpoints the newer one has the greater name."""

    data: bytes
    """Its content."""


class Branch(Struct, frozen=True, gc=False):
    """A branch that a commit opens."""

    id: bytes
    """16 random bytes."""

    parent: bytes | None
    """
    The branch whose first rows it shares.

    A thread owns the branches that it has opened, those that it has left too, until it is deleted
    or a commit of its own purges. What no thread owns can be read by forks that share it, and
    shared no more, however little of it is wanted.
    """

    at: int
    """How many rows it shares; its own begin with this number."""


class Step(Struct, frozen=True, kw_only=True):
    """One commit: all of it happens, or nothing."""

    id: bytes
    """8 random bytes, by which the commit is known again where a connection broke."""

    expected: int
    """The revision that the thread must have; 0 where it must not exist."""

    head: bytes
    """The head of the next revision, which is one more."""

    branch: bytes
    """The branch of the head, on which the rows are written."""

    opens: Branch | None = None
    """That branch, where it is new."""

    rows: Sequence[StoredRow] = ()
    """The rows to append; their numbers follow those that are there."""

    put: Sequence[Document] = ()
    """The documents to write; one of the same kind and name is replaced."""

    drop: Sequence[tuple[DocumentKind, str | None]] = ()
    """The documents to delete before that, by kind and name; without name, all of the kind."""

    last_activity: float
    """Seconds since 1970, beside the sealed head: for whoever looks into a database."""

    expires_at: float | None = None
    """Seconds since 1970 from which on the thread is gone; None for never."""

    purge: bool = False
    """
    Whether the thread owns no branch but that of the head any more, and rows that no branch in use
    shares are deleted.
    """


class StoredThread(Struct, frozen=True, kw_only=True):
    """A thread as a storage gives it, without its rows."""

    key: ThreadKey
    """Whose and which it is."""

    revision: int
    """How many commits made it."""

    head: bytes
    """Its head."""

    documents: Sequence[Document] = ()
    """Its metadata, execution and tool documents, and the newest reduction."""

    expires_at: float | None = None
    """Seconds since 1970 from which on it is gone."""

    tail: Sequence[StoredRow] = ()
    """Its newest rows, where the storage has read them along: what is mostly asked for next."""
