"""A thread at one moment, to be read."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from os import urandom
from typing import Final, TypeVar

from msgspec import Struct, structs

from foldline.checks import expect, expect_whole
from foldline.errors import (
    ConfigError,
    StoreCorruptError,
    ThreadConflictError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.reminders import without_reminders
from foldline.history.units import CountingUnit
from foldline.reduction.state import HistoryReductionState
from foldline.threads.commit import carry_out
from foldline.threads.head import Head, ThreadRecord, content_of, open_head
from foldline.threads.key import ThreadKey, key_of
from foldline.threads.lease import Lease
from foldline.threads.loop_state import AgentLoopState, CurrentMessages
from foldline.threads.reader import Match, Query, ThreadReader
from foldline.threads.snapshot import encode_snapshot
from foldline.threads.start import (
    check_place,
    fitting_reductions,
    forked,
    is_expired,
    make_room,
    stored_reductions,
)
from foldline.threads.storage import StoreContext
from foldline.threads.tools import ToolRun, document_name
from foldline.threads.turns import TurnRecord


_Read = TypeVar("_Read")

_NAME_LENGTH = 30
_LOOKED_AT = 60
_UNNAMED = "New Conversation"
_OVERTAKEN = "The thread has gone on"


class ThreadWindow(Struct, frozen=True, kw_only=True):
    """What a turn needs of a thread."""

    history: History
    """The history, with the messages in memory that the model may be sent or that may be folded."""

    reduction: HistoryReductionState | None
    """The reduction to start from."""

    pins: tuple[tuple[int, Message], ...] = ()
    """Every pinned message with its index, in order, those before the part in memory included."""


class ReadOnlyThread:
    """A thread at one moment, which can be read and not written."""

    def __init__(
        self, context: StoreContext, record: ThreadRecord, *, seen: Head | None = None
    ) -> None:
        """Show *record*, of an earlier moment if *seen* is the current head; a store makes threads."""
        self.key: Final = record.key
        """The tenant and the id."""
        self.id: Final = record.key.id
        """The id within the tenant."""
        self.tenant: Final = record.key.tenant
        """The owner."""
        self.context: Final = context
        """What the threads of its store have in common."""
        self._record = record
        self._seen = seen
        self._history: History | None = None
        self._run: tuple[ThreadRecord, History, AgentLoopState] | None = None

    def __repr__(self) -> str:
        kind, head = type(self).__name__, self.head
        return f"<{kind} {self.id} messages={head.count} revision={head.revision}>"

    @property
    def head(self) -> Head:
        """Its revision, counts, tokens and expiry."""
        return self._record.head

    @property
    def count(self) -> int:
        """How many messages there are, system messages and archived ones included."""
        return self._record.head.count

    @property
    def display_name(self) -> str:
        """The name that people see; empty if nobody gave one (see `title`)."""
        return self._record.display_name

    @property
    def metadata(self) -> Mapping[str, object]:
        """Values of the owner."""
        return self._record.metadata

    @property
    def created_at(self) -> datetime:
        """When the thread was made."""
        return self._record.head.created_at

    @property
    def last_activity(self) -> datetime:
        """When it was last written to; a fold alone, as at night, does not count."""
        return self._record.head.last_activity

    @property
    def last_reduction(self) -> HistoryReductionState | None:
        """The newest reduction."""
        return self._record.reduction

    @property
    def execution_state(self) -> AgentLoopState | None:
        """The state of the last run; `is_open` says whether it can be resumed."""
        record, known = self._record, self._run
        if known is not None and known[0] is record and known[1] is self._history:
            return known[2]
        state, history = record.execution, self._current_history()
        if state is None or history is None or len(state.current_messages) != history.total:
            return state
        state = structs.replace(state, current_messages=CurrentMessages.of(history))
        self._run = record, history, state
        return state

    @property
    def has_open_run(self) -> bool:
        """Whether the last run was interrupted, so that it can be resumed."""
        state = self._record.execution
        return state is not None and state.is_open

    @property
    def pending_tools(self) -> tuple[ToolRun, ...]:
        """The tool calls whose answers are not yet messages, in order."""
        return self._record.tools

    @property
    def pins(self) -> tuple[int, ...]:
        """The indexes of the pinned messages, in order."""
        return self._record.head.pins

    @property
    def lease(self) -> Lease | None:
        """Who runs a turn, as of the last reading; None if nobody does."""
        return self._record.lease

    def now(self) -> datetime:
        """Return the time by the clock of the store."""
        return self.context.clock()

    def _current_history(self) -> History | None:
        """Return the history in memory, if it is still that of this revision."""
        history, head = self._history, self._record.head
        if history is None or (history.total, history.digest()) != (head.count, head.digest):
            return None
        return history

    async def get_messages(self, *, last: int | None = None) -> list[Message]:
        """
        Return all messages, oldest first, archived ones included.

        Args:
            last: Return the newest *last* only, which costs the same at any length.

        Raises:
            StoreCorruptError: A message is missing or damaged.
            ThreadConflictError: Somebody has cleared the thread since it was read.
            ThreadNotFoundError: Somebody has deleted it.
        """
        expect_whole("last", last, 0, optional=True)
        count = self.count
        start = 0 if last is None else max(0, count - last)
        return await self._guarded(lambda reader: reader.messages(start, count))

    async def get_range(self, start: int, stop: int | None = None) -> list[Message]:
        """
        Return the messages from the index *start* up to *stop*, with the system messages there.

        Raises:
            StoreCorruptError: A message is missing or damaged.
        """
        length = self.head.length
        expect("stop", stop, int | None)
        end = length if stop is None else min(stop, length)
        check_place("start", start, end)

        async def _read(reader: ThreadReader) -> list[Message]:
            # The system messages in front of everything belong to the range from 0 on.
            first = await reader.seq_of(start) if start else 0
            return await reader.messages(first, await reader.seq_of(end))

        return await self._guarded(_read)

    async def working_messages(self) -> list[Message]:
        """Return the messages that are not archived, and the system messages among them."""
        return await self.get_range(self.head.archived)

    async def window(
        self,
        *,
        config_fingerprint: str | None = None,
        counting_unit: CountingUnit | None = None,
        whole: bool = False,
    ) -> ThreadWindow:
        """
        Return what a turn needs: the last reduction and the messages after its cut.

        It costs the same however long the thread is. If no reduction fits, it is the whole history.

        Args:
            config_fingerprint: The fingerprint that the reduction must have; any if None.
            counting_unit: The unit that it must have; any if None.
            whole: Whether the whole history is wanted, and no reduction.
        """
        made_with = (config_fingerprint, counting_unit)
        reduction = None if whole else self._record.reduction
        if reduction is not None and not _is_made(reduction, *made_with):
            fitting = [one for one in await self.reductions() if _is_made(one, *made_with)]
            reduction = fitting[0] if fitting else None
        history = await self._history_after(reduction)
        end = 0 if reduction is None else reduction.summarized_up_to_index
        if end == len(history) and history.last_user() is None:
            # Rewound to its cut, a thread without user messages has nothing that a view shows.
            reduction, history = None, await self._history_after(None)
        pinned = self._record.head.pins
        shown = () if reduction is None else reduction.shown_pins
        if pinned or shown:
            await self._learn(history, {*pinned, *shown})
        pins = tuple([(index, history[index]) for index in pinned]) if pinned else ()
        return ThreadWindow(history=history, reduction=reduction, pins=pins)

    async def _learn(self, history: History, indexes: Iterable[int]) -> None:
        """Read the messages at *indexes* that *history* does not have."""
        wanted = sorted(at for at in indexes if at < history.start and at not in history.known)
        if wanted:
            read = await self._guarded(lambda reader: reader.at(wanted))
            history.known.update(zip(wanted, read, strict=True))

    async def _history_after(self, reduction: HistoryReductionState | None) -> History:
        history = self._current_history()
        start = 0 if reduction is None else reduction.summarized_up_to_index
        if history is None or history.start > start:
            history = await self._guarded(lambda reader: reader.window(reduction))
            self._history = history
        return history

    async def reductions(self) -> list[HistoryReductionState]:
        """
        Return every reduction of the thread that is still valid, the newest first.

        At an earlier moment, it is every current one that covers messages of that moment only.
        """
        known = await stored_reductions(self.context, self._record)
        if self._seen is not None:
            known = await fitting_reductions(self._reader(), known)
        return [one.state for one in known]

    async def title(self) -> str:
        """Return the display name, or else the beginning of the first user message."""
        if self.display_name:
            return self.display_name
        stop = min(self.count, _LOOKED_AT)
        for message in await self._guarded(lambda reader: reader.messages(0, stop)):
            if message.is_from_user and (words := without_reminders(message.text).split()):
                text = " ".join(words)
                return text if len(text) <= _NAME_LENGTH else text[: _NAME_LENGTH - 3] + "..."
        return _UNNAMED

    async def to_snapshot(self) -> bytes:
        """
        Return the whole thread as one JSON document, which `ThreadStore.restore` reads.

        In that of an earlier moment no run is open: only for the newest moment it is known which
        tools had begun.
        """
        record, state = self._record, self._record.execution
        if self._seen is not None and state is not None and state.is_open:
            record = structs.replace(record, execution=state.terminated(_OVERTAKEN))
        return encode_snapshot(record, await self.get_messages())

    async def stored_turn(self, turn_id: str) -> TurnRecord | None:
        """
        Return what is stored of the turn with that id; None if none was, or it was taken back.

        Raises:
            StoreCorruptError: It is damaged.
        """
        found = await self.context.storage.document(self.key, "turn", document_name(turn_id))
        if found is None:
            return None
        turn, head = content_of(self.context.vault, self.key, found, TurnRecord), self.head
        is_there = turn.is_there(epoch=head.epoch, count=head.count, runs=head.runs)
        return turn if is_there else None

    async def turn_messages(self, turn: TurnRecord) -> list[Message]:
        """Return the messages of *turn*: its input and everything that it added, in order."""
        stop = turn.stop or self.count
        return await self._guarded(lambda reader: reader.messages(turn.start, stop))

    async def search(self, text: str, *, limit: int = 20, before: int | None = None) -> list[Match]:
        """
        Return the newest messages that have every word of *text*, the newest first.

        Words are found whatever their case; a phrase in double quotes must be there as it is.

        Args:
            text: The words.
            limit: How many messages to return at most.
            before: The `number` of the last message of the page before; None for the first page.

        Raises:
            ConfigError: *text* has no word.
            StoreCorruptError: A message is missing or damaged.
            ThreadConflictError: Somebody has cleared the thread since it was read.
            ThreadNotFoundError: Somebody has deleted it.
        """
        expect_whole("limit", limit, 1)
        expect_whole("before", before, 0, optional=True)
        query = Query.parse(text)
        return await self._guarded(lambda reader: reader.search(query, limit=limit, before=before))

    async def _fork(self, thread_id: str | ThreadKey | None, at: int | None) -> ThreadRecord:
        context, record = self.context, self._record
        key = key_of(urandom(16).hex() if thread_id is None else thread_id, self.tenant)
        if key.tenant != self.tenant:
            raise ConfigError(
                f"a fork belongs to the tenant of its thread, {self.tenant!r}, got {key.tenant!r}"
            )
        if is_expired(context, record):
            raise ThreadNotFoundError(thread_id=self.id)
        planned = await self._guarded(lambda reader: forked(reader, record, key, at))
        # Somebody else may have let this thread expire since it was read.
        await make_room(context, self.key)
        try:
            try:
                await carry_out(context, planned)
            except ThreadConflictError:
                # The one that is there may have expired.
                await make_room(context, key)
                await carry_out(context, planned)
        except ThreadConflictError:
            raise ThreadExistsError(thread_id=key.id) from None
        except ThreadNotFoundError:
            error = await self._left_behind()
            raise error or ThreadNotFoundError(thread_id=self.id) from None
        return planned.record

    def _reader(self) -> ThreadReader:
        record = self._record
        return ThreadReader(self.context, record.key, record.head, tail=record.tail)

    async def _guarded(self, read: Callable[[ThreadReader], Awaitable[_Read]]) -> _Read:
        try:
            return await read(self._reader())
        except StoreCorruptError:
            # Rows that somebody else has cleared are not damaged.
            error = await self._left_behind()
            if error is not None:
                raise error from None
            raise

    async def _left_behind(self) -> ThreadConflictError | ThreadNotFoundError | None:
        """Return what happened to the thread since it was read; None if nothing did."""
        stored = await self.context.storage.load(self.key)
        if stored is None:
            return ThreadNotFoundError(thread_id=self.id)
        seen = self.head if self._seen is None else self._seen
        head = open_head(self.context.vault, stored)
        if head.created_at == seen.created_at and stored.revision != seen.revision:
            return self._conflict(stored.revision)
        # A thread that was deleted and made again may have come to the same revision.
        return None if head.epoch == seen.epoch else ThreadNotFoundError(thread_id=self.id)

    def _conflict(self, actual: int, *, expected: int | None = None) -> ThreadConflictError:
        expected = self.head.revision if expected is None else expected
        return ThreadConflictError(thread_id=self.id, expected=expected, actual=actual)


def _is_made(
    state: HistoryReductionState, config_fingerprint: str | None, unit: CountingUnit | None
) -> bool:
    made_with = (state.config_fingerprint, state.counting_unit)
    return made_with == (config_fingerprint or made_with[0], unit or made_with[1])
