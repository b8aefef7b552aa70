"""The checkpoints of threads: saved, listed, read and removed."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from msgspec.structs import replace

from foldline.checks import expect, expect_whole
from foldline.errors import CheckpointError, ThreadConflictError, ThreadNotFoundError
from foldline.threads.change import Change, DocumentKind, expect_moment
from foldline.threads.head import ThreadRecord, content_of, decode_head
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.loop_state import AgentLoopState, Checkpoint
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread, ThreadMoment


class ThreadCheckpointer:
    """
    Saves, finds and removes checkpoints of the threads in one store.

    Which ones are kept is an option of the store. If only the last one is, it is the execution state
    of the thread, and asking for earlier ones raises `CheckpointError`.
    """

    def __init__(self, store: ThreadStore) -> None:
        expect("store", store, ThreadStore)
        self._store = store
        self._context = store.context

    async def save(self, thread: ConversationThread, state: AgentLoopState) -> None:
        """
        Save *state* as the execution state of *thread*, at the position where the thread is.

        Raises:
            ConfigError: An argument, or a field of *state*, is of another type.
            CheckpointError: A number in *state* is invalid.
            ThreadConflictError: Somebody else has written in the meantime.
            StoreError: The store failed; nothing was written.
        """
        expect("thread", thread, ConversationThread)
        await thread.commit(Change(execution=state))

    async def load(
        self, thread_id: str, *, tenant: str = DEFAULT_TENANT
    ) -> ConversationThread | None:
        """Return the thread with its newest checkpoint, or None if there is no such thread."""
        return await self._store.find(thread_id, tenant=tenant)

    async def load_at(
        self, thread_id: str, checkpoint_id: str, *, tenant: str = DEFAULT_TENANT
    ) -> ThreadMoment | None:
        """
        Return the thread as it was at a checkpoint, to be read; None if there is no such checkpoint.

        Its messages, state and reduction are those of that moment; its name, metadata and expiry are
        the current ones. Its `fork` continues from there in a new thread, also if this one was
        rewound or edited since. `ConversationThread.rewind`, given its `head.length`, returns to it
        only if the thread still begins with its messages, and keeps system messages right after them.

        The root is the beginning of the history, and no moment of a thread.

        Raises:
            CheckpointError: The store keeps only the last checkpoint.
        """
        self._need_all("load_at")
        expect("checkpoint_id", checkpoint_id, str)
        thread = await self._store.find(thread_id, tenant=tenant)
        # Some databases do not take every string.
        if thread is None or not checkpoint_id.isascii():
            return None
        key = thread.key
        stored = await self._context.storage.document(key, "checkpoint", checkpoint_id)
        if stored is None:
            return None
        checkpoint = content_of(self._context.vault, key, stored, Checkpoint)
        if not checkpoint.head:
            return None
        state = checkpoint.execution_state()
        record = ThreadRecord(
            key=key,
            head=replace(decode_head(checkpoint.head), expires_at=thread.head.expires_at),
            display_name=thread.display_name,
            metadata=thread.metadata,
            execution=state,
            reduction=None if state is None else state.active_reduction,
        )
        return ThreadMoment(self._context, record, seen=thread.head)

    async def history(
        self,
        thread_id: str,
        *,
        tenant: str = DEFAULT_TENANT,
        limit: int | None = None,
        before: datetime | None = None,
    ) -> list[Checkpoint]:
        """
        Return the checkpoints of a thread, the newest first, the root last.

        Args:
            thread_id: The thread.
            tenant: Its owner.
            limit: How many at most, of those made before *before*.
            before: The time before which they were made.

        Raises:
            CheckpointError: The store keeps only the last checkpoint.
            ConfigError: *limit* is below 0, or *before* has no time zone.
        """
        self._need_all("history")
        expect_whole("limit", limit, 0, optional=True)
        if before is not None:
            expect_moment("before", before)
        thread = await self._store.find(thread_id, tenant=tenant)
        if thread is None:
            return []
        # How many come after *before* is unknown, so all are read.
        known = await self._newest(thread.key, limit if before is None else None)
        return [one for one in known if before is None or one.created_at < before][:limit]

    async def prune(
        self, thread_id: str, *, tenant: str = DEFAULT_TENANT, keep_latest: int = 10
    ) -> int:
        """
        Remove all but the newest *keep_latest* checkpoints of a thread; return how many went.

        Messages that a rewind or an edit has replaced, and that none of the others needs, are deleted
        too. The last modification time of the thread stays.

        Raises:
            ConfigError: *keep_latest* is below 0.
        """
        expect_whole("keep_latest", keep_latest, 0)
        thread = await self._store.find(thread_id, tenant=tenant)
        if thread is None:
            return 0
        return await self._removed(thread, lambda place, _: place < keep_latest)

    async def delete_older_than(self, cutoff: datetime, *, tenant: str = DEFAULT_TENANT) -> int:
        """
        Remove the checkpoints made before *cutoff*, of every thread; return how many went.

        The messages and the execution state of a thread stay; replaced messages that no other
        checkpoint needs are deleted.

        Raises:
            ConfigError: *cutoff* has no time zone.
        """
        expect_moment("cutoff", cutoff)
        removed = 0
        async for thread in self._store.threads(tenant=tenant):
            if thread.created_at >= cutoff:
                # No checkpoint is older than its thread.
                continue
            removed += await self._removed(thread, lambda _, one: one.created_at >= cutoff)
        return removed

    async def _removed(
        self, thread: ConversationThread, is_kept: Callable[[int, Checkpoint], bool]
    ) -> int:
        """Remove all but those that are kept, by their place from the newest; return how many."""
        with suppress(ThreadNotFoundError):
            while True:
                known = await self._newest(thread.key)
                kept = [one for place, one in enumerate(known) if is_kept(place, one)]
                gone = [one for place, one in enumerate(known) if not is_kept(place, one)]
                try:
                    return await _drop(thread, gone, kept)
                except ThreadConflictError:
                    # Somebody has written: a turn that runs on it is no reason to stop.
                    await thread.refresh()
        return 0

    async def _newest(self, key: ThreadKey, limit: int | None = None) -> list[Checkpoint]:
        stored = await self._context.storage.documents(key, "checkpoint", limit=limit)
        return [content_of(self._context.vault, key, one, Checkpoint) for one in stored]

    def _need_all(self, name: str) -> None:
        if self._context.checkpoints != "full":
            need = f"{name} needs a store with checkpoints='full'"
            raise CheckpointError(f"{need}: this one keeps only the newest checkpoint")


async def _drop(thread: ConversationThread, gone: list[Checkpoint], kept: list[Checkpoint]) -> int:
    """Remove the checkpoints *gone*, and the replaced rows that none of *kept* needs."""
    if gone or thread.head.rewinds != 0:
        keeps = {decode_head(one.head).epoch for one in kept if one.head}
        drop: list[tuple[DocumentKind, str | None]] = [("checkpoint", one.id) for one in gone]
        await thread.commit(Change(drop=drop, keeps=sorted(keeps)))
    return len(gone)
