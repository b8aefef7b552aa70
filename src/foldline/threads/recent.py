"""The newest rows and the documents of threads that a process reads again and again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.prefix import Prefix
from foldline.history.tokens import TokenCounter
from foldline.reduction.state import HistoryReductionState
from foldline.threads.cipher import Vault
from foldline.threads.key import ThreadKey
from foldline.threads.row import KnownRow, Runs, StoredRow, extend_history, read_chain


_Found = TypeVar("_Found")

MOST_THREADS: Final = 64
"""A thread is remembered if it is read again before so many others."""

MOST_BYTES: Final = 65_536
"""How many stored bytes of the rows of a thread are remembered, and of each of its documents."""


class _Checked(Struct, frozen=True):
    rows: Sequence[StoredRow] = ()
    # What all of the rows say but perhaps the first, and a window that was made of that.
    known: list[KnownRow] = []
    runs: Runs | None = None
    window: tuple[Prefix, Sequence[KnownRow], History] | None = None
    # The head and a document of each kind: its name and bytes, and what was found in it.
    opened: Mapping[str, tuple[tuple[str, bytes], object]] = {}


_READ_ONCE = _Checked()


class Recent:
    """
    What was checked of threads that were read a second time shortly after.

    It saves no reading: if the bytes that the storage returns are those that were checked, they are
    sound, and what they say is known.
    """

    def __init__(self) -> None:
        self._threads: dict[ThreadKey, _Checked] = {}

    def read_chain(
        self,
        key: ThreadKey,
        rows: Sequence[StoredRow],
        vault: Vault,
        before: bytes | None,
        runs: Runs | None,
    ) -> tuple[list[KnownRow], int | None]:
        """Return what `read_chain` returns for *rows*, the newest of the thread *key*."""
        checked, skip = self._threads.get(key), before is None
        if checked is None:
            if len(self._threads) >= MOST_THREADS:
                self._threads.clear()
            self._threads[key] = _READ_ONCE
            return read_chain(rows, vault, before, runs)
        known = _known(checked, rows, skip=skip) if checked.runs == runs else []
        done = len(known) + skip if known else 0
        if done == len(rows):
            return known, None
        news, bad = read_chain(rows[done:], vault, rows[done - 1].seal if done else before, runs)
        known += news
        if bad is not None:
            return known, done + bad
        size = sum(len(row.data) for row in rows)
        if size <= MOST_BYTES and not _have_metadata(one.message for one in news):
            self._threads[key] = replace(checked, rows=rows, known=known, runs=runs)
        return known, None

    def history(
        self, key: ThreadKey, prefix: Prefix, rows: Sequence[KnownRow], counter: TokenCounter
    ) -> History:
        """Return the history of *rows*, the newest of the thread *key*, after *prefix*."""
        checked = self._threads.get(key, _READ_ONCE)
        if checked.window is not None and checked.window[:2] == (prefix, rows):
            return checked.window[2].copy()
        history = extend_history(History(counter=counter, prefix=prefix), rows)
        front = filter(None, (prefix.user, *prefix.system))
        if rows and checked.known and rows[-1] is checked.known[-1] and not _have_metadata(front):
            self._threads[key] = replace(checked, window=(prefix, rows, history.copy()))
        return history

    def opened(
        self, key: ThreadKey, kind: str, stored: tuple[str, bytes], read: Callable[[], _Found]
    ) -> _Found:
        """Return what *read* finds in *stored*: immutable, and always of one type for a *kind*."""
        checked = self._threads.get(key)
        known = None if checked is None else checked.opened.get(kind)
        if known is not None and known[0] == stored:
            return cast("_Found", known[1])
        found = read()
        # A caller may change the metadata of a message in it.
        is_fixed = not isinstance(found, HistoryReductionState) or found.sealed_item is None
        if checked is not None and is_fixed and len(stored[1]) <= MOST_BYTES:
            opened = {**checked.opened, kind: (stored, found)}
            self._threads[key] = replace(checked, opened=opened)
        return found

    def forget(self, key: ThreadKey) -> None:
        """Remember nothing of the thread *key*."""
        self._threads.pop(key, None)


def _have_metadata(messages: Iterable[Message]) -> bool:
    # A caller may change it.
    return any(one.metadata is not None for one in messages)


def _known(checked: _Checked, rows: Sequence[StoredRow], *, skip: bool) -> list[KnownRow]:
    """Return what is known of the first of *rows*, after the one before if that is to *skip*."""
    if not checked.rows:
        return []
    place = rows[0].seq - checked.rows[0].seq
    first = place + skip - (len(checked.rows) - len(checked.known))
    same = checked.rows[max(0, place) : place + len(rows)]
    if place < 0 or first < 0 or rows[: len(same)] != same:
        return []
    return checked.known[first : first + len(same) - skip]
