"""Where in a thread the checkpoints of LangGraph are."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from foldline.integrations.langgraph_rows import Row, read_range
from foldline.threads.key import ThreadKey
from foldline.threads.read_only import ReadOnlyThread


_PAGE = 32
"""How many rows are read at once on the way back."""

_MOST_ROWS = 10_000
"""How many rows are indexed; more of one thread only as long as no other is asked for."""


class RowIndex:
    """The rows of one epoch of a thread without values, from the newest back to what was asked for."""

    def __init__(self, thread: ReadOnlyThread) -> None:
        self.epoch = thread.head.epoch
        self.rows: dict[int, Row] = {}
        self._low = self._high = thread.count
        self._puts: dict[tuple[str, str | None], int] = {}
        self._writes: dict[tuple[str, str], list[int]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.rows)

    def _add(self, start: int, rows: Sequence[Row]) -> None:
        """Add what was read from *start* on, unless another task has done it in the meantime."""
        with self._lock:
            if start != self._high and start + len(rows) != self._low:
                return
            for number, row in enumerate(rows, start):
                self.rows[number] = row.indexed(number)
                if row.call == "writes":
                    self._writes.setdefault((row.ns, row.id), []).append(number)
                for id in (row.id, None) if row.call == "put" else ():
                    self._puts[row.ns, id] = max(number, self._puts.get((row.ns, id), 0))
            self._low = min(self._low, start)
            self._high = max(self._high, start + len(rows))

    async def reach(self, thread: ReadOnlyThread) -> None:
        """Read what was appended, again from where another task has come to in the meantime."""
        while (start := self._high) < thread.count:
            self._add(start, await read_range(thread, start, thread.count))

    async def _back(self, thread: ReadOnlyThread) -> bool:
        stop = self._low
        start = max(0, stop - _PAGE)
        self._add(start, await read_range(thread, start, stop))
        return stop > 0

    async def find(self, thread: ReadOnlyThread, ns: str, id: str | None) -> int | None:
        """Return the newest row that put the checkpoint *id*, or any of *ns*; None if none did."""
        place = ns, id or None
        while place not in self._puts and await self._back(thread):
            pass
        return self._puts.get(place)

    def writes(self, row: Row) -> list[int]:
        """Return the rows of the writes of a checkpoint, which are after that of itself."""
        return sorted(self._writes.get((row.ns, row.id), ()))

    async def listed(
        self, thread: ReadOnlyThread, held: Mapping[str, Any], before: Mapping[str, Any] | None
    ) -> list[int]:
        """Return the rows of the checkpoints that *held* allows, the newest first."""
        while await self._back(thread):
            pass
        end = (before or {}).get("configurable", {}).get("checkpoint_id")
        ns, only = held.get("checkpoint_ns"), held.get("checkpoint_id")
        found = [
            (id, number)
            for (of, id), number in self._puts.items()
            if id is not None and ns in {None, of} and only in {None, "", id}
        ]
        return [number for id, number in sorted(found, reverse=True) if not end or id < end]


class RowIndexes:
    """The indexes of some threads; the least recently used go first."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[ThreadKey, RowIndex] = OrderedDict()
        self._lock = Lock()

    async def of(self, thread: ReadOnlyThread) -> RowIndex:
        """Return the index of *thread* as it is."""
        with self._lock:
            index = self._indexes.get(thread.key)
            if index is None or index.epoch != thread.head.epoch:
                index = self._indexes[thread.key] = RowIndex(thread)
            self._indexes.move_to_end(thread.key)
            while len(self._indexes) > 1 and sum(map(len, self._indexes.values())) > _MOST_ROWS:
                self._indexes.popitem(last=False)
        await index.reach(thread)
        return index
