"""The reduction: an immutable record that a prefix is represented by a summary, or by nothing."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Self

import msgspec
from msgspec import Struct

from foldline.checks import expect, expect_whole
from foldline.errors import (
    ConfigError,
    FormatError,
    HistoryTooShortError,
    IntegrityError,
    NewerFormatError,
)
from foldline.history.codec import without_values
from foldline.history.digest import EMPTY_DIGEST, prefix_digest
from foldline.history.history import History
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import TextPart
from foldline.history.units import CountingUnit
from foldline.reduction.contract import cleaned


__all__ = [
    "EMPTY_HASH",
    "MAX_PREVIOUS",
    "STATE_FORMAT",
    "HistoryReductionState",
    "SummaryLayer",
    "hash_of",
    "hash_text",
    "join_layers",
    "linked",
    "same_hash",
]


STATE_FORMAT = 1
"""The number of the stored form of a reduction; a reader refuses a higher one."""

MAX_PREVIOUS = 8
"""How many earlier reductions a reduction carries along."""

_HASH_PREFIX = "sha256-2:"


class SummaryLayer(Struct, frozen=True, kw_only=True):
    """One of several summaries, which stands for a span of its own."""

    summary: str
    """The text."""

    start: int
    """The index of the first message that it stands for."""

    end: int
    """The index behind the last one."""

    message_hash: str
    """The digest of the whole prefix up to *end*."""

    tokens: int = 0
    """The estimated tokens of the text."""

    level: int = 0
    """How often its contents were merged: 0 for a layer written from messages."""


class HistoryReductionState(Struct, frozen=True, kw_only=True):
    """
    A reduction: what stands for the first messages of a history, and how to know them again.

    It is portable (JSON both ways), never changes, and holds no message. All indexes count the
    messages that are not system messages.
    """

    summarized_up_to_index: int
    """The cut: the number of messages that the summary stands for."""

    message_count_at_reduction: int
    """The count, in the unit, when the reduction was made."""

    summary_content: str
    """The summary; empty where old messages were dropped without one."""

    created_at: datetime
    """When the reduction was made."""

    message_hash: str
    """The digest of the prefix, with the version of its making in front."""

    target_count: int
    """The target when the reduction was made; the live configuration decides, not this."""

    reduction_threshold: int
    """The threshold when the reduction was made."""

    counting_unit: CountingUnit = "messages"
    """The unit of the three numbers above."""

    layers: tuple[SummaryLayer, ...] = ()
    """The summaries one by one, oldest first, where there are layers."""

    pinned_index: int | None = None
    """The last user message at that time, where the cut has passed it: it stays in the view."""

    summary_tokens: int = 0
    """The estimated tokens of the summary."""

    config_fingerprint: str = ""
    """What shaped the summary; a reduction made otherwise is not used."""

    previous: "HistoryReductionState | None" = None
    """The reduction before this one, for the case that the history is rewound."""

    failed_hash: str = ""
    """The digest of the prefix that could not be folded at first."""

    failed_index: int = 0
    """The length of that prefix."""

    failed_attempts: int = 0
    """How often folding failed since the last reduction."""

    failed_units: int = 0
    """How much had gathered behind the cut at the last failure, in the unit."""

    format: int = STATE_FORMAT
    """The number of the stored form."""

    @classmethod
    def create(  # noqa: PLR0913 - the fields of the original, each by its name
        cls,
        messages: Sequence[Message],
        summary_content: str,
        summarized_up_to_index: int,
        *,
        target_count: int,
        reduction_threshold: int,
        message_count_at_reduction: int,
        created_at: datetime,
        counting_unit: CountingUnit = "messages",
        config_fingerprint: str = "",
    ) -> Self:
        """
        Make the reduction in which *summary_content* stands for the first messages.

        Args:
            messages: The history, without system messages; a `History` saves hashing it anew.
            summary_content: The summary.
            summarized_up_to_index: How many messages it stands for. The digest covers what
                exists where there are fewer.
            target_count: The target in force.
            reduction_threshold: The threshold in force.
            message_count_at_reduction: The count in *counting_unit*.
            created_at: The time.
            counting_unit: The unit of the three numbers.
            config_fingerprint: What shaped the summary.

        Raises:
            ConfigError: *messages* are no messages, or *summarized_up_to_index* is negative, or
                parts a call from its answer in the same exchange, so that the rest would be no
                valid request.
        """
        _check_cut(messages, summarized_up_to_index)
        return cls(
            summarized_up_to_index=summarized_up_to_index,
            message_count_at_reduction=message_count_at_reduction,
            summary_content=cleaned(summary_content),
            created_at=created_at,
            message_hash=hash_of(messages, min(summarized_up_to_index, len(messages))),
            target_count=target_count,
            reduction_threshold=reduction_threshold,
            counting_unit=counting_unit,
            config_fingerprint=config_fingerprint,
        )

    def is_valid_for(self, count: int, unit: CountingUnit) -> bool:
        """
        Whether a history of *count* is still near enough to the count at the reduction.

        This is the record's own arithmetic with its stored threshold; it knows nothing of the
        content. The run time decides by digest and by the live configuration instead.
        """
        grown = count - self.message_count_at_reduction
        return unit == self.counting_unit and 0 <= grown <= self.reduction_threshold

    def validate_integrity(self, messages: Sequence[Message]) -> bool:
        """
        Whether the first messages are still those that the reduction was made of.

        Raises:
            HistoryTooShortError: There are fewer *messages* than the reduction covers.
        """
        index = self.summarized_up_to_index
        if len(messages) < index:
            raise HistoryTooShortError(count=len(messages), index=index)
        return index == 0 or same_hash(hash_of(messages, index), self.message_hash)

    def apply_to_messages(
        self, messages: Sequence[Message], system_message: Message | None = None
    ) -> list[Message]:
        """
        Return *system_message*, the summary, the pinned message and the rest of *messages*.

        Args:
            messages: The full history, without system messages.
            system_message: What stands in front, where there is one.

        Raises:
            HistoryTooShortError: There are fewer *messages* than the reduction covers.
            IntegrityError: The first messages are not those that the reduction was made of.
        """
        if not self.validate_integrity(messages):
            raise IntegrityError(index=self.summarized_up_to_index)
        front = [] if system_message is None else [system_message]
        return [
            *front,
            *self.summary_messages(),
            *self.pinned_messages(messages),
            *messages[self.summarized_up_to_index :],
        ]

    def summary_messages(self) -> list[Message]:
        """
        Return the summaries as labelled assistant messages, oldest first; none for an empty one.
        """
        if not self.layers:
            return [_summary_message(self.summary_content)] if self.summary_content else []
        return [_summary_message(layer.summary) for layer in self.layers]

    def pinned_messages(self, messages: Sequence[Message]) -> list[Message]:
        """Return the pinned message out of *messages*, in a list; empty where none is pinned."""
        return [] if self.pinned_index is None else [messages[self.pinned_index]]

    def earlier(self) -> Iterator["HistoryReductionState"]:
        """
        Give this reduction and every earlier one that it still knows, the longest first.

        A layered reduction without its last layers is an earlier reduction too.
        """
        for state in self.chain():
            yield state
            for size in range(len(state.layers) - 1, 0, -1):
                yield _with_layers(state, size)

    def chain(self) -> Iterator["HistoryReductionState"]:
        """Give this reduction and each one before it, the newest first."""
        state: HistoryReductionState | None = self
        while state is not None:
            yield state
            state = state.previous

    def behind(self, previous: "HistoryReductionState | None") -> Self:
        """
        Return this reduction with *previous* before it, and no more than `MAX_PREVIOUS` in all.
        """
        if previous is not None and previous.summarized_up_to_index == 0:
            # It only notes failures.
            previous = previous.previous
        return msgspec.structs.replace(self, previous=_shortened(previous, MAX_PREVIOUS))

    def goes_back_from(self, newest: "HistoryReductionState | None") -> bool:
        """Whether this reduction stands for less than *newest*, which was made alike."""
        return (
            newest is not None
            and self.summarized_up_to_index < newest.summarized_up_to_index
            and self.config_fingerprint == newest.config_fingerprint
            and self.counting_unit == newest.counting_unit
        )

    def is_noted_on(self, newest: "HistoryReductionState | None") -> bool:
        """Whether this reduction is *newest*, with other notes of failures at most."""
        return newest is not None and (
            self.message_hash == newest.message_hash
            and self.config_fingerprint == newest.config_fingerprint
            and self.counting_unit == newest.counting_unit
            and self.created_at == newest.created_at
        )

    def to_json(self) -> bytes:
        """Write the reduction as JSON."""
        return _ENCODER.encode(self)

    @classmethod
    def from_json(cls, data: bytes | str) -> "HistoryReductionState":
        """
        Read what `to_json` wrote.

        Raises:
            FormatError: *data* is not a reduction, or was written by a newer foldline.
        """
        try:
            state = _DECODER.decode(data)
        except RecursionError:
            message = "not a reduction: nested too deeply"
        except TypeError:
            message = f"not a reduction: a {type(data).__name__} is neither bytes nor text"
        except (msgspec.MsgspecError, UnicodeError) as error:
            message = f"not a reduction: {without_values(error)}"
        else:
            return _readable(state)
        # Outside the handler, since the error of msgspec may quote text of a conversation.
        raise FormatError(message)


_DECODER = msgspec.json.Decoder(HistoryReductionState)
_ENCODER = msgspec.json.Encoder()


def _check_cut(messages: Sequence[Message], index: int) -> None:
    expect_whole("summarized_up_to_index", index, 0)
    expect("messages", messages, Sequence)
    if not isinstance(messages, History):
        for place, one in enumerate(messages):
            expect(f"messages[{place}]", one, Message)
    call_id = _parted_call(messages, index)
    if call_id is not None:
        message = f"summarized_up_to_index={index}: it parts call {call_id!r} from its answer"
        raise ConfigError(message)


def _parted_call(messages: Sequence[Message], index: int) -> str | None:
    """
    Return the id of a call before *index* that is answered behind it, in the same exchange, or None.
    """
    first = messages.start if isinstance(messages, History) else 0
    start = max(first, min(index, len(messages)))
    while start > first and messages[start - 1].role != "user":
        start -= 1
    calls: dict[str, list[int]] = {}
    for position in range(start, len(messages)):
        message = messages[position]
        if position >= index and message.role == "user":
            break
        if message.role == "assistant":
            for call in message.tool_calls:
                calls.setdefault(call.id, []).append(position)
        for answer in message.tool_call_responses:
            if calls.get(answer.id) and calls[answer.id].pop() < index <= position:
                return answer.id
    return None


def _summary_message(text: str) -> Message:
    return Message(role="assistant", parts=(TextPart(text),), metadata={SUMMARY_KEY: True})


def _readable(state: HistoryReductionState) -> HistoryReductionState:
    if state.format > STATE_FORMAT:
        raise NewerFormatError(what="reduction", found=state.format, known=STATE_FORMAT)
    for one in state.chain():
        cut, pinned = one.summarized_up_to_index, one.pinned_index
        if cut < 0 or (pinned is not None and not 0 <= pinned < cut):
            message = f"not a reduction: message {pinned} pinned, and a cut at {cut}"
            raise FormatError(message)
    return state


def hash_of(messages: Sequence[Message], index: int) -> str:
    """Return the digest of the first *index* of *messages* in its stored form."""
    if isinstance(messages, History):
        digest = messages.digest(index)
    else:
        digest = prefix_digest(messages[:index])
    return hash_text(digest)


def hash_text(digest: bytes) -> str:
    """Return the stored form of the prefix digest *digest*."""
    return _HASH_PREFIX + digest.hex()


def same_hash(one: str, other: str) -> bool:
    """
    Whether two stored forms are of the same digest, whatever version made it.

    A thread whose first rows were stored with version 1 goes on from the digest of the last of
    them. What stands for these rows then names version 1 and is as good as new.
    """
    return one == other or one.partition(":")[2] == other.partition(":")[2]


EMPTY_HASH = hash_text(EMPTY_DIGEST)
"""The stored form of the digest of no messages."""


def join_layers(layers: Sequence[SummaryLayer]) -> str:
    """Return the texts of *layers* as one."""
    return "\n\n".join(layer.summary for layer in layers)


def linked(states: Iterable[HistoryReductionState]) -> HistoryReductionState | None:
    """
    Return the first of *states* with the others before it, in their order; None where there are none.
    """
    known = None
    for state in reversed(tuple(states)):
        known = state.behind(known)
    return known


def _with_layers(state: HistoryReductionState, size: int) -> HistoryReductionState:
    layers = state.layers[:size]
    return msgspec.structs.replace(
        state,
        summarized_up_to_index=layers[-1].end,
        message_hash=layers[-1].message_hash,
        summary_content=join_layers(layers),
        summary_tokens=sum(layer.tokens for layer in layers),
        layers=layers,
        pinned_index=None,
    )


def _shortened(state: HistoryReductionState | None, length: int) -> HistoryReductionState | None:
    if state is None or length == 0:
        return None
    return msgspec.structs.replace(state, previous=_shortened(state.previous, length - 1))
