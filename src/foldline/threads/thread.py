"""A conversation that is kept."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial

from msgspec import UNSET, structs

from foldline.checks import expect, several
from foldline.errors import (
    ConfigError,
    IntegrityError,
    RunStartError,
    ThreadConflictError,
    ThreadNotFoundError,
)
from foldline.history.digest import EMPTY_DIGEST, hash_text, same_hash
from foldline.history.messages import READ_HINT, Message
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.threads.change import COMMIT_ID_SIZE, Change, check_change, check_messages
from foldline.threads.commit import OneLoopLock, carry_out, plan
from foldline.threads.due import FoldBase
from foldline.threads.head import ThreadRecord, decode_record
from foldline.threads.key import ThreadKey
from foldline.threads.lease import NOBODY, Lease
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.reader import ThreadReader
from foldline.threads.row import Said
from foldline.threads.start import (
    Decided,
    cleared,
    edited,
    is_expired,
    repinned,
    replaced,
    rewound,
    shortened,
    undone,
)
from foldline.threads.storage import StoreContext
from foldline.threads.tools import answer_of


# Each attempt fails only because somebody else has written. A busy writer wins nine of ten races
# against one that reads the thread again before each try.
_ATTEMPTS = 1_000


class ConversationThread(ReadOnlyThread):
    """
    A durable history with its metadata, reductions and execution state.

    Every method that writes is one commit: after a crash all of it is there, or nothing. A commit
    is made only if nobody else has written since this object read the thread; otherwise it raises
    `ThreadConflictError`, and `refresh` reads what is there now. If somebody has deleted the
    thread, it raises `ThreadNotFoundError`, also if another one was made with its id: only
    `refresh` continues with that. If the store fails, it raises `StoreError`.
    """

    def __init__(self, context: StoreContext, record: ThreadRecord) -> None:
        """Show *record*; a store makes threads."""
        super().__init__(context, record)
        self._lock = OneLoopLock()
        self._turn_loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_in_turn(self) -> bool:
        """Whether a turn is running on this object."""
        # A turn whose loop was closed is over.
        return self._turn_loop is not None and not self._turn_loop.is_closed()

    async def hold(self, lease: Lease) -> bool:
        """Renew *lease*, or with 0 seconds give it back; False if another one has it, or nobody."""
        is_held = await self.context.storage.hold(self.key, lease)
        if self.lease is not None and self.lease.holder == lease.holder:
            held = lease if is_held and lease.seconds else None
            self._record = structs.replace(self._record, lease=held)
        return is_held

    @contextmanager
    def turn(self) -> Generator[None, None, None]:
        """
        Keep other turns out of this object as long as the context lasts.

        Turns on other objects of the same thread are kept out by their commits.

        Raises:
            RunStartError: A turn is running on this object.
        """
        if self.is_in_turn:
            message = f"a turn is running on this object of thread {self.id!r}: wait for its end"
            raise RunStartError(message)
        loop = self._turn_loop = asyncio.get_running_loop()
        try:
            yield
        finally:
            if self._turn_loop is loop:
                self._turn_loop = None
            self.context.waiters.wake(self.key)

    async def refresh(self) -> None:
        """Read what the store holds now; raise ThreadNotFoundError if the thread was deleted."""
        await self._reload()

    async def _reload(self, *, created_at: datetime | None = None) -> None:
        async with self._lock:
            stored = await self.context.storage.load(self.key)
            if stored is None:
                raise ThreadNotFoundError(thread_id=self.id)
            record = decode_record(stored, self.context.vault, recent=self.context.recent)
            if created_at not in {None, record.head.created_at}:
                # It was deleted, and another one made with its id.
                raise ThreadNotFoundError(thread_id=self.id)
            self._adopt(record, None)

    def _adopt(self, record: ThreadRecord, said: Sequence[Said] | None) -> None:
        """Show *record*, whose new rows say what was *said*, or anything if that is None."""
        before, head = self._record.head, record.head
        self._record = record
        if head.epoch != before.epoch:
            # What was taken back is not kept in memory.
            self.context.recent.forget(self.key)
        if head.epoch != before.epoch or (said is None and head.seal != before.seal):
            self._history = None
        elif self._history is not None:
            self._history.extend_known(said or ())

    async def commit(self, change: Change) -> None:
        """
        Write one step of a run, in one transaction or not at all.

        Raises:
            ConfigError: A field of *change* is of another type, or its reduction goes back.
            CheckpointError: A number in its execution state is invalid.
            ThreadConflictError: Somebody else has written in the meantime.
            IntegrityError: Its reduction covers other messages than those of this thread.
            StoreError: The store failed; nothing was written.
            CommitUnknownError: It failed, and whether it was written is unknown.
        """
        check_change(change)
        async with self._lock:
            head = self._record.head
            if change.commit_id is not None and change.commit_id in head.recent:
                return
            if change.expected is not None and change.expected != head.revision:
                raise self._conflict(head.revision, expected=change.expected)
            if change.reduction is not UNSET:
                base, reduction = await self._checked(change.reduction)
                change = structs.replace(change, reduction=reduction, fold_base=base)
            await self._write(self._record, change, is_named=True)

    async def _checked(
        self, reduction: HistoryReductionState
    ) -> tuple[FoldBase, HistoryReductionState]:
        """Return what *reduction* has before its cut, and it, if it covers messages of this thread."""
        index, history = reduction.summarized_up_to_index, self._current_history()
        if reduction.goes_back_from(self._record.reduction):
            message = f"a reduction up to {index} goes back: `undo_reduction` revokes the newest"
            raise ConfigError(message)
        if history is not None and history.start <= index <= len(history):
            known = hash_of(history, index)
            base = FoldBase.of(history, reduction, users=self.head.users)
        else:
            counts = await self._guarded(lambda reader: reader.counts_before(index))
            known = hash_text(EMPTY_DIGEST if counts is None else counts.digest)
            base = FoldBase.of_row(counts, reduction)
        if index and not same_hash(known, reduction.message_hash):
            # A list made of rows that an earlier version wrote has digests of this one.
            said = [one for one in await self.get_messages() if one.role != "system"]
            if index > len(said) or not reduction.validate_integrity(said):
                raise IntegrityError(index=index)
            reduction = structs.replace(reduction, message_hash=known)
        return base, reduction

    async def _write(self, base: ThreadRecord, change: Change, *, is_named: bool = False) -> None:
        if is_expired(self.context, self._record):
            # The next call would find it gone, and this commit with it.
            raise ThreadNotFoundError(thread_id=self.id)
        planned = plan(self.context, base, change, is_named=is_named)
        try:
            await carry_out(self.context, planned, self._adopt)
        except ThreadConflictError as error:
            raise await self._left_behind() or error from None

    async def retry(self, decide: "Callable[[ConversationThread], Change]") -> None:
        """
        Commit what *decide* returns; after a conflict read the thread and decide again.

        What *decide* raises ends it. Give the change the revision that was looked at as `expected`
        if others may write through this object in the meantime.

        Raises:
            ThreadConflictError: Others were faster again and again.
            ThreadNotFoundError: Somebody has deleted the thread.
        """
        created_at = self.head.created_at
        for attempt in range(1, _ATTEMPTS + 1):
            revision, change = self.head.revision, decide(self)
            try:
                await self.commit(change)
            except ThreadConflictError:
                await self._reload(created_at=created_at)
                if self.head.revision == revision or attempt == _ATTEMPTS:
                    raise
            else:
                return

    async def add_messages(
        self, messages: Iterable[Message], *, commit_id: bytes | None = None
    ) -> None:
        """Append *messages*, all or none, under the id *commit_id*: see `Change.commit_id`."""
        given = several("messages", messages)
        if given:
            await self.commit(Change(messages=given, source="input", commit_id=commit_id))

    async def add_message(self, message: Message) -> None:
        """Append *message*."""
        await self.add_messages([message])

    async def append(self, messages: Iterable[Message], *, commit_id: bytes | None = None) -> None:
        """
        Append *messages* after whatever others have written in the meantime.

        Give a `Change.commit_id`, and the same again, if the call may be repeated: after a cancelled
        one it is unknown whether it was made.
        """
        given = several("messages", messages)
        if given:
            # One id for all attempts: one that was made without our knowing is not made again.
            name = commit_id or self.context.random_bytes(COMMIT_ID_SIZE)
            change = Change(messages=given, source="input", commit_id=name)
            await self.retry(lambda _: change)

    async def save_reduction(
        self, reduction: HistoryReductionState, *, archive: bool = False, epoch: bytes | None = None
    ) -> None:
        """
        Store *reduction* as the newest one, whatever others have appended in the meantime.

        Args:
            reduction: The reduction; it must cover the beginning of this thread.
            archive: Whether the messages that it covers leave the working history.
            epoch: The `head.epoch` in which the fold began; that of this object by default.

        Raises:
            IntegrityError: It covers other messages than those of this thread.
            ThreadConflictError: The thread was rewound, edited or cleared since then; or another
                reduction was stored in the meantime, or the active one, made alike, covers more.
        """
        change = Change(reduction=reduction, archive=archive)
        check_change(change)
        record, began = self._record, epoch or self.head.epoch
        # A number is used again once its reduction was undone.
        known = record.reduction_name, record.reduction

        def _decide(_: ConversationThread) -> Change:
            newest = self._record.reduction_name, self._record.reduction
            is_same = self.head.epoch == began and newest == known
            if not is_same or reduction.goes_back_from(self.last_reduction):
                raise self._conflict(self.head.revision)
            return structs.replace(change, expected=self.head.revision)

        await self.retry(_decide)

    async def set_metadata(
        self, metadata: Mapping[str, object] | None = None, *, display_name: str | None = None
    ) -> None:
        """
        Replace the owner's values, the display name, or both.

        A name alone is set whatever others write meanwhile, such as a turn that runs.

        Raises:
            FormatError: A value cannot be written as JSON.
            ThreadConflictError: Somebody else has changed the thread, and *metadata* is given.
        """
        change = Change(metadata=metadata, display_name=display_name)
        if metadata is None:
            await self.retry(lambda _: change)
        else:
            await self.commit(change)

    async def set_expiry(self, expires_at: datetime | None) -> None:
        """Set or clear the time, with a time zone, when the thread expires."""
        await self.commit(Change(expires_at=expires_at))

    async def answer_tool(self, call_id: str, text: str, *, is_error: bool = False) -> None:
        """
        Give the answer of one of `pending_tools` that was interrupted, so that the run can resume.

        Args:
            call_id: The id of the call.
            text: What the tool answered.
            is_error: Whether it is a failure.

        Raises:
            ConfigError: No call of that id waits, or it has its result already.
        """
        expect("text", text, str)
        run = next((run for run in self.pending_tools if run.call_id == call_id), None)
        if run is None or run.is_finished:
            state = "has its result already" if run is not None else "is not waiting"
            raise ConfigError(f"tool call {call_id!r} of thread {self.id!r} {state}")
        answered = structs.replace(run, result=text, is_error=is_error)
        await self.commit(Change(tools=[answered], expected=self.head.revision))

    async def abandon_run(self, reason: str = "Abandoned", *, lease: Lease = NOBODY) -> None:
        """
        End the open run, so that a new one may start; without one nothing is written.

        The tools that have begun are answered: with their results, or by saying that these are
        unknown. A conversation that a vendor holds is left, since it may contain what nobody has
        stored.

        Args:
            reason: Why it ends.
            lease: Who continues the turn, which does not end then; nobody by default.

        Raises:
            ConfigError: *lease* is no `Lease`.
        """
        expect("lease", lease, Lease)
        state = self._record.execution
        if state is not None and state.is_open:
            answers = [answer_of(run, self.now()) for run in self.pending_tools]
            ended, head = state.with_service(None).terminated(reason), self.head
            turn = None
            if state.turn_id and not lease.holder:
                turn = await self.stored_turn(state.turn_id)
            if turn is not None:
                stop = head.count + len(answers)
                turn = turn.ended(stop=stop, reason=reason, iterations=state.iteration)
            change = Change(
                messages=answers, execution=ended, turn=turn, lease=lease, expected=head.revision
            )
            await self.commit(change)

    async def rewind(self, at: int | None = None, *, count: int | None = None) -> None:
        """
        Take back everything from the index *at* on, or the newest *count* messages.

        What was said there stays in the store until it is pruned or cleared; reductions that cover
        a part of it, the execution state and waiting tool calls are deleted.

        Args:
            at: The index, system messages not counted.
            count: How many messages, of any role: system messages among them are counted.

        Raises:
            ConfigError: There are fewer messages; or both are given, or neither.
        """
        if at is not None and count is None:
            await self._redo(partial(rewound, at=at))
        elif count is not None and at is None:
            await self._redo(partial(shortened, count=count))
        else:
            given = "neither" if at is None else "both"
            raise ConfigError(f"rewind takes an index or count=…, got {given}")

    async def pop(self) -> Message | None:
        """Take back the newest message, of any role, and return it; None if there is none."""
        popped: list[Message] = []

        async def _popped(reader: ThreadReader, record: ThreadRecord) -> Decided | None:
            count = record.head.count
            popped.extend(await reader.messages(max(0, count - 1), count))
            return await shortened(reader, record, 1) if popped else None

        await self._redo(_popped)
        return popped[0] if popped else None

    async def replace(self, messages: Iterable[Message]) -> None:
        """
        Make *messages* all that the thread holds.

        What it begins with already stays: it is not written again, and reductions that cover no more
        remain. From the first message that differs on, everything is taken back as by `rewind`; if
        none differs, the rest is appended and a run stays open.
        """
        given = several("messages", messages)
        check_messages(given)
        await self._redo(partial(replaced, messages=given))

    async def edit(self, index: int, message: Message) -> None:
        """
        Put *message* in the place of the one at *index*; all that follows stays.

        Reductions that cover the message are deleted, and so is the execution state.

        Raises:
            ConfigError: There is no message at *index*, or *message* is a system message.
        """
        expect("message", message, Message, hint=READ_HINT)
        check_messages([message])
        await self._redo(partial(edited, index=index, message=message))

    async def pin(self, at: int | str) -> None:
        """
        Keep the message at the index *at*, or with that id, word for word beside every summary.

        It stays pinned through folds, forks, edits and restarts, until it is unpinned or taken back.

        Raises:
            ConfigError: There is no such message.
        """
        await self._redo(partial(repinned, at=at, pin=True))

    async def unpin(self, at: int | str) -> None:
        """
        Stop keeping the message at the index *at*, or with that id; see `pin`.

        Raises:
            ConfigError: There is no such message.
        """
        await self._redo(partial(repinned, at=at, pin=False))

    async def undo_reduction(self) -> HistoryReductionState | None:
        """
        Revoke the newest reduction and return the one that is the newest now, if there is one.

        Messages that it had archived are in the working history again, byte for byte.
        """
        await self._redo(undone)
        return self._record.reduction

    async def clear(self) -> None:
        """Delete all messages, reductions, checkpoints and metadata; the thread itself stays."""
        await self._redo(cleared)

    async def fork(
        self, thread_id: str | ThreadKey | None = None, *, at: int | None = None
    ) -> "ConversationThread":
        """
        Return a new thread with the first messages of this one.

        It has every reduction that covers no more than these: nothing is summarized again. It
        inherits the expiry, the display name and the metadata, in which `forked_from` and
        `forked_at` are the id of this thread and *at*.

        Args:
            thread_id: The id of the new thread, of the same tenant, or a key; a random one by default.
            at: How many messages it has, system messages not counted; all by default.

        Raises:
            ThreadExistsError: There is a thread of that id.
            ThreadNotFoundError: Somebody has deleted this thread, or it has expired.
            ThreadConflictError: Somebody has cleared this thread since it was read.
            ConfigError: There are fewer messages than *at*.
        """
        return ConversationThread(self.context, await self._fork(thread_id, at))

    async def _redo(
        self, decide: Callable[[ThreadReader, ThreadRecord], Awaitable[Decided | None]]
    ) -> None:
        async with self._lock:
            decided = await self._guarded(lambda reader: decide(reader, self._record))
            if decided is not None:
                await self._write(*decided)


class ThreadMoment(ReadOnlyThread):
    """A thread as it was at a checkpoint, which can be read and forked."""

    async def fork(
        self, thread_id: str | ThreadKey | None = None, *, at: int | None = None
    ) -> ConversationThread:
        """
        Return a new thread with the first messages of this moment.

        It is what `ConversationThread.fork` would have made then, also if the thread has been
        rewound or edited since. Of the reductions it has those that the thread has now.

        Raises:
            ThreadConflictError: Somebody has cleared the thread, or pruned this moment.
        """
        return ConversationThread(self.context, await self._fork(thread_id, at))
