"""Threads by their names, over any storage."""

import logging
from asyncio import gather
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from time import time
from typing import Final, Protocol, Self, TypedDict, runtime_checkable

from msgspec import Struct

from foldline.checks import expect, expect_choice, expect_seconds, expect_whole
from foldline.errors import (
    StoreCorruptError,
    StoreError,
    StoreVersionError,
    ThreadConflictError,
    ThreadExistsError,
)
from foldline.history.messages import Message
from foldline.history.tokens import TokenCounter, TokenEstimator
from foldline.threads.change import moved
from foldline.threads.cipher import Cipher, Vault
from foldline.threads.commit import Planned, carry_out
from foldline.threads.head import ThreadRecord, decode_record
from foldline.threads.key import DEFAULT_TENANT, ThreadKey, check_tenant, key_of, listed_key
from foldline.threads.lease import TURN_LEASE, TURN_WAIT
from foldline.threads.reader import Query
from foldline.threads.search import SearchPage, place_after, search_page, written_place
from foldline.threads.snapshot import decode_snapshot
from foldline.threads.start import delete_expired, is_expired, make_room, plan_new, plan_restore
from foldline.threads.storage import CheckpointRetention, StoreContext, StoredThread, ThreadStorage
from foldline.threads.thread import ConversationThread


_LOG = logging.getLogger("foldline")

_ATTEMPTS = 10
_PAGE = 200


@runtime_checkable
class MessageStore(Protocol):
    """What keeps the messages of one conversation; a `ConversationThread` does."""

    @property
    def count(self) -> int:
        """How many messages there are."""
        ...

    async def add_messages(self, messages: Iterable[Message]) -> None:
        """Append *messages*, all or none."""
        ...

    async def get_messages(self) -> list[Message]:
        """Return all messages, oldest first."""
        ...


class DueThread(Struct, frozen=True):
    """A thread whose fold is due."""

    key: ThreadKey
    """Its tenant and id."""

    since: datetime
    """When it became due."""


class DuePage(Struct, frozen=True):
    """Some of the threads whose fold is due."""

    threads: tuple[DueThread, ...]
    """The threads, the longest waiting first."""

    next: str
    """What to give as `after` for the page after this one; empty if this is the last."""


class ThreadPage(Struct, frozen=True):
    """Some of the threads of a tenant."""

    threads: tuple[ConversationThread, ...]
    """The threads, the one that was active last first."""

    next: str
    """What to give as `after` for the page after this one; empty if this is the last."""


class StoreOptions(TypedDict, total=False):
    """The options that every store takes; see `ThreadStore`."""

    counter: TokenCounter | None
    cipher: Cipher | Sequence[Cipher] | None
    checkpoints: CheckpointRetention
    clock: Callable[[], datetime] | None
    turn_lease: float
    turn_wait: float


