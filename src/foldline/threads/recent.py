"""The newest rows of the threads that a process reads again and again."""

from collections.abc import Sequence
from threading import Lock
from typing import Final

from msgspec import Struct

from foldline.threads.cipher import Vault
from foldline.threads.key import ThreadKey
from foldline.threads.row import KnownRow, Runs, StoredRow, own_messages, read_chain


__all__ = ["KNOWN_BYTES", "RecentRows"]


KNOWN_BYTES: Final = 4 * 1024 * 1024
"""How many stored bytes of rows a store remembers; they take some three times as much memory."""

# Of one thread: what a turn reads, and more.
_MOST_ROWS = 64


class _Stretch(Struct, frozen=True, gc=False):
    """Rows that fit together, and what was read of them: of the first nothing, if it was not checked."""

    rows: Sequence[StoredRow]
    known: Sequence[KnownRow]
    runs: Runs | None
    size: int


_NOTHING = _Stretch((), (), None, 0)


class RecentRows:
    """
    Rows that were checked and read before, by thread; those that were added first go first.

    They save no reading: each row comes from the storage all the same. If its bytes are those that
    were checked, after the same row, what they say is known.
    """

    def __init__(self, *, most: int = KNOWN_BYTES) -> None:
        """Remember rows of up to *most* stored bytes."""
        self._most = most
        self._size = 0
        self._stretches: dict[ThreadKey, _Stretch] = {}
        # A store may serve the event loops of several threads.
        self._lock = Lock()

    def read_chain(
        self,
        key: ThreadKey,
        rows: Sequence[StoredRow],
        vault: Vault,
        before: bytes | None,
        runs: Runs | None,
    ) -> tuple[list[KnownRow], int | None]:
        """Return what `read_chain` returns for *rows*, which are of the thread *key*."""
        skip = before is None
        stretch = self._stretches.get(key, _NOTHING)
        place, first = _place(stretch, rows, runs, skip=skip)
        known: list[KnownRow] = []
        done = 0
        if first is not None:
            known = own_messages(stretch.known[first : first + len(rows) - skip])
            done = len(known) + skip
            if done == len(rows):
                return known, None
            before = rows[done - 1].seal
        news, bad = read_chain(rows[done:], vault, before, runs)
        known += news
        if bad is not None:
            return known, done + bad
        if first is None:
            self._keep(key, rows, known, runs)
        else:
            self._keep(
                key, [*stretch.rows[:place], *rows], [*stretch.known[:first], *known], runs
            )
        return known, None

    def _keep(
        self, key: ThreadKey, rows: Sequence[StoredRow], known: Sequence[KnownRow], runs: Runs | None
    ) -> None:
        rows, known = rows[-_MOST_ROWS:], known[-_MOST_ROWS:]
        size = sum([len(row.data) for row in rows])
        with self._lock:
            self._drop(key)
            if size <= self._most:
                self._stretches[key] = _Stretch(rows, known, runs, size)
                self._size += size
            while self._size > self._most:
                self._drop(next(iter(self._stretches)))

    def forget(self, key: ThreadKey) -> None:
        """Remember nothing of the thread *key*."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: ThreadKey) -> None:
        self._size -= self._stretches.pop(key, _NOTHING).size


def _place(
    stretch: _Stretch, rows: Sequence[StoredRow], runs: Runs | None, *, skip: bool
) -> tuple[int, int | None]:
    """Return where in *stretch* the first of *rows* is, and where what is known of them begins."""
    if not rows or not stretch.rows or stretch.runs != runs:
        return 0, None
    place = rows[0].seq - stretch.rows[0].seq
    first = place + skip - (len(stretch.rows) - len(stretch.known))
    same = stretch.rows[max(0, place) : place + len(rows)]
    is_known = place >= 0 and first >= 0 and len(same) > skip and rows[: len(same)] == same
    return place, first if is_known else None
