"""A checkpointer of LangGraph in threads."""

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import get_checkpoint_metadata
from langgraph.checkpoint.memory import InMemorySaver

from foldline.guests import blocking
from foldline.integrations.langgraph_reading import CheckpointReader
from foldline.integrations.langgraph_rows import NAME_KEY, Row, append, rewrite


class FoldlineSaver(CheckpointReader):
    """Keeps each call of LangGraph as an opaque row of a thread; it works with a loop or without."""

    get_next_version = InMemorySaver.get_next_version
    """A version that no other branch has: with integers one branch would change values of another."""

    async def aput(
        self, config: RunnableConfig, checkpoint: Any, metadata: Any, new_versions: Any
    ) -> RunnableConfig:
        """Keep a checkpoint, with the values of the channels that are new."""
        held: Any = config.get("configurable", {})
        async with self._writing.alone(self._key(held["thread_id"])):
            return await self._put(config, held, checkpoint, metadata, new_versions)

    async def _put(
        self, config: RunnableConfig, held: Any, checkpoint: Any, metadata: Any, new_versions: Any
    ) -> RunnableConfig:
        ns, parent = held.get("checkpoint_ns", ""), held.get("checkpoint_id")
        thread = await self._store.thread(self._key(held["thread_id"]))
        index = await self._indexes.of(thread)
        before = None if parent is None else await index.find(thread, ns, parent)
        old = {} if before is None else index.rows[before].at
        versions, whole = checkpoint["channel_versions"], get_checkpoint_metadata(config, metadata)
        at = {
            name: (version, number)
            for name, (version, number) in old.items()
            if name not in new_versions and versions.get(name) == version
        }
        values = {k: v for k, v in checkpoint["channel_values"].items() if k not in at}
        row = Row(
            call="put",
            ns=ns,
            id=checkpoint["id"],
            parent=parent,
            run=whole.get("run_id"),
            at=at,
            own={k: (versions.get(k, 0), self.serde.dumps_typed(v)) for k, v in values.items()},
            value=self.serde.dumps_typed([{**checkpoint, "channel_values": {}}, whole]),
        )
        await append(thread, row, held["thread_id"])
        return self._config(held["thread_id"], row.ns, row.id)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[Any], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote."""
        held: Any = config.get("configurable", {})
        value = self.serde.dumps_typed([list(writes), task_id, task_path])
        ns = held.get("checkpoint_ns", "")
        row = Row(call="writes", ns=ns, id=held["checkpoint_id"], value=value)
        key = self._key(held["thread_id"])
        async with self._writing.alone(key):
            await append(await self._store.thread(key), row, held["thread_id"])

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread."""
        await self._store.delete(self._key(thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread, without reading it; the target is replaced."""
        await self.adelete_thread(target_thread_id)
        for source in await self._threads([source_thread_id]):
            copy = await source.fork(self._key(target_thread_id).id)
            await copy.set_metadata({NAME_KEY: target_thread_id})

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints of threads, or all but the newest of each namespace."""
        for thread in await self._threads(thread_ids):
            if strategy == "delete" or not await rewrite(thread, self._newest):
                await self._store.delete(thread.key)

    def _newest(self, rows: Sequence[Row]) -> set[tuple[str, str]]:
        """Return the newest checkpoints, and before each those whose writes it is made of."""
        puts = {(row.ns, row.id): row for row in rows if row.call == "put"}
        kept: set[tuple[str, str]] = set()
        for newest in {row.ns: row for row in puts.values()}.values():
            _, metadata = self.serde.loads_typed(newest.value)
            lacking = set(metadata.get("counters_since_delta_snapshot") or ())
            one: Row | None = newest
            while one is not None:
                kept.add((one.ns, one.id))
                lacking -= {*one.at, *one.own}
                one = puts.get((one.ns, one.parent or "")) if lacking else None
        return kept

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of runs, in every thread."""

        def others(rows: Sequence[Row]) -> set[tuple[str, str]]:
            """Return the checkpoints of other runs."""
            return {
                (one.ns, one.id) for one in rows if one.call == "put" and one.run not in run_ids
            }

        for thread in await self._threads(None):
            if not await rewrite(thread, others):
                await self._store.delete(thread.key)

    put = blocking(aput)
    """Keep a checkpoint."""
    put_writes = blocking(aput_writes)
    """Keep what a task wrote."""
    delete_thread = blocking(adelete_thread)
    """Delete everything of a thread."""
    copy_thread = blocking(acopy_thread)
    """Copy a thread."""
    prune = blocking(aprune)
    """Delete checkpoints."""
    delete_for_runs = blocking(adelete_for_runs)
    """Delete the checkpoints of runs."""
