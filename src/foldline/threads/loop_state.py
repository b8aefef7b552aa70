"""The execution state of a run between two steps."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self, TypeAlias, overload

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import (
    CheckpointError,
    CheckpointStaleError,
    FormatError,
    MessagesNotLoadedError,
    StoreVersionError,
)
from foldline.history.codec import decode_json, encode_json, without_values
from foldline.history.digest import EMPTY_DIGEST
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.meter import PrefixMark
from foldline.reduction.state import HistoryReductionState


LOOP_FORMAT: Final = 1
"""
The number of the stored form of an execution state; a reader refuses a higher one.

Fields have been added under number 1, since no version that would drop them was released. From the
first release on, a field without which a run would continue wrongly takes a new number.
"""

COMPLETED: Final = "Completed successfully"
"""The termination reason of a run that came to its end."""

STOPPED: Final = "Its reader left"
"""The termination reason of a run whose answer nobody wanted to read to its end."""

_MODELS_KEPT = 8

CheckpointSource: TypeAlias = Literal["root", "input", "loop", "fork"]
"""What a checkpoint was made after: nothing yet, an input, a step of the loop, a fork."""


class CurrentMessages(Sequence[Message]):
    """
    Stands for the full history of a thread at one moment, without holding it.

    Its length is known at once. A message can be read if the history is in memory.
    """

    __slots__ = ("_count", "_history", "digest")

    def __init__(
        self, count: int = 0, digest: bytes = EMPTY_DIGEST, *, history: History | None = None
    ) -> None:
        """Refer to *count* messages, system messages included, which have the prefix *digest*."""
        self._count = count
        self.digest = digest
        """The prefix digest of the messages that are not system messages."""
        self._history = history

    @classmethod
    def of(cls, history: History) -> Self:
        """Stand for all of *history* as it is now."""
        return cls(history.total, history.digest(), history=history)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self._read(at) for at in range(*index.indices(self._count))]
        return self._read(range(self._count)[index])

    def _read(self, index: int) -> Message:
        if self._history is None:
            raise MessagesNotLoadedError(index=index, start=self._count)
        return self._history.at(index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CurrentMessages):
            return NotImplemented
        return (self._count, self.digest) == (len(other), other.digest)

    def __hash__(self) -> int:
        return hash((self._count, self.digest))


class LearnedModel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the answers and refusals of a model have shown."""

    ratio: float = 1.0
    """What its vendor counts for one estimated token."""

    window: int | None = None
    """The most tokens that it takes, if it has refused more."""

    configured: int | None = None
    """The window that the configuration named then: with another one it has to show it again."""


