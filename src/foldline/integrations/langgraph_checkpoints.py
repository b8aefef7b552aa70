"""A checkpointer of LangGraph in threads."""

import base64
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from threading import Lock
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, get_checkpoint_metadata
from langgraph.checkpoint.memory import InMemorySaver

from foldline.conversation.conversation import call_sync
from foldline.history.codec import decode_json
from foldline.history.formats.wire import json_text
from foldline.history.messages import Message
from foldline.history.parts import GenericPart
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.store import ThreadStore


__all__ = ["FoldlineSaver"]


_KIND = "langgraph"


class FoldlineSaver(BaseCheckpointSaver[str]):
    """
    Keeps what a graph writes as opaque rows of a thread, one for each call of LangGraph.

    Reading replays the rows that are new into a saver in memory, which answers; a thread that was
    deleted or made again elsewhere is noticed. It works from any loop and without one.
    """

    def __init__(
        self, store: ThreadStore, *, tenant: str = DEFAULT_TENANT, serde: Any = None
    ) -> None:
        """Keep checkpoints in *store*, which is open."""
        super().__init__(serde=serde)
        self._store, self._tenant = store, tenant
        self._replayed = InMemorySaver(serde=self.serde)
        self._seen: dict[str, tuple[datetime, int]] = {}
        self._lock = Lock()

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return a version that no other branch has: with integers a replay would change theirs."""
        return self._replayed.get_next_version(current, channel)

    def _key(self, thread_id: str) -> ThreadKey:
        return ThreadKey.named(thread_id, tenant=self._tenant)

    async def _read(self, thread_id: str) -> None:
        thread = await self._store.find(self._key(thread_id))
        made, seen = self._seen.get(thread_id, (None, 0))
        if thread is None or thread.created_at != made:
            self._replayed.delete_thread(thread_id)
            self._seen.pop(thread_id, None)
            seen = 0
        if thread is None:
            return
        count = thread.head.count
        rows = await thread.get_messages(last=count - seen) if count > seen else []
        with self._lock:
            for row in rows:
                self._replay(thread_id, row)
            self._seen[thread_id] = (thread.created_at, count)

    def _replay(self, thread_id: str, row: Message) -> None:
        call = _call(row)
        if call.get("value"):
            kind, data = call["value"]
            config, *given = self.serde.loads_typed((kind, base64.b64decode(data)))
            # A copied thread still has the id of its source in its rows.
            config["configurable"]["thread_id"] = thread_id
            getattr(self._replayed, call["call"])(config, *given)

    async def _write(self, call: str, config: RunnableConfig, *given: Any) -> None:
        held: Any = config.get("configurable", {})
        names = ("thread_id", "checkpoint_ns", "checkpoint_id")
        plain = {"configurable": {name: held[name] for name in names if name in held}}
        kind, data = self.serde.dumps_typed([plain, *given])
        value = [kind, base64.b64encode(data).decode()]
        thread = await self._store.thread(self._key(held["thread_id"]))
        await thread.append([_row(held["thread_id"], call=call, value=value)])

    async def aput(
        self, config: RunnableConfig, checkpoint: Any, metadata: Any, new_versions: Any
    ) -> RunnableConfig:
        """Keep a checkpoint, with the values of the channels that are new."""
        values = checkpoint["channel_values"]
        changed = {
            **checkpoint,
            "channel_values": {k: values[k] for k in new_versions if k in values},
        }
        whole = get_checkpoint_metadata(config, metadata)
        await self._write("put", config, changed, whole, dict(new_versions))
        held: Any = config.get("configurable", {})
        place = {"thread_id": held["thread_id"], "checkpoint_ns": held.get("checkpoint_ns", "")}
        return {"configurable": {**place, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[Any], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote."""
        await self._write("put_writes", config, list(writes), task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> Any:
        """Return the checkpoint that *config* names, or the newest one; None if there is none."""
        held: Any = config.get("configurable", {})
        await self._read(held["thread_id"])
        return self._replayed.get_tuple(config)

    async def alist(self, config: RunnableConfig | None, **wanted: Any) -> AsyncIterator[Any]:
        """Yield the checkpoints of a thread, or of all, the newest first."""
        for one in await self._listed(config, wanted):
            yield one

    async def _listed(self, config: RunnableConfig | None, wanted: dict[str, Any]) -> list[Any]:
        held: Any = None if config is None else config.get("configurable")
        if held is None:
            stored = [one async for one in self._store.threads(tenant=self._tenant)]
            newest = [row for one in stored for row in await one.get_messages(last=1)]
            ids = [call["thread"] for call in map(_call, newest) if call]
        else:
            ids = [held["thread_id"]]
        for thread_id in ids:
            await self._read(thread_id)
        return list(self._replayed.list(config, **wanted))

    async def aget_delta_channel_history(self, *, config: Any, channels: Sequence[str]) -> Any:
        """Return what was written to *channels* up to a checkpoint."""
        await self._read(config["configurable"]["thread_id"])
        return self._replayed.get_delta_channel_history(config=config, channels=channels)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread."""
        await self._store.delete(self._key(thread_id))
        await self._read(thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread in one commit; the target is replaced."""
        source, target = self._key(source_thread_id), self._key(target_thread_id)
        found = await self._store.find(source)
        await self._store.delete(target)
        if found is not None:
            await (await found.fork(target.id)).append([_row(target_thread_id)])

    def put(self, config: RunnableConfig, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Keep a checkpoint; see `aput`."""
        return call_sync(self.aput, config, checkpoint, metadata, new_versions)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[Any], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote."""
        call_sync(self.aput_writes, config, writes, task_id, task_path)

    def get_tuple(self, config: RunnableConfig) -> Any:
        """Return a checkpoint; see `aget_tuple`."""
        return call_sync(self.aget_tuple, config)

    def list(self, config: RunnableConfig | None, **wanted: Any) -> Iterator[Any]:
        """Yield checkpoints; see `alist`."""
        yield from call_sync(self._listed, config, wanted)

    def get_delta_channel_history(self, *, config: Any, channels: Sequence[str]) -> Any:
        """Return what was written to *channels* up to a checkpoint."""
        return call_sync(self.aget_delta_channel_history, config=config, channels=channels)

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread."""
        call_sync(self.adelete_thread, thread_id)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread; see `acopy_thread`."""
        call_sync(self.acopy_thread, source_thread_id, target_thread_id)


def _row(thread_id: str, **call: Any) -> Message:
    part = GenericPart(_KIND, json_text({"thread": thread_id, **call}), opaque=True)
    return Message(role="system", parts=(part,))


def _call(row: Message) -> dict[str, Any]:
    parts = (one.data for one in row.parts if isinstance(one, GenericPart) and one.kind == _KIND)
    return decode_json(next(parts, "{}"))
