"""The kept moments of threads, and how long they are kept."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from foldline.checks import expect
from foldline.errors import CheckpointError
from foldline.threads.arguments import check_count, check_moment, check_text
from foldline.threads.checkpoint import Checkpoint, decode_checkpoint
from foldline.threads.head import decode_head
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.moment import ThreadMoment
from foldline.threads.record import ThreadRecord, open_document
from foldline.threads.step import Document
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


__all__ = ["ThreadCheckpointer"]


_FIRST = 16
_GROWTH = 4


class ThreadCheckpointer:
    """
    Saves, finds and removes checkpoints of the threads in one store.

    Which ones are kept is an option of the store. With the last one alone, it is the execution
    state of the thread, and what asks for earlier ones raises `CheckpointError`.
    """

    def __init__(self, store: ThreadStore) -> None:
        """
        Work on the threads of *store*.

        Raises:
            ConfigError: *store* is no store.
        """
        expect("store", store, ThreadStore)
        self._store = store
        self._backing = store.backing

    @property
    def keeps_all(self) -> bool:
        """Whether every checkpoint is kept."""
        return self._backing.checkpoints == "full"

    async def save(self, thread: ConversationThread, state: AgentLoopState) -> None:
        """
        Save *state* as the execution state of *thread*, at the position where the thread is.

        Raises:
            ConfigError: An argument, or a field of *state*, is of another kind.
            CheckpointError: A number in *state* cannot be.
            ThreadConflictError: Somebody else has written in the meantime.
            StoreError: The store failed; nothing was written.
        """
        expect("thread", thread, ConversationThread)
        await thread.commit(execution=state)

    async def load(
        self, thread_id: str, *, tenant: str = DEFAULT_TENANT
    ) -> ConversationThread | None:
        """Return the thread with its newest checkpoint, or None where there is no such thread."""
        return await self._store.find(thread_id, tenant=tenant)

    async def load_at(
        self, thread_id: str, checkpoint_id: str, *, tenant: str = DEFAULT_TENANT
    ) -> ThreadMoment | None:
        """
        Return the thread as it was at a checkpoint, to be read; None where there is none.

        Its messages, its state and its reduction are those of that moment; name, metadata and expiry
        are those of now.

        Its `fork` goes on from there in a new thread, whatever has become of this one.
        `ConversationThread.rewind`, given its `length`, goes back to it only where the thread still
        begins with its messages, and keeps system messages said right behind them.

        The root is the beginning of the history, and no moment of a thread.

        Raises:
            CheckpointError: The store keeps the last checkpoint alone.
            ConfigError: *checkpoint_id* is no text.
        """
        self._need_all("load_at")
        check_text("checkpoint_id", checkpoint_id)
        thread = await self._store.find(thread_id, tenant=tenant)
        if thread is None:
            return None
        async for stored in self._newest(thread.key, _FIRST):
            if stored.name <= checkpoint_id:
                found = self._read(thread.key, stored)
                is_it = found.id == checkpoint_id and bool(found.head)
                return self._moment(thread, found) if is_it else None
        return None

    def _moment(self, thread: ConversationThread, checkpoint: Checkpoint) -> ThreadMoment:
        state = checkpoint.execution_state()
        record = ThreadRecord(
            key=thread.key,
            head=replace(decode_head(checkpoint.head), expires_at=thread.expires_at),
            display_name=thread.display_name,
            metadata=thread.metadata,
            execution=state,
            reduction=None if state is None else state.active_reduction,
        )
        return ThreadMoment(self._backing, record, seen=thread.head)

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
            before: The moment that they must be older than.

        Raises:
            CheckpointError: The store keeps the last checkpoint alone.
            ConfigError: *limit* is below 0 or no whole number, or *before* has no time zone.
        """
        self._need_all("history")
        check_count("limit", 0 if limit is None else limit)
        check_moment("before", before)
        thread = await self._store.find(thread_id, tenant=tenant)
        known: list[Checkpoint] = []
        if thread is None or limit == 0:
            return known
        async for stored in self._newest(thread.key, limit):
            one = self._read(thread.key, stored)
            if before is None or one.created_at < before:
                known.append(one)
            if len(known) == limit:
                break
        return known

    async def prune(
        self, thread_id: str, *, tenant: str = DEFAULT_TENANT, keep_latest: int = 10
    ) -> int:
        """
        Remove all but the newest *keep_latest* checkpoints of a thread; return how many went.

        Where the last one alone is kept there is nothing to remove.

        Raises:
            ConfigError: *keep_latest* is below 0, or no whole number.
            ThreadConflictError: Somebody else has written in the meantime.
        """
        check_count("keep_latest", keep_latest)
        thread = await self._store.find(thread_id, tenant=tenant)
        if thread is None:
            return 0
        stored = await self._stored(thread.key)
        return await _remove(thread, stored[keep_latest:])

    async def delete_older_than(self, cutoff: datetime, *, tenant: str = DEFAULT_TENANT) -> int:
        """
        Remove the checkpoints made before *cutoff*, of every thread; return how many went.

        The messages and the execution state of a thread stay.

        Raises:
            ConfigError: *cutoff* is no time, or has no time zone.
            ThreadConflictError: Somebody else has written in the meantime.
        """
        check_moment("cutoff", cutoff, is_needed=True)
        removed = 0
        async for thread in self._store.threads(tenant=tenant):
            if thread.created_at >= cutoff:
                # No checkpoint is older than its thread.
                continue
            stored = await self._stored(thread.key)
            old = [one for one in stored if self._read(thread.key, one).created_at < cutoff]
            removed += await _remove(thread, old)
        return removed

    async def delete_inactive(
        self, threshold: timedelta, *, tenant: str = DEFAULT_TENANT, dry_run: bool = False
    ) -> int:
        """
        Delete the threads that nobody has written to for *threshold*; return how many.

        Args:
            threshold: How long.
            tenant: Whose threads.
            dry_run: Whether they are only counted.
        """
        return await self._store.delete_inactive(threshold, tenant=tenant, dry_run=dry_run)

    async def list_ids(self, *, tenant: str = DEFAULT_TENANT) -> list[str]:
        """Return the ids of all threads of *tenant*, in order."""
        return [thread.id async for thread in self._store.threads(tenant=tenant)]

    async def _stored(self, key: ThreadKey) -> list[Document]:
        return await self._backing.storage.documents(key, "checkpoint")

    async def _newest(self, key: ThreadKey, limit: int | None) -> AsyncIterator[Document]:
        """
        Give the checkpoints of a thread, the newest first; *limit* are asked for, then ever more.
        """
        last: str | None = None
        while True:
            page = await self._backing.storage.documents(key, "checkpoint", limit=limit)
            for stored in page:
                # Others may have saved or pruned between two pages, so names tell what is new.
                if last is None or stored.name < last:
                    last = stored.name
                    yield stored
            if limit is None or len(page) < limit:
                return
            limit *= _GROWTH

    def _read(self, key: ThreadKey, stored: Document) -> Checkpoint:
        return decode_checkpoint(open_document(self._backing.vault, key, stored))

    def _need_all(self, name: str) -> None:
        if not self.keeps_all:
            message = (
                f"{name} is not supported where the last checkpoint alone is kept: it requires "
                "a store with checkpoints='full'"
            )
            raise CheckpointError(message)


async def _remove(thread: ConversationThread, stored: Sequence[Document]) -> int:
    if stored:
        await thread.forget_checkpoints([one.name for one in stored])
    return len(stored)
