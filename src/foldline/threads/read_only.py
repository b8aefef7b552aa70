"""A thread at one moment, to be read."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TypeVar

from msgspec import Struct, structs

from foldline.errors import (
    ConfigError,
    StoreCorruptError,
    ThreadConflictError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.units import CountingUnit
from foldline.reduction.state import HistoryReductionState
from foldline.threads.arguments import check_count, check_index
from foldline.threads.backing import Backing
from foldline.threads.commitment import carry_out
from foldline.threads.expiry import is_expired, make_room
from foldline.threads.head import Head
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.old_storage import ThreadStorage
from foldline.threads.reader import ThreadReader
from foldline.threads.record import ThreadRecord, open_head
from foldline.threads.revision import fitting_reductions, forked, stored_reductions
from foldline.threads.snapshot import encode_snapshot
from foldline.threads.tool_run import ToolRun
from foldline.threads.words import Match, find_messages


__all__ = ["ReadOnlyThread", "ThreadWindow"]


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


class ReadOnlyThread:
    """A thread at one moment, which can be read and not written."""

    def __init__(self, backing: Backing, record: ThreadRecord, *, seen: Head | None = None) -> None:
        """
        Show *record*; a store makes threads.

        Args:
            backing: What the threads of the store have in common.
            record: The thread.
            seen: The head that the store held when *record* was read, where that is an earlier
                moment.
        """
        self._backing = backing
        self._record = record
        self._seen = seen
        self._history: History | None = None

    def __repr__(self) -> str:
        head = self._record.head
        kind = type(self).__name__
        return f"<{kind} {self.id} messages={head.count} revision={head.revision}>"

    @property
    def id(self) -> str:
        """The id within the tenant."""
        return self._record.key.id

    @property
    def tenant(self) -> str:
        """The owner."""
        return self._record.key.tenant

    @property
    def key(self) -> ThreadKey:
        """The tenant and the id."""
        return self._record.key

    @property
    def storage(self) -> ThreadStorage:
        """Where it lies."""
        return self._backing.storage

    @property
    def head(self) -> Head:
        """How far it has come, and along which branch."""
        return self._record.head

    @property
    def revision(self) -> int:
        """How many commits this object knows of."""
        return self._record.head.revision

    @property
    def count(self) -> int:
        """How many messages there are, system messages and archived ones included."""
        return self._record.head.count

    @property
    def length(self) -> int:
        """How many messages there are, system messages not included: what every index counts."""
        return self._record.head.length

    @property
    def archived(self) -> int:
        """How many of these, the oldest, are archived."""
        return self._record.head.archived

    @property
    def tokens(self) -> int:
        """The tokens of all messages."""
        return self._record.head.tokens + self._record.head.system_tokens

    @property
    def display_name(self) -> str:
        """The name that people see; empty where nobody gave one (see `title`)."""
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
        """When it was last written to."""
        return self._record.head.last_activity

    @property
    def expires_at(self) -> datetime | None:
        """From when on it is gone; None for never."""
        return self._record.head.expires_at

    @property
    def last_reduction(self) -> HistoryReductionState | None:
        """The newest reduction."""
        return self._record.reduction

    def now(self) -> datetime:
        """Return the time, as the store tells it."""
        return self._backing.clock()

    @property
    def execution_state(self) -> AgentLoopState | None:
        """The state of the last run; `is_open` tells whether it can be resumed."""
        state, history = self._record.execution, self._current_history()
        if state is None or history is None or len(state.current_messages) != history.total:
            return state
        return state.with_messages(history)

    @property
    def pending_tools(self) -> tuple[ToolRun, ...]:
        """The tool calls whose answers are not yet messages, in order."""
        return self._record.tools

    def _current_history(self) -> History | None:
        """Return the history in memory, if it is still that of this revision."""
        history, head = self._history, self._record.head
        if history is None or (history.total, history.digest()) != (head.count, head.digest):
            return None
        return history

    def _reader(self) -> ThreadReader:
        return ThreadReader(
            self._backing, self._record.key, self._record.head, tail=self._record.tail
        )

    async def get_messages(self, *, last: int | None = None) -> list[Message]:
        """
        Return all messages, oldest first, archived ones included.

        Args:
            last: Return the newest *last* alone, which costs the same at any length.

        Raises:
            ConfigError: *last* is below 0, or no whole number.
            StoreCorruptError: A message is missing or damaged.
            ThreadConflictError: Somebody has cleared the thread since it was read.
            ThreadNotFoundError: Somebody has deleted it.
        """
        check_count("last", 0 if last is None else last)
        count = self.count
        start = 0 if last is None else max(0, count - last)
        return await self._guarded(lambda reader: reader.messages(start, count))

    async def get_range(self, start: int, stop: int | None = None) -> list[Message]:
        """
        Return the messages from the index *start* up to *stop*, with the system messages there.

        Raises:
            StoreCorruptError: A message is missing or damaged.
        """
        check_index("start", start)
        check_index("stop", 0 if stop is None else stop)
        stop = self.length if stop is None else min(stop, self.length)
        if not 0 <= start <= stop:
            message = f"start={start}: allowed is 0 to {stop}"
            raise ConfigError(message)

        async def _read(reader: ThreadReader) -> list[Message]:
            # The system messages in front of everything belong to the range from 0 on.
            first = await reader.seq_of(start) if start else 0
            return await reader.messages(first, await reader.seq_of(stop))

        return await self._guarded(_read)

    async def working_messages(self) -> list[Message]:
        """Return the messages that are not archived, and the system messages among them."""
        return await self.get_range(self.archived)

    async def window(
        self,
        *,
        config_fingerprint: str | None = None,
        counting_unit: CountingUnit | None = None,
        whole: bool = False,
    ) -> ThreadWindow:
        """
        Return what a turn needs: the last reduction and the messages behind its cut.

        It costs the same however long the thread is. Where no reduction fits, it is the whole
        history.

        Args:
            config_fingerprint: The fingerprint that the reduction must have; any where None.
            counting_unit: The unit that it must have; any where None.
            whole: Whether the whole history is wanted, and no reduction.
        """
        reduction = None if whole else await self._fitting(config_fingerprint, counting_unit)
        history = await self._history_behind(reduction)
        end = 0 if reduction is None else reduction.summarized_up_to_index
        if end == len(history) and history.last_user() is None:
            # Rewound to its cut, a thread where no user has spoken has nothing that a view shows.
            reduction, history = None, await self._history_behind(None)
        return ThreadWindow(history=history, reduction=reduction)

    async def _history_behind(self, reduction: HistoryReductionState | None) -> History:
        history = self._current_history()
        start = 0 if reduction is None else reduction.summarized_up_to_index
        if history is None or history.start > start:
            history = await self._guarded(lambda reader: reader.window(reduction))
            self._history = history
        return history

    async def _fitting(
        self, config_fingerprint: str | None, counting_unit: CountingUnit | None
    ) -> HistoryReductionState | None:
        def fits(state: HistoryReductionState) -> bool:
            return config_fingerprint in {None, state.config_fingerprint} and counting_unit in {
                None,
                state.counting_unit,
            }

        newest = self._record.reduction
        if newest is None or fits(newest):
            return newest
        return next((state for state in await self.reductions() if fits(state)), None)

    async def reductions(self) -> list[HistoryReductionState]:
        """
        Return every reduction of the thread that is still valid, the newest first.

        At an earlier moment it is every one of now that stands for messages of that moment alone.
        """
        known = await stored_reductions(self._backing, self._record)
        if self._seen is not None:
            known = await fitting_reductions(self._reader(), known)
        return [one.state for one in known]

    async def title(self) -> str:
        """Return the display name, or else the beginning of the first user message."""
        if self.display_name:
            return self.display_name
        for message in await self._first_messages():
            if message.role == "user" and message.text.strip():
                text = " ".join(message.text.split())
                is_long = len(text) > _NAME_LENGTH
                return text[: _NAME_LENGTH - 3] + "..." if is_long else text
        return _UNNAMED

    async def _first_messages(self) -> list[Message]:
        stop = min(self.count, _LOOKED_AT)
        return await self._guarded(lambda reader: reader.messages(0, stop))

    async def to_snapshot(self) -> bytes:
        """
        Return the whole thread as one JSON document, which `ThreadStore.restore` reads.

        In that of an earlier moment no run is open, and so none is resumed: which tools had begun
        is kept for the newest moment alone.
        """
        record, state = self._record, self._record.execution
        if self._seen is not None and state is not None and state.is_open:
            record = structs.replace(record, execution=state.terminated(_OVERTAKEN))
        return encode_snapshot(record, await self.get_messages())

    async def search(self, text: str, *, limit: int = 20) -> list[Match]:
        """
        Return the newest messages that hold every word of *text*.

        Words are found whatever their case; a phrase in double quotes must stand as it is.

        Raises:
            ConfigError: *text* has no word.
            StoreCorruptError: A message is missing or damaged.
            ThreadConflictError: Somebody has cleared the thread since it was read.
            ThreadNotFoundError: Somebody has deleted it.
        """
        return await self._guarded(
            lambda _: find_messages(self._backing, self._record, text, limit=limit)
        )

    async def _fork(self, thread_id: str, at: int | None) -> ThreadRecord:
        check_index("at", 0 if at is None else at)
        key = ThreadKey(self.tenant, thread_id)
        if is_expired(self._backing, self._record):
            raise ThreadNotFoundError(thread_id=self.id)
        planned = await self._guarded(lambda _: forked(self._backing, self._record, key, at))
        # Somebody else may have let this thread expire since it was read.
        await make_room(self._backing, self.key)
        await make_room(self._backing, key)
        try:
            await carry_out(self._backing, planned)
        except ThreadConflictError:
            raise ThreadExistsError(thread_id=thread_id) from None
        except ThreadNotFoundError:
            error = await self._left_behind()
            raise error or ThreadNotFoundError(thread_id=self.id) from None
        return planned.record

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
        """Return what became of the thread since it was read; None where it is as it was."""
        stored = await self._backing.storage.load(self.key)
        if stored is None:
            return ThreadNotFoundError(thread_id=self.id)
        seen = self.head if self._seen is None else self._seen
        head = open_head(self._backing.vault, stored)
        if head.created_at == seen.created_at and stored.revision != seen.revision:
            return self._conflict(stored.revision)
        # A thread that was deleted and made again may have come to the same revision.
        is_same = head.branch == seen.branch
        return None if is_same else ThreadNotFoundError(thread_id=self.id)

    def _conflict(self, actual: int, *, expected: int | None = None) -> ThreadConflictError:
        expected = self.revision if expected is None else expected
        return ThreadConflictError(thread_id=self.id, expected=expected, actual=actual)
