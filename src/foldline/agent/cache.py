"""Reductions for callers who store nothing."""

from bisect import bisect_right, insort
from collections import OrderedDict
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from foldline.checks import expect_whole
from foldline.history.history import History
from foldline.reduction.state import HistoryReductionState, hash_of


if TYPE_CHECKING:
    import asyncio


class SingleFlight:
    """Lets one task of a loop at a time work on each key; the others wait for it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[
            tuple[asyncio.AbstractEventLoop, Hashable], asyncio.Lock
        ] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def alone(self, key: Hashable) -> AsyncGenerator[None, None]:
        """Wait until no other task of this loop works on *key*, and keep others out meanwhile."""
        import asyncio  # noqa: PLC0415 - most of an import, and for a fold alone

        place = (asyncio.get_running_loop(), key)
        lock = self._locks.get(place)
        if lock is None:
            lock = self._locks.setdefault(place, asyncio.Lock())
        async with lock:
            yield


class ReductionCache:
    """
    A bounded store of reductions that recognizes a growing conversation by its prefix.

    Callers who send the whole history each time and keep no state still get hits: the cache finds the
    longest reduction whose digest is that of a prefix of the history. One cache can serve any number
    of conversations, threads and event loops. Give each tenant its own *scope*: scopes never share
    a reduction.
    """

    def __init__(self, *, max_entries: int = 1024) -> None:
        """
        Keep at most *max_entries* reductions; the least recently used is dropped first.

        Raises:
            ConfigError: *max_entries* is not a whole number of at least 1.
        """
        expect_whole("max_entries", max_entries, 1)
        self._max_entries = max_entries
        self._entries: OrderedDict[tuple[str, str, str], HistoryReductionState] = OrderedDict()
        self._indexes: dict[tuple[str, str], list[int]] = {}
        self._lock = Lock()
        self.folds = SingleFlight()
        """Makes a fold wait while the same one is being made."""

    def __len__(self) -> int:
        return len(self._entries)

    def find(
        self, history: History, *, config_fingerprint: str, scope: str = "", recall: bool = False
    ) -> HistoryReductionState | None:
        """
        Return the longest reduction that covers a prefix of *history*, or None.

        One whose notes name the tool `recall` is found only with *recall*, and no other is then.
        """
        made = _made(config_fingerprint, recall=recall)
        with self._lock:
            indexes = self._indexes.get((scope, made), [])
            last = -1
            for index in reversed(indexes[: bisect_right(indexes, len(history))]):
                if index == last:
                    continue
                last = index
                key = (scope, made, hash_of(history, index))
                state = self._entries.get(key)
                if state is not None:
                    self._entries.move_to_end(key)
                    return state
        return None

    def states(self, scope: str) -> list[HistoryReductionState]:
        """Return the reductions of *scope*."""
        with self._lock:
            return [state for key, state in self._entries.items() if key[0] == scope]

    def put(self, state: HistoryReductionState, *, scope: str = "", recall: bool = False) -> None:
        """Keep *state*, made for a model that has *recall* or not, in place of one of that prefix."""
        index, digest = state.covered
        key = (scope, _made(state.config_fingerprint, recall=recall), digest)
        with self._lock:
            if key not in self._entries:
                insort(self._indexes.setdefault(key[:2], []), index)
            self._entries[key] = state
            self._entries.move_to_end(key)
            while len(self._entries) > self._max_entries:
                self._drop(next(iter(self._entries)))

    def forget(self, state: HistoryReductionState, *, scope: str = "") -> None:
        """Drop *state*, if it is kept."""
        with self._lock:
            for recall in (False, True):
                key = (scope, _made(state.config_fingerprint, recall=recall), state.covered[1])
                if key in self._entries:
                    self._drop(key)

    def _drop(self, key: tuple[str, str, str]) -> None:
        indexes = self._indexes[key[:2]]
        indexes.remove(self._entries.pop(key).covered[0])
        if not indexes:
            del self._indexes[key[:2]]

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._entries.clear()
            self._indexes.clear()


def _made(config_fingerprint: str, *, recall: bool) -> str:
    return f"{config_fingerprint}+recall" if recall else config_fingerprint
