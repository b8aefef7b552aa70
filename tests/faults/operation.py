"""One call of SQLite to its file system, as the hook hands it to an interposer."""

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class Kind(StrEnum):
    """What SQLite asks of its file system."""

    OPEN = "open"
    """Open a file, and create it where it is absent."""

    WRITE = "write"
    """Write bytes at an offset."""

    TRUNCATE = "truncate"
    """Cut a file to a size."""

    SYNC = "sync"
    """Flush what was written to a file."""

    DELETE = "delete"
    """Remove a file."""


CHANGES = frozenset({Kind.WRITE, Kind.TRUNCATE, Kind.SYNC, Kind.DELETE})
"""The kinds that are points of a crash. An open is none: what follows it is one."""


class Operation(Struct):
    """A call that has not taken place yet; the interposer decides whether and how it does."""

    kind: Kind
    path: str
    handle: int
    call: Callable[..., int]
    arguments: tuple[int | None, ...]
    data: Callable[[], bytes] = bytes
    offset: int = 0
    size: int = 0
    flags: int = 0

    def perform(self) -> int:
        """Let the operation take place and return the result code of SQLite."""
        return self.call(*self.arguments)

    def perform_half(self) -> int:
        """Let the first half of a write take place and return the result code of SQLite."""
        file, buffer, size, offset = self.arguments
        return self.call(file, buffer, (size or 0) // 2, offset)


class Interposer(Protocol):
    """
    What stands between SQLite and its file system.

    It is called from whichever thread SQLite works on, from several at once if need be.
    """

    def __call__(self, operation: Operation) -> int:
        """Return the result code for SQLite; 0 claims that the operation succeeded."""
        ...
