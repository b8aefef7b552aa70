"""How a checkpointer of LangGraph reads threads."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    CheckpointTuple,
    writes_sort_key,
)

from foldline.agent.cache import SingleFlight
from foldline.checks import expect
from foldline.guests import blocking
from foldline.integrations.langgraph_index import RowIndex, RowIndexes
from foldline.integrations.langgraph_rows import NAME_KEY, read_rows
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


class CheckpointReader(BaseCheckpointSaver[str]):
    """Reads a checkpoint with the rows that have its values and its writes, and no others."""

    def __init__(
        self, store: ThreadStore, *, tenant: str = DEFAULT_TENANT, serde: Any = None
    ) -> None:
        expect("store", store, ThreadStore)
        super().__init__(serde=serde)
        self._store, self._tenant, self._indexes = store, tenant, RowIndexes()
        # LangGraph writes all tasks of a step at once; without it they would conflict.
        self._writing = SingleFlight()

    def _key(self, thread_id: str) -> ThreadKey:
        return ThreadKey.named(thread_id, tenant=self._tenant)

    @staticmethod
    def _config(name: object, ns: str, id: str) -> Any:
        return {"configurable": {"thread_id": name, "checkpoint_ns": ns, "checkpoint_id": id}}

    async def _threads(self, names: Sequence[str] | None) -> list[ConversationThread]:
        """Return the threads of those names; those of all graphs for None."""
        if names is not None:
            found = [await self._store.find(self._key(name)) for name in names]
            return [one for one in found if one is not None]
        stored = [one async for one in self._store.threads(tenant=self._tenant)]
        # A copy that was cut off has the name of its source.
        return [one for one in stored if self._key(str(one.metadata.get(NAME_KEY))) == one.key]

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that *config* names, or the newest one; None if there is none."""
        held: Any = config.get("configurable", {})
        thread = await self._store.find(self._key(held["thread_id"]))
        if thread is None:
            return None
        index, ns = await self._indexes.of(thread), held.get("checkpoint_ns", "")
        number = await index.find(thread, ns, held.get("checkpoint_id"))
        return None if number is None else await self._tuple(thread, index, number)

    async def _tuple(
        self, thread: ConversationThread, index: RowIndex, own: int
    ) -> CheckpointTuple:
        place, name = index.rows[own], thread.metadata[NAME_KEY]
        beside = index.writes(place)
        wanted = [own, *beside, *(to for _, to in place.at.values())]
        if max(wanted) >= thread.count:
            # Another task has indexed what was written since this one loaded the thread.
            await thread.refresh()
        rows = await read_rows(thread, wanted)
        checkpoint, metadata = self.serde.loads_typed(rows[own].value)
        checkpoint["channel_values"] = {
            channel: self.serde.loads_typed(rows[to].own[channel][1])
            for channel, (_, to) in place.at.items()
        }
        return CheckpointTuple(
            self._config(name, place.ns, place.id),
            checkpoint,
            metadata,
            None if place.parent is None else self._config(name, place.ns, place.parent),
            _pending([self.serde.loads_typed(rows[at].value) for at in beside]),
        )

    async def alist(self, config: RunnableConfig | None, **wanted: Any) -> AsyncIterator[Any]:
        """Yield the checkpoints of a thread, or of all, the newest of each thread first."""
        for one in await self._listed(config, **wanted):
            yield one

    async def _listed(
        self, config: RunnableConfig | None, *, limit: int | None = None, **wanted: Any
    ) -> list[CheckpointTuple]:
        held: Any = (config or {}).get("configurable", {})
        found: list[CheckpointTuple] = []
        for thread in await self._threads([held["thread_id"]] if held else None):
            index = await self._indexes.of(thread)
            for number in await index.listed(thread, held, wanted.get("before")):
                if len(found) == limit:
                    return found
                one = await self._tuple(thread, index, number)
                if (wanted.get("filter") or {}).items() <= one.metadata.items():
                    found.append(one)
        return found

    get_tuple = blocking(aget_tuple)
    """Return a checkpoint."""
    _list = blocking(_listed)

    def list(self, config: RunnableConfig | None, **wanted: Any) -> Iterator[Any]:
        """Yield checkpoints; see `alist`."""
        yield from self._list(config, **wanted)


def _pending(calls: Iterable[tuple[Sequence[tuple[str, Any]], str, str]]) -> list[Any]:
    """Return the writes of tasks: of what a task wrote twice the first, of its errors the last."""
    found: dict[tuple[str, int], tuple[str, str, Any]] = {}
    for writes, task, path in calls:
        for at, (channel, value) in enumerate(writes):
            place = task, WRITES_IDX_MAP.get(channel, at)
            if place[1] < 0 or place not in found:
                found[place] = path, channel, value
    order = sorted(found, key=lambda place: writes_sort_key(found[place][0], *place))
    return [(place[0], *found[place][1:]) for place in order]
