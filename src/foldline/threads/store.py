"""What is offered over every storage: threads by their names."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Self

from foldline.errors import (
    ConfigError,
    StoreCorruptError,
    StoreError,
    StoreVersionError,
    ThreadConflictError,
    ThreadExistsError,
)
from foldline.history.tokens import TokenCounter, TokenEstimator
from foldline.threads.arguments import check_ttl
from foldline.threads.backing import Backing, now_utc
from foldline.threads.change import Planned
from foldline.threads.checkpoint import CheckpointRetention
from foldline.threads.cipher import Cipher, Vault
from foldline.threads.commitment import carry_out
from foldline.threads.expiry import delete_expired, is_expired, make_room
from foldline.threads.key import DEFAULT_TENANT, ThreadKey, check_tenant
from foldline.threads.origin import plan_new, plan_restore
from foldline.threads.paging import stored_threads
from foldline.threads.record import ThreadRecord, decode_record
from foldline.threads.snapshot import decode_snapshot
from foldline.threads.step import StoredThread
from foldline.threads.storage import SteadyStorage, ThreadStorage
from foldline.threads.thread import ConversationThread


__all__ = ["ThreadStore"]


_LOG = logging.getLogger("foldline")

_ATTEMPTS = 10


class ThreadStore:
    """
    Threads by their names, over any storage.

    Use it as an asynchronous context manager. It holds no thread: two tasks that ask for the same
    thread get two objects, and of two that write at once one gets a `ThreadConflictError`.
    """

    def __init__(
        self,
        storage: ThreadStorage,
        *,
        counter: TokenCounter | None = None,
        cipher: Cipher | None = None,
        checkpoints: CheckpointRetention = "latest",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """
        Keep threads in *storage*.

        Args:
            storage: Where the bytes lie.
            counter: What counts tokens; an estimator where none is given. A message is counted once
                in its life, so all programs that write to one store should use the same.
            cipher: What encrypts messages, summaries, states and metadata; ids, times and sizes
                stay readable.
            checkpoints: Whether the last checkpoint alone is kept, or every one.
            clock: What tells the time, with a time zone.

        Raises:
            ConfigError: An argument is not allowed.
        """
        _check_parts(storage, cipher)
        if checkpoints not in {"latest", "full"}:
            message = f"checkpoints={checkpoints!r}: allowed are latest, full"
            raise ConfigError(message)
        self._backing = Backing(
            storage=storage,
            counter=counter or TokenEstimator(),
            vault=Vault(cipher),
            clock=now_utc if clock is None else partial(_in_utc, clock),
            checkpoints=checkpoints,
            ends_commits=isinstance(storage, SteadyStorage) and storage.ends_commits,
        )

    @property
    def backing(self) -> Backing:
        """What the threads of this store have in common."""
        return self._backing

    async def open(self) -> Self:
        """
        Get ready, as entering the context does.

        Raises:
            StoreError: The storage cannot be opened.
            StoreKeyError: What it holds was written with another key, or without one.
        """
        await self._backing.storage.open()
        try:
            await self._check_key()
        except BaseException:
            await self.close()
            raise
        return self

    async def _check_key(self) -> None:
        """See that what is stored can be read with our key, before anything is stored beside it."""
        # Damage and newer formats are told of where somebody asks for what they are in.
        with suppress(StoreCorruptError, StoreVersionError):
            for tenant in (await self.tenants())[:1]:
                for stored in await self._backing.storage.threads(tenant, limit=1):
                    decode_record(stored, self._backing.vault)

    async def close(self) -> None:
        """Release everything, as leaving the context does."""
        await self._backing.storage.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def thread(
        self, thread_id: str, *, tenant: str = DEFAULT_TENANT, ttl: timedelta | None = None
    ) -> ConversationThread:
        """
        Return the thread of that id, made if there is none.

        Args:
            thread_id: The id within the tenant: 1 to 200 of letters, digits and `. _ : -`.
            tenant: The owner.
            ttl: How long a thread that is made lives; None for ever. It changes nothing of one
                that is there.

        Raises:
            ConfigError: *ttl* is no span above zero, or its end has no date.
            ThreadIdError: The id or the tenant has characters that are not allowed.
            StoreCorruptError: The stored thread is damaged.
        """
        key = ThreadKey(tenant, thread_id)
        check_ttl(ttl, clock=self._backing.clock)
        for _ in range(_ATTEMPTS):
            found = await self._find(key)
            if found is not None:
                return found
            try:
                return await self._make(key, ttl)
            except ThreadConflictError:
                # Somebody else has made it in the meantime, or one that has expired is there.
                await make_room(self._backing, key)
        message = f"thread {thread_id!r} is made and deleted all the time"
        raise StoreError(message)

    async def find(
        self, thread_id: str, *, tenant: str = DEFAULT_TENANT
    ) -> ConversationThread | None:
        """
        Return the thread of that id, or None where there is none.

        Raises:
            ThreadIdError: The id or the tenant has characters that are not allowed.
            StoreCorruptError: The stored thread is damaged.
        """
        return await self._find(ThreadKey(tenant, thread_id))

    async def restore(
        self, data: bytes | str, *, thread_id: str | None = None, tenant: str = DEFAULT_TENANT
    ) -> ConversationThread:
        """
        Make a thread of a snapshot, in one commit, and return it.

        A reduction that does not stand for the messages of the snapshot is left out, and so is what
        a vendor holds of the thread; an open run behind which somebody has spoken is ended. What an
        earlier reduction alone had archived is in the working history again.

        Args:
            data: What `ConversationThread.to_snapshot` wrote.
            thread_id: The id of the new thread; that of the snapshot by default.
            tenant: Its owner.

        Raises:
            FormatError: *data* is not a snapshot.
            StoreVersionError: It was written by a newer foldline.
            CheckpointStaleError: Its execution state belongs to more messages than it holds.
            CheckpointError: A number in that state cannot be.
            ThreadIdError: The id has characters that are not allowed.
            ThreadExistsError: There is a thread of that id.
        """
        snapshot = decode_snapshot(data)
        key = ThreadKey(tenant, snapshot.id if thread_id is None else thread_id)
        planned = plan_restore(self._backing, key, snapshot)
        await make_room(self._backing, key)
        try:
            return await self._new(planned)
        except ThreadConflictError:
            raise ThreadExistsError(thread_id=key.id) from None

    async def _find(self, key: ThreadKey) -> ConversationThread | None:
        stored = await self._backing.storage.load(key)
        if stored is None:
            return None
        record = decode_record(stored, self._backing.vault)
        # Looking deletes nothing: the clock of whoever looks may be ahead.
        return (
            None if is_expired(self._backing, record) else ConversationThread(self._backing, record)
        )

    async def _make(self, key: ThreadKey, ttl: timedelta | None) -> ConversationThread:
        expires_at = None if ttl is None else self._backing.clock() + ttl
        planned = plan_new(self._backing, key, expires_at=expires_at)
        return await self._new(planned)

    async def _new(self, planned: Planned) -> ConversationThread:
        thread = ConversationThread(self._backing, planned.record)
        await carry_out(self._backing, planned)
        return thread

    async def threads(self, *, tenant: str = DEFAULT_TENANT) -> AsyncIterator[ConversationThread]:
        """
        Give every thread of *tenant*, in order of their ids.

        One that is damaged, or that a newer foldline wrote, is passed over, and the log names it.

        Raises:
            ThreadIdError: The tenant has characters that are not allowed.
        """
        check_tenant(tenant)
        async for stored in stored_threads(self._backing.storage, tenant):
            record = self._whole(stored)
            if record is not None and not is_expired(self._backing, record):
                yield ConversationThread(self._backing, record)

    def _whole(self, stored: StoredThread) -> ThreadRecord | None:
        try:
            return decode_record(stored, self._backing.vault)
        except StoreCorruptError:
            _LOG.warning("thread %r is damaged: see `foldline verify`", stored.key.id)
        except StoreVersionError:
            _LOG.warning(
                "thread %r was written by a newer foldline, and is passed over: upgrade foldline",
                stored.key.id,
            )
        return None

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        return await self._backing.storage.tenants()

    async def delete(self, thread_id: str, *, tenant: str = DEFAULT_TENANT) -> bool:
        """Delete a thread with everything that no fork of it shares; False where there is none."""
        return await self._backing.storage.delete(ThreadKey(tenant, thread_id))

    async def purge_expired(self) -> int:
        """
        Delete every thread that has expired, of all tenants, and return how many there were.

        A damaged thread stays, for `foldline verify`, and one that a newer foldline wrote, for that.
        """
        deleted = 0
        for tenant in await self.tenants():
            async for stored in stored_threads(self._backing.storage, tenant):
                record = self._whole(stored)
                if record is not None and is_expired(self._backing, record):
                    deleted += await delete_expired(self._backing, stored)
        return deleted

    async def delete_inactive(
        self, threshold: timedelta, *, tenant: str = DEFAULT_TENANT, dry_run: bool = False
    ) -> int:
        """
        Delete the threads that nobody has written to for *threshold*; return how many.

        One that is damaged, or that a newer foldline wrote, stays.

        Args:
            threshold: How long.
            tenant: Whose threads.
            dry_run: Whether they are only counted.

        Raises:
            ConfigError: *threshold* is no span above zero, or reaches back to no date.
            ThreadIdError: The tenant has characters that are not allowed.
        """
        check_tenant(tenant)
        latest = _before(threshold, self._backing.clock())
        count = 0
        async for stored in stored_threads(self._backing.storage, tenant):
            record = self._whole(stored)
            if record is not None and record.head.last_activity <= latest:
                count += 1 if dry_run else await delete_expired(self._backing, stored)
        return count


def _before(threshold: object, now: datetime) -> datetime:
    """
    Return the moment that lies *threshold* back; a span below zero would end ahead of every thread.
    """
    if not isinstance(threshold, timedelta) or threshold <= timedelta(0):
        message = f"threshold={threshold!r}: allowed is a timedelta above zero"
        raise ConfigError(message)
    try:
        return now - threshold
    except OverflowError:
        message = f"threshold={threshold!r}: allowed is one that reaches back to a date"
        raise ConfigError(message) from None


def _in_utc(clock: Callable[[], datetime]) -> datetime:
    """
    Return what *clock* tells: a local time in the hour that comes twice is never equal to another.
    """
    return clock().astimezone(UTC)


def _check_parts(storage: object, cipher: object) -> None:
    if not isinstance(storage, ThreadStorage):
        message = f"storage is a {type(storage).__name__}: see ThreadStorage for what it needs"
        raise ConfigError(message)
    if cipher is not None and not isinstance(cipher, Cipher):
        message = f"cipher is a {type(cipher).__name__}: it needs encrypt and decrypt"
        raise ConfigError(message)