class SentRequest(PrefixMark, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of the last request, to know what of it the next one sends again."""

    model: str = ""
    # A digest of the tools.
    tools: bytes = b""
    # The cut of the active reduction, and a hash of what the view showed of it.
    cut: int = 0
    reduction: str = ""
    # The length of the history, and the beginning of its digest.
    length: int = 0
    said: bytes = b""
    at: datetime | None = None
    # The vendor's id of the answer.
    response_id: str | None = None
    # What the vendor counted; 0 if it did not say.
    counted: int = 0
    # Whether the vendor holds it as a conversation.
    is_held: bool = False


class AgentLoopState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The immutable state of a run; every transition returns a new one."""

    run_id: str
    """The id of the run."""

    conversation_id: str
    """The id of the thread."""

    started_at: datetime
    """When the run began."""

    agent_name: str = ""
    """The name of the agent."""

    turn_id: str = ""
    """The id of the turn; empty if it has none."""

    current_messages: CurrentMessages = CurrentMessages()
    """The full history as of this state."""

    turn_start: int = 0
    """How many messages, system messages included, there were before this turn."""

    iteration: int = 0
    """The number of the model call, from 0."""

    is_terminated: bool = False
    """Whether the run has ended."""

    termination_reason: str | None = None
    """Why it has."""

    consecutive_failures: int = 0
    """How many model calls in a row led to tool calls that failed without exception."""

    last_signatures: Mapping[str, str] = {}
    """For each tool, what it was last called with, as a digest."""

    repeat_counts: Mapping[str, int] = {}
    """For each tool, how often in a row it was called with that."""

    completed_functions: frozenset[str] = frozenset()
    """The names of the tools that were called and answered in this run."""

    active_reduction: HistoryReductionState | None = None
    """The active reduction."""

    service_thread_id: str | None = None
    """The id of the conversation at the vendor, if the vendor holds the history."""

    service_watermark: int = 0
    """How many messages of the full history the vendor holds, its own answers included."""

    service_mark: str = ""
    """A digest of what the vendor holds, to notice a history that has diverged."""

    learned: Mapping[str, LearnedModel] = {}
    """What was learned of up to 8 models, by name."""

    last_request: SentRequest | None = None
    """The last request of the thread, which a vendor may have in its cache."""

    last_assistant_message_id: str | None = None
    """The vendor's id of the last answer."""

    metadata: Mapping[str, str] = {}
    """Values of the agent's owner."""

    format: int = LOOP_FORMAT
    """The number of the stored form."""

    @property
    def is_open(self) -> bool:
        """Whether the run can be resumed: it has begun and not ended."""
        return not self.is_terminated

    def next_iteration(self) -> Self:
        """Return the state with the next iteration begun."""
        return replace(self, iteration=self.iteration + 1)

    def with_success(self) -> Self:
        """Return the state with no failures in a row."""
        return replace(self, consecutive_failures=0)

    def with_failure(self) -> Self:
        """Return the state with one more failure in a row."""
        return replace(self, consecutive_failures=self.consecutive_failures + 1)

    def with_completed(self, names: Iterable[str]) -> Self:
        """Return the state with the tools *names* called and answered."""
        return replace(self, completed_functions=self.completed_functions.union(names))

    def with_tool_call(self, name: str, signature: str) -> Self:
        """Return the state with a call of the tool *name* noted, *signature* a digest of it."""
        is_repeat = self.last_signatures.get(name) == signature
        repeats = self.repeat_counts.get(name, 0) + 1 if is_repeat else 1
        return replace(
            self,
            last_signatures={**self.last_signatures, name: signature},
            repeat_counts={**self.repeat_counts, name: repeats},
        )

    def with_reduction(self, reduction: HistoryReductionState | None) -> Self:
        """Return the state with *reduction* as the active one."""
        return replace(self, active_reduction=reduction)

    def with_service(self, thread_id: str | None, watermark: int = 0, *, mark: str = "") -> Self:
        """Return the state with what the vendor holds, which is nothing if *thread_id* is None."""
        is_held = thread_id is not None
        return replace(
            self,
            service_thread_id=thread_id,
            service_watermark=watermark if is_held else 0,
            service_mark=mark if is_held else "",
        )

    def with_vendor(
        self,
        model: str,
        *,
        ratio: float,
        window: int | None = None,
        configured: int | None = None,
    ) -> Self:
        """Return the state with what was learned of *model*: its count, and that it takes less."""
        known = self.learned.get(model)
        before = known.window if known and known.configured == configured else None
        least = min(filter(None, (before, window)), default=None)
        others = [(name, one) for name, one in self.learned.items() if name != model]
        newest = (model, LearnedModel(ratio=ratio, window=least, configured=configured))
        return replace(self, learned=dict([*others, newest][-_MODELS_KEPT:]))

    def terminated(self, reason: str) -> Self:
        """Return the state with the run ended for *reason*."""
        return replace(self, is_terminated=True, termination_reason=reason)

    def validate_consistency(self, count: int, *, allow_stale: bool = False) -> None:
        """
        Check that this state belongs to a conversation with *count* messages.

        Args:
            count: How many messages the thread holds, system messages included.
            allow_stale: Whether another count is accepted.

        Raises:
            CheckpointStaleError: The counts differ.
            CheckpointError: A number in it is invalid.
        """
        expected = len(self.current_messages)
        if not allow_stale and count != expected:
            raise CheckpointStaleError(count=count, expected=expected, iteration=self.iteration)
        numbers = (
            ("iteration", self.iteration),
            ("ConsecutiveFailures", self.consecutive_failures),
            ("turn_start", self.turn_start),
            ("service_watermark", self.service_watermark),
        )
        for name, number in numbers:
            if number < 0 or (name == "turn_start" and number > expected):
                raise CheckpointError(f"Checkpoint has invalid {name}: {number}")

    def to_json(self) -> bytes:
        """Write the state as JSON; of the messages, their count and digest."""
        try:
            return _ENCODER.encode(self)
        except UnicodeEncodeError:
            # A name that a model made up may contain a lone surrogate.
            return encode_json(msgspec.to_builtins(self, enc_hook=to_plain))

    @classmethod
    def from_json(cls, data: bytes | str) -> "AgentLoopState":
        """
        Read what `to_json` wrote; reading a message of it needs the thread.

        Raises:
            FormatError: *data* is not an execution state.
            StoreVersionError: It was written by a newer foldline.
        """
        try:
            state = _DECODER.decode(data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):
            return cls._from_odd_json(data)
        return state if state.format <= LOOP_FORMAT else cls._from_odd_json(data)

    @classmethod
    def _from_odd_json(cls, data: bytes | str) -> "AgentLoopState":
        """Read unusual JSON such as NaN, and say what is wrong with the rest."""
        try:
            value = decode_json(data)
            found = msgspec.convert(value, _Format).format
            if found > LOOP_FORMAT:
                raise StoreVersionError(what="a checkpoint", found=found, known=LOOP_FORMAT)
            return msgspec.convert(value, AgentLoopState, dec_hook=_from_plain)
        except TypeError:
            message = f"not an execution state: got {type(data).__name__}, not bytes or str"
        except UnicodeEncodeError:
            message = "not an execution state: a string is in a place for something else"
        except msgspec.MsgspecError as error:
            message = f"not an execution state: {without_values(error)}"
        # Outside the handler, since the error of msgspec may quote a value.
        raise FormatError(message)


class Checkpoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A kept moment: a position of a thread and the execution state there, without messages."""

    id: str
    """The id within the thread."""

    created_at: datetime
    """When it was made."""

    source: CheckpointSource
    """What it was made after."""

    step: int
    """The iteration of the state; -1 for the root."""

    message_index: int
    """How many messages the thread held; -1 for the root."""

    head: bytes = b""
    """The head of the thread at that moment; empty for the root."""

    state: str | None = None
    """The execution state as JSON; None for the root."""

    def execution_state(self) -> AgentLoopState | None:
        """Return the execution state of that moment."""
        return None if self.state is None else AgentLoopState.from_json(self.state)


class _Format(Struct):
    format: int = 1


def to_plain(value: object) -> Any:
    """Return what msgspec writes in place of *value*, the messages of a state."""
    if isinstance(value, CurrentMessages):
        return {"count": len(value), "digest": value.digest.hex()}
    raise NotImplementedError


def _from_plain(kind: type, value: Any) -> Any:
    if kind is not CurrentMessages:
        raise NotImplementedError
    plain = msgspec.convert(value, _Plain)
    try:
        return CurrentMessages(plain.count, bytes.fromhex(plain.digest))
    except ValueError as error:
        raise msgspec.ValidationError("digest") from error


class _Plain(Struct):
    # As `len` can return it.
    count: Annotated[int, msgspec.Meta(ge=0, le=sys.maxsize)]
    digest: str


# A set has another order in each process.
_ENCODER = msgspec.json.Encoder(enc_hook=to_plain, order="deterministic")
_DECODER = msgspec.json.Decoder(AgentLoopState, dec_hook=_from_plain)