class ThreadStore:
    """
    Threads by their names, over any storage.

    Use it as an asynchronous context manager. It holds no thread: two tasks that ask for the same
    thread get two objects, and of two that write at once one gets a `ThreadConflictError`. An id or
    a tenant is 1 to 200 of letters, digits and `. _ : -`; any other raises `ThreadIdError`. Give
    `ThreadKey.named(text)` for any text.
    """

    def __init__(
        self,
        storage: ThreadStorage,
        *,
        counter: TokenCounter | None = None,
        cipher: Cipher | Sequence[Cipher] | None = None,
        checkpoints: CheckpointRetention = "latest",
        clock: Callable[[], datetime] | None = None,
        turn_lease: float = TURN_LEASE,
        turn_wait: float = TURN_WAIT,
    ) -> None:
        """
        Keep threads in *storage*.

        Args:
            storage: Where the bytes are stored.
            counter: Counts tokens; an estimator by default. A message is counted once in its life,
                so all programs that write to one store should use the same.
            cipher: Encrypts messages, summaries, states and metadata; ids, times and sizes stay
                readable. Of several the first one encrypts, and what any of them has is read.
            checkpoints: Whether only the last checkpoint is kept, or every one.
            clock: Returns the time, with a time zone.
            turn_lease: How many seconds after its last sign of life a turn may be taken over by
                another worker. A turn that lives renews it, however long it takes.
            turn_wait: How many seconds a turn waits at most for those before it on its thread,
                until it is refused with a `TurnRunningError`.
        """
        expect("storage", storage, ThreadStorage)
        expect_choice("checkpoints", checkpoints, ("latest", "full"))
        expect_seconds("turn_lease", turn_lease)
        expect_seconds("turn_wait", turn_wait)
        self.context: Final = StoreContext(
            storage=storage,
            counter=counter or TokenEstimator(),
            vault=Vault() if cipher is None else Vault(*_several(cipher)),
            clock=partial(datetime.now, UTC) if clock is None else partial(_in_utc, clock),
            checkpoints=checkpoints,
            turn_lease=turn_lease,
            turn_wait=turn_wait,
        )
        """What the threads of this store have in common."""

    async def open(self) -> Self:
        """
        Get ready, as entering the context does.

        Raises:
            StoreKeyError: What it holds was written with another key, or without one.
        """
        await self.context.storage.open()
        try:
            await self._check_key()
        except BaseException:
            await self.close()
            raise
        return self

    async def _check_key(self) -> None:
        # Damage and newer formats are reported to those who ask for what they are in.
        with suppress(StoreCorruptError, StoreVersionError):
            for tenant in (await self.tenants())[:1]:
                for stored in await self.context.storage.threads(tenant, limit=1):
                    decode_record(stored, self.context.vault)

    async def close(self) -> None:
        """Release everything, as leaving the context does."""
        await self.context.storage.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def thread(
        self,
        thread_id: str | ThreadKey,
        *,
        tenant: str = DEFAULT_TENANT,
        ttl: timedelta | None = None,
    ) -> ConversationThread:
        """
        Return the thread of that id, made if there is none.

        Args:
            thread_id: The id within the tenant, or a key.
            tenant: The owner.
            ttl: How long a thread that is made lives; None for ever. It changes nothing about one
                that is there.

        Raises:
            ConfigError: *ttl* is not above zero, or ends after the year 9999.
            StoreCorruptError: The stored thread is damaged.
        """
        key = key_of(thread_id, tenant)
        expires_at = None if ttl is None else moved("ttl", self.context.clock(), ttl)
        for _ in range(_ATTEMPTS):
            found = await self.find(key)
            if found is not None:
                return found
            try:
                return await self._new(plan_new(self.context, key, expires_at=expires_at))
            except ThreadConflictError:
                # Somebody else has made it in the meantime, or one that has expired is there.
                await make_room(self.context, key)
        message = f"thread {key.id!r} is made and deleted again and again: try later"
        raise StoreError(message)

    async def find(
        self, thread_id: str | ThreadKey, *, tenant: str = DEFAULT_TENANT
    ) -> ConversationThread | None:
        """
        Return the thread of that id, or None if there is none.

        Raises:
            StoreCorruptError: The stored thread is damaged.
        """
        key = key_of(thread_id, tenant)
        stored = await self.context.storage.load(key)
        if stored is None:
            self.context.recent.forget(key)
            return None
        record = decode_record(stored, self.context.vault, recent=self.context.recent)
        if is_expired(self.context, record):
            # Reading deletes nothing: the clock of this reader may be ahead.
            return None
        return ConversationThread(self.context, record)

    async def restore(
        self,
        data: bytes | str,
        *,
        thread_id: str | ThreadKey | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> ConversationThread:
        """
        Make a thread of a snapshot, in one commit, and return it.

        A reduction that does not cover the messages of the snapshot is left out, and so is what a
        vendor holds of the thread; an open run that messages were added after is ended. What only an
        earlier reduction had archived is in the working history again.

        Args:
            data: What `ConversationThread.to_snapshot` wrote.
            thread_id: The id of the new thread, or a key; the id of the snapshot by default.
            tenant: Its owner.

        Raises:
            FormatError: *data* is not a snapshot.
            StoreVersionError: It was written by a newer foldline.
            CheckpointStaleError: Its execution state belongs to more messages than it has.
            CheckpointError: A number in that state is invalid.
            ThreadExistsError: There is a thread of that id.
        """
        snapshot = decode_snapshot(data)
        key = key_of(snapshot.id if thread_id is None else thread_id, tenant)
        planned = plan_restore(self.context, key, snapshot)
        await make_room(self.context, key)
        try:
            return await self._new(planned)
        except ThreadConflictError:
            raise ThreadExistsError(thread_id=key.id) from None

    async def _new(self, planned: Planned) -> ConversationThread:
        thread = ConversationThread(self.context, planned.record)
        await carry_out(self.context, planned)
        return thread

    async def threads(
        self, *, tenant: str = DEFAULT_TENANT, after: str = ""
    ) -> AsyncIterator[ConversationThread]:
        """
        Yield every thread of *tenant*, in order of their ids, or those after the id *after*.

        One that is damaged, or that a newer foldline wrote, is skipped, and the log names it.

        Raises:
            StoreCorruptError: The store is damaged so that its threads cannot be listed.
        """
        check_tenant(tenant)
        async for _, record in self._whole(tenant, after=after):
            if not is_expired(self.context, record):
                yield ConversationThread(self.context, record)

    async def _whole(
        self, tenant: str, *, after: str = ""
    ) -> AsyncIterator[tuple[StoredThread, ThreadRecord]]:
        async for stored in stored_threads(self.context.storage, tenant, after=after):
            with _skipped(stored.key.id):
                yield stored, decode_record(stored, self.context.vault)

    async def latest(
        self, *, tenant: str = DEFAULT_TENANT, limit: int = 20, after: str = ""
    ) -> ThreadPage:
        """
        Return the threads of *tenant*, the one that was active last first, page by page.

        A page may have fewer than *limit* before the last one; only an empty `next` is the end. One that
        is damaged, or that a newer foldline wrote, is skipped, and the log names it. No index is kept of
        the times, so each page looks through those of all threads of the tenant.

        Args:
            tenant: The owner.
            limit: How many to return at most.
            after: The `next` of the page before; empty for the first page.

        Raises:
            ConfigError: *limit* is below 1, or *after* is not from such a page.
        """
        place = _place(tenant, limit, after)
        found = await self.context.storage.latest(tenant, after=place, limit=limit)
        read = await gather(*(self._sound(tenant, id) for _, id in found))
        threads = tuple(one for one in read if one is not None)
        return ThreadPage(threads, written_place(found[-1]) if len(found) == limit else "")

    async def _sound(self, tenant: str, id: str) -> ConversationThread | None:
        key = listed_key(tenant, id)
        with _skipped(id):
            return None if key is None else await self.find(key)
        return None

    async def search(
        self, text: str, *, tenant: str = DEFAULT_TENANT, limit: int = 20, after: str = ""
    ) -> SearchPage:
        """
        Return messages of all threads of *tenant* that have every word of *text*.

        Threads come in order of their ids, the messages of each with the newest first. A page may
        have fewer than *limit*, or none, before the last one; only an empty `next` is the end. A
        thread that is damaged is skipped, and the log names it.

        Args:
            text: The words; a phrase in double quotes must be there as it is.
            tenant: The owner.
            limit: How many messages to return at most.
            after: The `next` of the page before; empty for the first page.

        Raises:
            ConfigError: *text* has no word, or *after* is not from such a page.
        """
        check_tenant(tenant)
        expect_whole("limit", limit, 1)
        Query.parse(text)
        last, before = place_after("after", after, tuple[str, int]) or ("", 0)
        # What is left of the thread in which the last page ended is searched first.
        rest = await self.find(last, tenant=tenant) if before else None
        threads = self.threads(tenant=tenant, after=last)
        return await search_page(threads, text, limit=limit, rest=rest, before=before)

    async def folds_due(
        self, *, tenant: str = DEFAULT_TENANT, limit: int = _PAGE, after: str = ""
    ) -> DuePage:
        """
        Return the threads of *tenant* whose fold is due by their counts, the longest waiting first.

        No thread is read. Whether a fold pays, where prices decide, and whether there is a safe cut
        is found out by who folds: see `Agent.refold`. A thread from before this was noted is
        listed after its next message.

        Args:
            tenant: The owner.
            limit: How many to return at most.
            after: The `next` of the page before; empty for the first page.

        Raises:
            ConfigError: *limit* is below 1, or *after* is not from such a page.
        """
        place = _place(tenant, limit, after)
        found = await self.context.storage.folds_due(tenant, after=place, limit=limit)
        threads = [
            DueThread(key, datetime.fromtimestamp(since, UTC))
            for since, id in found
            if (key := listed_key(tenant, id)) is not None
        ]
        return DuePage(tuple(threads), written_place(found[-1]) if len(found) == limit else "")

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        return await self.context.storage.tenants()

    async def delete(self, thread_id: str | ThreadKey, *, tenant: str = DEFAULT_TENANT) -> bool:
        """Delete a thread with everything stored for it; False if there is none."""
        key = key_of(thread_id, tenant)
        try:
            return await self.context.storage.delete(key)
        finally:
            # It may have been read in the meantime.
            self.context.recent.forget(key)

    async def delete_tenant(self, tenant: str) -> int:
        """
        Delete every thread of *tenant*, expired and damaged ones too; return how many there were.

        What is made in the meantime may be left: refuse its requests before, or call this again.
        """
        check_tenant(tenant)
        count = 0
        async for stored in stored_threads(self.context.storage, tenant):
            count += await self.delete(stored.key)
        return count

    async def purge_expired(self) -> int:
        """
        Delete every thread that has expired, of all tenants, and return how many there were.

        A damaged thread stays, and so does one that a newer foldline wrote.
        """
        deleted = 0
        for tenant in await self.tenants():
            async for stored, record in self._whole(tenant):
                if is_expired(self.context, record):
                    deleted += await delete_expired(self.context, stored)
        return deleted

    async def delete_inactive(
        self, threshold: timedelta, *, tenant: str = DEFAULT_TENANT, dry_run: bool = False
    ) -> int:
        """
        Delete the threads that nobody has written to for *threshold*; return how many.

        One that is damaged, or that a newer foldline wrote, stays. With *dry_run* they are only
        counted.

        Raises:
            ConfigError: *threshold* is not above zero, or reaches back before the year 1.
        """
        check_tenant(tenant)
        latest = moved("threshold", self.context.clock(), threshold, sign=-1)
        count = 0
        async for stored, record in self._whole(tenant):
            if record.head.last_activity <= latest:
                count += 1 if dry_run else await delete_expired(self.context, stored)
        return count


async def stored_threads(
    storage: ThreadStorage, tenant: str, *, after: str = ""
) -> AsyncIterator[StoredThread]:
    """Yield the threads of *tenant* after an id as they are stored, in order, page by page."""
    while page := await storage.threads(tenant, after=after, limit=_PAGE):
        for stored in page:
            if stored.key.id <= after:
                message = (
                    f"the threads of tenant {tenant!r} cannot be listed: {stored.key.id!r} comes "
                    f"after {after!r}. `foldline verify` names what is damaged"
                )
                raise StoreCorruptError(message)
            after = stored.key.id
            yield stored


@contextmanager
def _skipped(id: str) -> Generator[None, None, None]:
    """Skip a thread that cannot be read, and let the log name it."""
    try:
        yield
    except StoreCorruptError:
        _LOG.warning("thread %r is damaged: see `foldline verify`", id)
    except StoreVersionError:
        message = "thread %r was written by a newer foldline and is skipped: upgrade foldline"
        _LOG.warning(message, id)


def _several(given: Cipher | Sequence[Cipher]) -> Sequence[Cipher]:
    """Return *given* as ciphers; an empty list is refused, since nothing would be encrypted then."""
    several = given if isinstance(given, Sequence) else (given,)
    for one in several or (None,):
        expect("cipher", one, Cipher)
    return several


def _place(tenant: str, limit: int, after: str) -> tuple[float, str] | None:
    """Return the place that a page of *tenant*, in order of times, begins after."""
    check_tenant(tenant)
    expect_whole("limit", limit, 1)
    return place_after("after", after, tuple[float, str])


def seconds_of(clock: Callable[[], datetime] | None) -> Callable[[], float]:
    """Return what tells the time of *clock*, by default of the machine, in seconds since 1970."""
    return time if clock is None else lambda: clock().timestamp()


def _in_utc(clock: Callable[[], datetime]) -> datetime:
    """Return the time of *clock* in UTC, since a local time may come twice."""
    moment = clock()
    expect("the time of clock", moment, datetime, hint="return a datetime with a time zone")
    return moment.astimezone(UTC)
