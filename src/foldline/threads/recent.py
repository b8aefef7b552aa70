"""What a process has read of threads that it reads again and again."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.prefix import Prefix
from foldline.history.tokens import TokenCounter
from foldline.threads.change import Document
from foldline.threads.cipher import Vault
from foldline.threads.key import ThreadKey
from foldline.threads.row import KnownRow, Runs, StoredRow, extend_history, own_rows, read_chain


__all__ = ["KNOWN_BYTES", "Recent"]


KNOWN_BYTES: Final = 4 * 1024 * 1024
"""How many stored bytes a store remembers; what was read of them takes some five times as much."""

# Of one thread: what a turn reads, and more.
_MOST_ROWS = 64


class _Window(Struct, frozen=True):
    """A history that nobody else has, and the rows that it is made of."""

    rows: Sequence[KnownRow]
    prefix: Prefix
    history: History


class _Known(Struct, frozen=True):
    """What is known of one thread: of the first row nothing, if it was not checked."""

    rows: Sequence[StoredRow] = ()
    read: Sequence[KnownRow] = ()
    runs: Runs | None = None
    # Whether a message has metadata, which a caller may change.
    is_noted: bool = False
    window: _Window | None = None
    document: Document | None = None
    reduction: object = None
    # Of the rows and the document, as they are stored.
    size: int = 0


_NOTHING = _Known()


class Recent:
    """
    What was checked and read of threads; the thread that had no news for longest goes first.

    It saves no reading: everything comes from the storage all the same. If its bytes are those that
    were checked, at the same place, what they say is known.
    """

    def __init__(self, *, most: int = KNOWN_BYTES) -> None:
        """Remember what takes up to *most* stored bytes."""
        self._most = most
        self._size = 0
        self._threads: dict[ThreadKey, _Known] = {}
        # A store may serve the event loops of several threads.
        self._lock = Lock()

    @property
    def size(self) -> int:
        """How many stored bytes are remembered."""
        return self._size

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
        thread = self._threads.get(key, _NOTHING)
        place, first = _place(thread, rows, runs, skip=skip)
        known: list[KnownRow] = []
        done = 0
        if first is not None:
            known = [*thread.read[first : first + len(rows) - skip]]
            if thread.is_noted:
                known = own_rows(known)
            done = len(known) + skip
            if done == len(rows):
                return known, None
            before = rows[done - 1].seal
        news, bad = read_chain(rows[done:], vault, before, runs)
        known += news
        if bad is not None:
            return known, done + bad
        read = known
        if first is not None:
            rows, read = [*thread.rows[:place], *rows], [*thread.read[:first], *known]
        rows, read = rows[-_MOST_ROWS:], read[-_MOST_ROWS:]
        size = sum(len(row.data) for row in rows) + _size_of(thread.document)
        noted = any(one.message.metadata is not None for one in read)
        after = replace(thread, rows=rows, read=read, runs=runs, is_noted=noted, size=size)
        with self._lock:
            self._note(key, after)
        return known, None

    def history(
        self, key: ThreadKey, prefix: Prefix, rows: Sequence[KnownRow], counter: TokenCounter
    ) -> History:
        """Return the history of *rows* after *prefix*, which are of the thread *key*."""
        with self._lock:
            thread = self._threads.get(key, _NOTHING)
            window = thread.window
            size = 0 if window is None else len(window.rows)
            if window is None or window.prefix != prefix or window.rows != rows[:size]:
                history, size = History(counter=counter, prefix=prefix), 0
            elif size == len(rows):
                return window.history.copy()
            else:
                history = window.history
            extend_history(history, rows[size:])
            if thread is _NOTHING:
                return history
            messages = (prefix.user, *prefix.system, *[one.message for one in rows])
            is_own = any(one is not None and one.metadata is not None for one in messages)
            window = None if is_own else _Window(rows, prefix, history)
            self._note(key, replace(thread, window=window))
            return history if is_own else history.copy()

    def reduction(
        self, key: ThreadKey, stored: Document, read: Callable[[Document], object]
    ) -> object:
        """Return what *read* makes of the reduction *stored* of the thread *key*."""
        thread = self._threads.get(key, _NOTHING)
        if thread.document == stored:
            return thread.reduction
        found = read(stored)
        size = thread.size - _size_of(thread.document) + _size_of(stored)
        with self._lock:
            self._note(key, replace(thread, document=stored, reduction=found, size=size))
        return found

    def forget(self, key: ThreadKey) -> None:
        """Remember nothing of the thread *key*."""
        with self._lock:
            self._size -= self._threads.pop(key, _NOTHING).size

    def _note(self, key: ThreadKey, known: _Known) -> None:
        self._size += known.size - self._threads.pop(key, _NOTHING).size
        self._threads[key] = known
        while self._size > self._most:
            self._size -= self._threads.pop(next(iter(self._threads))).size


def _size_of(stored: Document | None) -> int:
    return 0 if stored is None else len(stored.data)


def _place(
    thread: _Known, rows: Sequence[StoredRow], runs: Runs | None, *, skip: bool
) -> tuple[int, int | None]:
    """Return where in *thread* the first of *rows* is, and where what is known of them begins."""
    if not rows or not thread.rows or thread.runs != runs:
        return 0, None
    place = rows[0].seq - thread.rows[0].seq
    first = place + skip - (len(thread.rows) - len(thread.read))
    same = thread.rows[max(0, place) : place + len(rows)]
    is_known = place >= 0 and first >= 0 and len(same) > skip and rows[: len(same)] == same
    return place, first if is_known else None
