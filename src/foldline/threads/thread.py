"""A conversation that is kept."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from msgspec import UNSET, UnsetType, structs

from foldline.errors import (
    ConfigError,
    IntegrityError,
    RunStartError,
    ThreadConflictError,
    ThreadNotFoundError,
)
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState, hash_of, same_hash
from foldline.threads.arguments import (
    check_answer,
    check_change,
    check_commit_id,
    check_index,
    check_messages,
    check_metadata,
    check_moment,
    several,
    texts,
)
from foldline.threads.backing import Backing
from foldline.threads.change import COMMIT_ID_SIZE, Change, Planned, plan_step
from foldline.threads.checkpoint import CheckpointSource
from foldline.threads.commitment import carry_out
from foldline.threads.expiry import is_expired
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.record import ThreadRecord, decode_record
from foldline.threads.revision import cleared, edited, rewound, without_newest
from foldline.threads.row import extend_history
from foldline.threads.tool_run import ToolRun, answer_of


__all__ = ["ConversationThread"]


class ConversationThread(ReadOnlyThread):
    """
    A durable history with its metadata, reductions and execution state.

    Every method that writes is one commit: it is there after any crash, or nothing of it is. A
    commit is made only if nobody else has written since this object read the thread; otherwise it
    raises `ThreadConflictError`, and `refresh` reads what is there now. Where somebody has deleted
    the thread, it raises `ThreadNotFoundError`, also where another one was made under its id: only
    `refresh` goes on with that.
    """

    def __init__(self, backing: Backing, record: ThreadRecord) -> None:
        """Show *record*; a store makes threads."""
        super().__init__(backing, record)
        self._lock = asyncio.Lock()
        self._in_turn = False

    @contextmanager
    def turn(self) -> Generator[None, None, None]:
        """
        Keep other turns out of this object for as long as the context lasts.

        Turns on other objects of the same thread are kept out by their commits.

        Raises:
            RunStartError: A turn is running on this object.
        """
        if self._in_turn:
            message = f"a turn is running on this object of thread {self.id!r}: wait for its end"
            raise RunStartError(message)
        self._in_turn = True
        try:
            yield
        finally:
            self._in_turn = False

    async def refresh(self) -> None:
        """
        Read what the store holds now.

        Raises:
            ThreadNotFoundError: Somebody has deleted the thread.
        """
        await self._reload()

    async def _reload(self, *, created_at: datetime | None = None) -> None:
        async with self._lock:
            stored = await self._backing.storage.load(self.key)
            if stored is None:
                raise ThreadNotFoundError(thread_id=self.id)
            record = decode_record(stored, self._backing.vault)
            if created_at not in {None, record.head.created_at}:
                # It was deleted, and another one made under its id.
                raise ThreadNotFoundError(thread_id=self.id)
            # A thread that was deleted and made again may have come to the same revision.
            if (record.head.revision, record.head.seal) != (self.revision, self._record.head.seal):
                self._history = None
            self._record = record

    async def commit(  # noqa: PLR0913 - one transaction has so many parts
        self,
        *,
        messages: Iterable[Message] = (),
        execution: AgentLoopState | UnsetType | None = UNSET,
        reduction: HistoryReductionState | UnsetType = UNSET,
        tools: Sequence[ToolRun] = (),
        settled: Sequence[str] = (),
        archive: bool = False,
        source: CheckpointSource = "loop",
        commit_id: bytes | None = None,
        expected: int | None = None,
    ) -> None:
        """
        Write one step of a run, in one transaction or not at all; what is not named stays.

        Args:
            messages: What was said; the calls that it answers are settled by themselves.
            execution: The execution state behind the step; None clears it.
            reduction: The newest reduction; it stands for no less than one before it, made alike.
            tools: Intents, before the tools run, and results, as soon as they are there.
            settled: The ids of further calls that need not be remembered any more.
            archive: Whether the messages that *reduction* stands for are archived.
            source: What the step was made after, for a kept checkpoint.
            commit_id: 8 random bytes. With those of one of the last 8 commits nothing is done.
            expected: The revision that the step was decided on; that of this object by default.

        Raises:
            ConfigError: An argument or a field of one is of another kind, or *reduction* goes back.
            CheckpointError: A number in *execution* cannot be.
            ThreadConflictError: Somebody else has written in the meantime.
            IntegrityError: *reduction* stands for other messages than those of this thread.
            StoreError: The store failed; nothing was written.
        """
        change = Change(
            messages=several("messages", messages),
            execution=execution,
            reduction=reduction,
            tools=several("tools", tools),
            settled=several("settled", settled),
            source=source,
        )
        check_commit_id(commit_id)
        if expected is not None:
            check_index("expected", expected)
        name = commit_id or self._backing.random_bytes(COMMIT_ID_SIZE)
        await self._commit(change, archive=archive, commit_id=name, expected=expected)

    async def _commit(
        self,
        change: Change,
        *,
        archive: bool = False,
        commit_id: bytes | None = None,
        expected: int | None = None,
    ) -> None:
        check_change(change)
        async with self._lock:
            if commit_id is not None and commit_id in self._record.head.recent:
                return
            if expected not in {None, self.revision}:
                raise self._conflict(self.revision, expected=expected)
            change = await self._with_reduction(change, archive=archive)
            await self._write(change, commit_id=commit_id)

    async def add_messages(
        self, messages: Iterable[Message], *, commit_id: bytes | None = None
    ) -> None:
        """
        Append *messages*, all or none; of no messages nothing is written.

        Args:
            messages: What was said.
            commit_id: See `commit`.

        Raises:
            ThreadConflictError: Somebody else has written in the meantime.
            StoreError: The store failed; nothing was written.
        """
        given = several("messages", messages)
        if given:
            await self.commit(messages=given, source="input", commit_id=commit_id)

    async def add_message(self, message: Message) -> None:
        """
        Append *message*.

        Raises:
            ThreadConflictError: Somebody else has written in the meantime.
            StoreError: The store failed; nothing was written.
        """
        await self.add_messages([message])

    async def append(self, messages: Iterable[Message], *, commit_id: bytes | None = None) -> None:
        """
        Append *messages* behind whatever others have written in the meantime.

        Args:
            messages: What was said.
            commit_id: See `commit`. Give one, and the same again, where the call may be repeated:
                behind a cancelled one nobody knows whether it was made.

        Raises:
            StoreError: The store failed; nothing was written.
        """
        given = several("messages", messages)
        if not given:
            return
        # One id for all attempts: one that was made without our knowing is not made again.
        name = self._backing.random_bytes(COMMIT_ID_SIZE) if commit_id is None else commit_id
        await self._insisting(lambda: self.commit(messages=given, source="input", commit_id=name))

    async def save_reduction(
        self, reduction: HistoryReductionState, *, archive: bool = False
    ) -> None:
        """
        Store *reduction* as the newest one, whatever others have appended in the meantime.

        Args:
            reduction: The reduction; what it stands for must be the beginning of this thread.
            archive: Whether the messages that it stands for leave the working history.

        Raises:
            IntegrityError: It stands for other messages than those of this thread.
            ConfigError: A field of it is of another kind.
            ThreadConflictError: Another reduction was stored in the meantime, or the one in force,
                made alike, stands for more.
            StoreError: The store failed; nothing was written.
        """
        check_change(Change(reduction=reduction))
        known = self._newest_reduction()

        async def _save() -> None:
            if self._newest_reduction() != known or reduction.goes_back_from(
                self._record.reduction
            ):
                raise self._conflict(self.revision)
            await self._commit(Change(reduction=reduction), archive=archive)

        await self._insisting(_save)

    def _newest_reduction(self) -> tuple[str, str, datetime | None]:
        newest = self._record.reduction
        if newest is None:
            return "", "", None
        # A number is given again once its reduction was undone.
        return self._record.reduction_name, newest.message_hash, newest.created_at

    async def _insisting(self, write: Callable[[], Awaitable[None]]) -> None:
        """Do *write*, again behind what others wrote, as long as somebody else is faster."""
        created_at = self.created_at
        while True:
            revision = self.revision
            try:
                await write()
            except ThreadConflictError:
                await self._reload(created_at=created_at)
                if self.revision == revision:
                    raise
            else:
                return

    async def _with_reduction(self, change: Change, *, archive: bool) -> Change:
        reduction = change.reduction
        if not isinstance(reduction, HistoryReductionState):
            return change
        index = reduction.summarized_up_to_index
        if reduction.goes_back_from(self._record.reduction):
            message = f"a reduction up to {index} goes back: `undo_reduction` revokes the newest"
            raise ConfigError(message)
        if index and not same_hash(await self._hash_at(index), reduction.message_hash):
            raise IntegrityError(index=index)
        return structs.replace(
            change,
            is_new_fold=not reduction.is_same_as(self._record.reduction),
            archived=max(index, self.archived) if archive else None,
        )

    async def _hash_at(self, index: int) -> str:
        history = self._current_history()
        if history is not None and history.start <= index <= len(history):
            return hash_of(history, index)
        return await self._guarded(lambda reader: reader.hash_at(index))

    async def set_metadata(
        self, metadata: Mapping[str, object] | None = None, *, display_name: str | None = None
    ) -> None:
        """
        Replace the owner's values, the display name, or both.

        Raises:
            ConfigError: A key is blank.
            FormatError: A value has no place in JSON.
            ThreadConflictError: Somebody else has written in the meantime.
        """
        check_metadata(metadata, display_name)
        async with self._lock:
            await self._write(Change(metadata=metadata, display_name=display_name))

    async def set_expiry(self, expires_at: datetime | None) -> None:
        """
        Let the thread be gone from *expires_at* on, or never.

        Raises:
            ConfigError: *expires_at* has no time zone.
            ThreadConflictError: Somebody else has written in the meantime.
        """
        check_moment("expires_at", expires_at)
        async with self._lock:
            await self._write(Change(expires_at=expires_at))

    async def answer_tool(self, call_id: str, text: str, *, is_error: bool = False) -> None:
        """
        Say what became of a tool call that was interrupted, so that the run can be resumed.

        Args:
            call_id: The id of the call, one of `pending_tools`.
            text: What the model is told that the tool answered.
            is_error: Whether it tells of a failure.

        Raises:
            ConfigError: No call of that id waits, it has its result already, or *text* is no text.
            ThreadConflictError: Somebody else has written in the meantime.
        """
        check_answer(text)
        run = next((run for run in self.pending_tools if run.call_id == call_id), None)
        if run is None:
            message = f"no tool call {call_id!r} waits in thread {self.id!r}"
            raise ConfigError(message)
        if run.is_finished:
            message = f"tool call {call_id!r} of thread {self.id!r} has its result already"
            raise ConfigError(message)
        answered = structs.replace(run, result=text, is_error=is_error)
        await self._commit(Change(tools=[answered]), expected=self.revision)

    async def abandon_run(self, reason: str = "Abandoned") -> None:
        """
        End the open run, so that a new one may start; without one nothing is written.

        The tools that have begun are answered: with their results, or else with the word that these
        are unknown. A vendor that holds the conversation may have what nobody has stored, so it is
        left as well.

        Raises:
            ThreadConflictError: Somebody else has written in the meantime.
        """
        state = self._record.execution
        if state is not None and state.is_open:
            answers = [answer_of(run, self.now()) for run in self.pending_tools]
            change = Change(messages=answers, execution=state.with_service(None).terminated(reason))
            await self._commit(change, expected=self.revision)

    async def rewind(self, at: int) -> None:
        """
        Take back everything from the index *at* on.

        What was said there stays in the store, on the branch that is left; reductions that stand
        for a part of it, the execution state and waiting tool calls go.

        Raises:
            ConfigError: There are fewer messages than *at*, or it is no whole number.
            ThreadConflictError: Somebody else has written in the meantime.
        """
        check_index("at", at)
        async with self._lock:
            change = await self._guarded(lambda _: rewound(self._backing, self._record, at))
            await self._write(change)

    async def edit(self, index: int, message: Message) -> None:
        """
        Put *message* in the place of the one at *index*; all that follows stays.

        Reductions that stand for the message go, and so does the execution state.

        Raises:
            ConfigError: There is no message at *index*, or *message* is a system message.
            ThreadConflictError: Somebody else has written in the meantime.
        """
        check_index("index", index)
        check_messages([message])
        async with self._lock:
            change = await self._guarded(
                lambda _: edited(self._backing, self._record, index, message)
            )
            await self._write(change)

    async def undo_reduction(self) -> HistoryReductionState | None:
        """
        Revoke the newest reduction and return the one in force now, if there is one.

        Messages that it had archived are in the working history again, byte for byte.

        Raises:
            ThreadConflictError: Somebody else has written in the meantime.
        """
        async with self._lock:
            change = await without_newest(self._backing, self._record)
            if change is not None:
                await self._write(change)
            return self._record.reduction

    async def forget_checkpoints(self, names: Iterable[str]) -> None:
        """
        Remove the kept checkpoints with the ids *names*; nobody was active by that.

        Raises:
            ConfigError: *names* is no list of texts.
            ThreadConflictError: Somebody else has written in the meantime.
        """
        change = Change(drop=[("checkpoint", name) for name in texts("names", names)])
        async with self._lock:
            await self._write(change, now=self.last_activity)

    async def clear(self) -> None:
        """
        Delete all messages, reductions, checkpoints and metadata; the thread itself stays.

        Messages that a fork shares stay there.

        Raises:
            ThreadConflictError: Somebody else has written in the meantime.
        """
        async with self._lock:
            await self._write(cleared(self._backing, self._record))

    async def fork(self, thread_id: str, *, at: int | None = None) -> "ConversationThread":
        """
        Return a new thread that shares the first messages of this one.

        It shares them in the store too, with every reduction that stands for no more than they are:
        nothing is copied and nothing is summarized again. Deleting either thread leaves the other.
        It inherits the expiry, the display name and the metadata, in which `forked_from` and
        `forked_at` are the id of this thread and *at*; from then on each has its own.

        Args:
            thread_id: The id of the new thread, of the same tenant.
            at: How many messages it shares, system messages not counted; all by default.

        Raises:
            ThreadExistsError: There is a thread of that id.
            ThreadNotFoundError: Somebody has deleted this thread, or it has expired.
            ThreadConflictError: Somebody has cleared this thread since it was read.
            ConfigError: There are fewer messages than *at*.
        """
        return ConversationThread(self._backing, await self._fork(thread_id, at))

    async def _write(
        self, change: Change, *, commit_id: bytes | None = None, now: datetime | None = None
    ) -> None:
        backing = self._backing
        if now is not None:
            backing = structs.replace(backing, clock=lambda: now)
        if is_expired(self._backing, self._record):
            # The next to ask for it would find it gone, and this with it.
            raise ThreadNotFoundError(thread_id=self.id)
        planned = plan_step(backing, self._record, change, commit_id=commit_id)
        try:
            await carry_out(
                backing, planned, made=lambda: self._take(planned, change), moved=self._move_to
            )
        except ThreadConflictError as error:
            raise await self._left_behind() or error from None

    def _move_to(self, record: ThreadRecord) -> None:
        if record.head.seal != self._record.head.seal:
            self._history = None
        self._record = record

    def _take(self, planned: Planned, change: Change) -> None:
        self._record = planned.record
        if change.rebranch is not None:
            self._history = None
        elif self._history is not None:
            extend_history(self._history, planned.known)
