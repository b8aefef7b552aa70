"""File operations that fail."""

import sqlite3
import threading
from collections.abc import Collection, Generator
from contextlib import contextmanager
from enum import StrEnum

from msgspec import Struct

from tests.faults.operation import CHANGES, Kind, Operation
from tests.faults.vfs import hooked


class Trouble(StrEnum):
    """How an operation fails."""

    IO = "io"
    """Nothing takes place; the result is the I/O error of the operation's kind."""

    FULL = "full"
    """Nothing is written; the disk is full. Concerns writes."""

    SHORT = "short"
    """The first half is written; then the disk is full. Concerns writes."""


_CODES = {
    Kind.OPEN: sqlite3.SQLITE_CANTOPEN,
    Kind.WRITE: sqlite3.SQLITE_IOERR_WRITE,
    Kind.TRUNCATE: sqlite3.SQLITE_IOERR_TRUNCATE,
    Kind.SYNC: sqlite3.SQLITE_IOERR_FSYNC,
    Kind.DELETE: sqlite3.SQLITE_IOERR_DELETE,
}
_WRITES = frozenset({Kind.WRITE})


class _Plan(Struct, frozen=True):
    """Which operations fail."""

    trouble: Trouble
    number: int
    sticky: bool
    kinds: frozenset[Kind]


class Failures:
    """What fails from now on; it may be changed while connections are in use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plan: _Plan | None = None
        # How many operations of the planned kinds came since the plan was made, and how many failed.
        self.seen = 0
        self.failed = 0

    def plan(
        self,
        trouble: Trouble,
        *,
        number: int = 1,
        sticky: bool = False,
        kinds: Collection[Kind] | None = None,
    ) -> None:
        """
        Let the operation *number* from now fail, and all after it where *sticky*.

        Operations are counted if they are of *kinds*: by default the writes for a full disk, and
        writes, truncates, syncs and deletes for an I/O error.
        """
        counted = frozenset(kinds or (CHANGES if trouble is Trouble.IO else _WRITES))
        with self._lock:
            self._plan = _Plan(trouble, number, sticky, counted)
            self.seen = self.failed = 0

    def heal(self) -> None:
        """Let everything succeed again; the counts stay readable."""
        with self._lock:
            self._plan = None

    def __call__(self, operation: Operation) -> int:
        """Perform *operation*, or fail it if the plan says so."""
        trouble = self._drawn(operation.kind)
        if trouble is None:
            return operation.perform()
        if operation.kind is not Kind.WRITE or trouble is Trouble.IO:
            return _CODES[operation.kind]
        if trouble is Trouble.SHORT:
            operation.perform_half()
        return sqlite3.SQLITE_FULL

    def _drawn(self, kind: Kind) -> Trouble | None:
        with self._lock:
            plan = self._plan
            if plan is None or kind not in plan.kinds:
                return None
            self.seen += 1
            if self.seen < plan.number or (self.seen > plan.number and not plan.sticky):
                return None
            self.failed += 1
            return plan.trouble


@contextmanager
def failing() -> Generator[Failures, None, None]:
    """Give the failures of the connections opened inside; none is planned yet."""
    failures = Failures()
    with hooked(failures):
        yield failures
