"""
The reduction: an immutable record that a prefix is represented by a summary, or by nothing.

A reduction knows the prefix by its digest, and its own text by another one, so what does not fit or
was damaged is a miss. It carries earlier reductions along, fewer the further back they are, since
one of them may still fit after an edit or a rewind.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Self

import msgspec
from msgspec import Struct

from foldline.errors import FormatError, HistoryTooShortError, IntegrityError, NewerFormatError
from foldline.history.codec import canonical_json, without_values
from foldline.history.digest import hash_text, prefix_digest, same_hash
from foldline.history.history import History
from foldline.history.messages import SUMMARY_KEY, Message, Usage
from foldline.history.parts import TextPart
from foldline.history.units import CountingUnit
from foldline.reduction.carried import Carried, Carrier, kept, linked, packed, unpacked
from foldline.reduction.cut import check_cut
from foldline.reduction.quotes import Quote, joined
from foldline.reduction.reading import Reading
from foldline.reduction.record import SummaryRecord
from foldline.reduction.sendable import cleaned
from foldline.reduction.shortening import Shortened
from foldline.reduction.spans import Span, SummaryLayer, join_layers, spans_of


STATE_FORMAT = 2
"""The number of the stored form of a reduction; a reader refuses a higher one."""

LABEL_TOKENS = 32
"""What the label of a summary costs."""


# With a dictionary, so that what depends on the record alone is worked out once.
class HistoryReductionState(Struct, frozen=True, kw_only=True, dict=True):
    """
    A reduction: what represents the first messages of a history, and how to recognize them.

    It is portable (JSON both ways), never changes, and holds no message. All indexes count the
    messages that are not system messages.
    """

    summarized_up_to_index: int
    """The cut: the number of messages that the summary represents."""

    message_count_at_reduction: int
    """The count, in the unit, when the reduction was made."""

    summary_content: str
    """The summary; empty if old messages were dropped without one."""

    created_at: datetime
    """When the reduction was made."""

    message_hash: str
    """The digest of the prefix, with the version of its making in front."""

    target_count: int
    """The target when the reduction was made; the current configuration decides, not this."""

    reduction_threshold: int
    """The threshold when the reduction was made."""

    counting_unit: CountingUnit = "messages"
    """The unit of the three numbers above."""

    layers: tuple[SummaryLayer, ...] = ()
    """The summaries one by one, oldest first, if there are layers."""

    pinned_index: int | None = None
    """The last user message at that time, if the cut has passed it: it stays in the view."""

    summary_tokens: int = 0
    """The estimated tokens of the summary."""

    config_fingerprint: str = ""
    """What shaped the summary; a reduction made otherwise is not used."""

    previous: "HistoryReductionState | None" = None
    """The reduction before this one, in case the history is edited or rewound."""

    number: int = 0
    """How many reductions were made up to this one; 0 if it was not counted."""

    history_length: int = 0
    """How many messages there were when the reduction was made; 0 if that was not noted."""

    quotes: tuple[Quote, ...] = ()
    """What of the first messages stays word for word, beside the summary."""

    shortened: tuple[Shortened, ...] = ()
    """The messages that are shown clipped or cleared, oldest first."""

    sealed_item: Message | None = None
    """A vendor's own compaction item that the cut has passed; it stays in front of the view."""

    sealed_index: int | None = None
    """Where that item was; None if that was not noted."""

    thinking_from: int | None = None
    """The first message whose bound thinking a view may send, if not the one after *history_length*:
    clipping what is new changes nothing before it, and one in place of a newer one leaves out all."""

    summarizer: str = ""
    """What wrote the summary; empty if nothing was written, or that was not noted."""

    summarizer_calls: int = 0
    """How often summarizers were asked for it."""

    summarizer_usage: Usage | None = None
    """What the vendors of the summarizers counted for it; None if none said."""

    readings: tuple[Reading, ...] = ()
    """What each of the summarizers that were asked for it read; empty if that was not noted."""

    summary_hash: str = ""
    """The digest of all that a view takes from the record; empty in records of earlier versions."""

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
        Make the reduction in which *summary_content* represents the first messages.

        Args:
            messages: The history, without system messages; a `History` saves hashing it again.
            summary_content: The summary.
            summarized_up_to_index: How many messages it represents. If there are fewer, the digest
                covers those that exist.
            target_count: The current target.
            reduction_threshold: The current threshold.
            message_count_at_reduction: The count in *counting_unit*.
            created_at: The time.
            counting_unit: The unit of the three numbers.
            config_fingerprint: What shaped the summary.

        Raises:
            ConfigError: *messages* are not messages, or *summarized_up_to_index* is negative, or
                separates a call from its answer, so that the rest would not be a valid request.
        """
        check_cut(messages, summarized_up_to_index)
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
            history_length=len(messages),
        ).sealed()

    def is_valid_for(self, count: int, unit: CountingUnit) -> bool:
        """
        Whether a history of *count* is still near enough to the count at the reduction.

        This compares the record's own numbers with its stored threshold and ignores the content. A
        reducer decides by digest and by the current configuration instead.
        """
        grown = count - self.message_count_at_reduction
        return unit == self.counting_unit and 0 <= grown <= self.reduction_threshold

    def validate_integrity(self, messages: Sequence[Message]) -> bool:
        """
        Whether summary and first messages are still those of the reduction.

        Raises:
            HistoryTooShortError: There are fewer *messages* than the reduction covers.
        """
        index = self.summarized_up_to_index
        if len(messages) < index:
            raise HistoryTooShortError(count=len(messages), index=index)
        is_same = not index or same_hash(hash_of(messages, index), self.message_hash)
        return is_same and self.is_whole

    def apply_to_messages(
        self, messages: Sequence[Message], system_message: Message | None = None
    ) -> list[Message]:
        """
        Return *system_message*, the summary, the pinned message and the rest of *messages*.

        Args:
            messages: The full history, without system messages.
            system_message: What comes first, if there is one.

        Raises:
            HistoryTooShortError: There are fewer *messages* than the reduction covers.
            IntegrityError: The summary or the first messages are not those of the reduction.
        """
        if not self.validate_integrity(messages):
            raise IntegrityError(index=self.summarized_up_to_index)
        return [
            *([] if system_message is None else [system_message]),
            *self.front_messages(messages),
            *([] if self.pinned_index is None else [messages[self.pinned_index]]),
            *messages[self.summarized_up_to_index :],
        ]

    def front_messages(self, history: Sequence[Message] = ()) -> list[Message]:
        """Return what stands for the first messages: a sealed item, pins of *history*, and summaries."""
        sealed, pins = () if self.sealed_item is None else (self.sealed_item,), self.shown_pins
        # A fold changes only what comes after them, so that they stay in the vendor's prompt cache.
        shown = [history[at] for at in pins] if pins and history else ()
        return [*sealed, *shown, *self._summaries]

    @cached_property
    def shown_pins(self) -> Mapping[int, int]:
        """The tokens of the pinned messages that the view shows with their files, by their indexes."""
        shown = [one for one in self.quotes if one.is_message and one.index != self.pinned_index]
        return {one.index: one.tokens for one in shown}

    def summary_messages(self) -> list[Message]:
        """
        Return the summaries as labelled assistant messages, oldest first; none for an empty one.

        The quotes are at the end of the summary, or come after the layers as a message of their own.
        Each message has the time and the range of messages that it represents in its metadata.
        """
        return list(self._summaries)

    @cached_property
    def _summaries(self) -> tuple[Message, ...]:
        if self.layers:
            spans = [(layer.summary, layer.start, layer.end) for layer in self.layers]
            if quotes := joined("", self.quotes):
                spans.append((quotes, 0, self.summarized_up_to_index))
        else:
            text = joined(self.summary_content, self.quotes)
            spans = [(text, 0, self.summarized_up_to_index)] if text else []
        return tuple(self._labelled(*span) for span in spans)

    def _labelled(self, text: str, start: int, end: int) -> Message:
        label = {
            SUMMARY_KEY: True,
            "__created_at__": self.created_at.isoformat(),
            "__summarized_range__": [start, end],
        }
        return Message(role="assistant", parts=(TextPart(text),), metadata=label)

    @property
    def covered(self) -> tuple[int, str]:
        """How many messages the view takes something else for, and the stored form of their digest."""
        last = self.shortened[-1] if self.shortened else None
        if last is None or last.index < self.summarized_up_to_index:
            return self.summarized_up_to_index, self.message_hash
        return last.index + 1, hash_text(bytes.fromhex(last.digest))

    @cached_property
    def record(self) -> SummaryRecord | None:
        """The summary as lists of what it holds; None without one. A free text is its narrative."""
        from foldline.reduction.layered import record_of  # noqa: PLC0415 - a hit does without

        end, layers = self.summarized_up_to_index, self.layers
        return record_of(end, summary=self.summary_content, layers=layers)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans of the history that the view shows something else for, oldest first."""
        return spans_of(
            self.summarized_up_to_index,
            summary=self.summary_content,
            layers=self.layers,
            shortened=(one.index for one in self.shortened),
        )

    @property
    def read_part(self) -> "HistoryReductionState | None":
        """This reduction without its stopgap; None if nothing is left."""
        if self.unread_from is None:
            return self
        return _with_layers(self, len(self.layers) - 1) if len(self.layers) > 1 else None

    @property
    def read_up_to(self) -> int:
        """How many messages need no summarizer any more."""
        return self.summarized_up_to_index if self.unread_from is None else self.unread_from

    @property
    def unread_from(self) -> int | None:
        """Where the messages begin for which there is only a stopgap; None if there is no such one."""
        last = self.layers[-1] if self.layers else None
        return last.start if last is not None and last.is_stopgap else None

    @cached_property
    def front_tokens(self) -> int:
        """The estimated tokens of the summaries and quotes of the view."""
        labels = (len(self.layers) or bool(self.summary_content)) + bool(self.quotes)
        quotes = sum(one.tokens for one in self.quotes if not one.is_message)
        return labels * LABEL_TOKENS + self.summary_tokens + quotes

    @cached_property
    def shown_tokens(self) -> int:
        """The estimated tokens of `front_messages`, without a sealed item."""
        return self.front_tokens + sum(self.shown_pins.values())

    @cached_property
    def is_whole(self) -> bool:
        """Whether cut, pin and summaries are as they were written, as far as can be known."""
        return self.summary_hash in {"", self._summary_digest()}

    def sealed(self) -> Self:
        """Return this reduction with the hash of its summary as it is now."""
        made = msgspec.structs.replace(self, summary_hash=self._summary_digest())
        vars(made)["is_whole"] = True
        return made

    def _summary_digest(self) -> str:
        layers = [(layer.start, layer.end, layer.summary) for layer in self.layers]
        places = (self.summarized_up_to_index, self.pinned_index)
        shown: tuple[object, ...] = (*places, self.summary_content, layers)
        kept = (self.quotes, self.shortened, self.sealed_item)
        # Without any of these the digest is that of format 1.
        if any(kept) or self.history_length:
            shown += (*msgspec.to_builtins(kept), self.history_length)
        if self.thinking_from is not None:
            shown += (self.thinking_from,)
        if self.sealed_index is not None:
            shown += ("sealed_index", self.sealed_index)
        return sha256(canonical_json(shown)).hexdigest()

    def earlier(self) -> Iterator["HistoryReductionState"]:
        """
        Yield this reduction and every earlier one that it still carries, the newest first.

        A layered reduction without its last layers is an earlier reduction too.
        """
        for state in self.chain():
            yield state
            for size in range(len(state.layers) - 1, 0, -1):
                yield _with_layers(state, size)

    def chain(self) -> Iterator["HistoryReductionState"]:
        """Yield this reduction and each one before it, the newest first."""
        state: HistoryReductionState | None = self
        while state is not None:
            yield state
            state = state.previous

    def carrying(self, earlier: Sequence["HistoryReductionState"]) -> Self:
        """
        Return this reduction with those of *earlier*, the newest first, that are kept.

        If it was not counted yet, it gets the next number.
        """
        number = self.number or 1 + max((one.number for one in earlier), default=0)
        alone = msgspec.structs.replace(self, number=number, previous=None)
        return linked(alone, kept(carrier_of(alone), [carrier_of(one) for one in earlier]))

    @property
    def made_with(self) -> tuple[str, CountingUnit]:
        """What shaped it, as a fingerprint, and its unit: one made otherwise is not used."""
        return self.config_fingerprint, self.counting_unit

    def goes_back_from(self, newest: "HistoryReductionState | None") -> bool:
        """Whether this reduction represents less than *newest*, which was made alike."""
        return (
            newest is not None
            and self.summarized_up_to_index < newest.summarized_up_to_index
            and self.made_with == newest.made_with
        )

    def is_like(self, other: "HistoryReductionState") -> bool:
        """Whether both represent the same prefix and were made in the same way."""
        is_same = same_hash(self.message_hash, other.message_hash)
        return is_same and self.made_with == other.made_with

    def is_same_as(self, other: "HistoryReductionState | None") -> bool:
        """Whether this reduction and *other* were made by the same fold."""
        return other is not None and self.is_like(other) and self.created_at == other.created_at

    def __repr__(self) -> str:
        # All fields would print what was said to a terminal or a log.
        counts = f"messages={self.summarized_up_to_index} tokens={self.shown_tokens}"
        return f"<HistoryReductionState {counts} quotes={len(self.quotes)} number={self.number}>"

    def to_json(self) -> bytes:
        """Write the reduction as JSON; what several reductions hold is in it once."""
        if self.previous is None:
            return _ENCODER.encode(self)
        alone = _ENCODER.encode(msgspec.structs.replace(self, previous=None))
        return alone[:-1] + b',"carried":' + _ENCODER.encode(self._carried) + b"}"

    @cached_property
    def _carried(self) -> Carried:
        return packed(carrier_of(self), [carrier_of(one) for one in self.chain()][1:])

    @classmethod
    def from_json(cls, data: bytes | str) -> "HistoryReductionState":
        """
        Read what `to_json` wrote.

        Raises:
            FormatError: *data* is not a reduction, or was written by a newer foldline.
        """
        try:
            return readable(_with_earlier(_DECODER.decode(data), _BESIDE.decode(data).carried))
        except RecursionError:
            message = "not a reduction: nested too deeply"
        except TypeError:
            message = f"not a reduction: expected bytes or str, got {type(data).__name__}"
        except (msgspec.MsgspecError, UnicodeError) as error:
            message = f"not a reduction: {without_values(error)}"
        # Outside the handler, since the error of msgspec may quote text of a conversation.
        raise FormatError(message)


class _Beside(Struct):
    carried: Carried | None = None


_DECODER = msgspec.json.Decoder(HistoryReductionState)
# Most reductions carry none, and to look for it takes less than to copy all fields.
_BESIDE = msgspec.json.Decoder(_Beside)
_ENCODER = msgspec.json.Encoder()


def _with_earlier(state: HistoryReductionState, carried: Carried | None) -> HistoryReductionState:
    if carried is None:
        return state
    made = linked(state, unpacked(carrier_of(state), carried, HistoryReductionState))
    vars(made)["_carried"] = carried
    return made


def carrier_of(state: HistoryReductionState) -> Carrier:
    """Return *state* as what is carried."""
    return Carrier(
        state=state,
        lines=state.summary_content.split("\n"),
        quotes=state.quotes,
        shortened=state.shortened,
        number=state.number,
        kind=state.made_with,
    )


def readable(state: HistoryReductionState) -> HistoryReductionState:
    """Return *state*, read from a store, if this version can use it; else raise FormatError."""
    if state.format > STATE_FORMAT:
        raise NewerFormatError(what="reduction", found=state.format, known=STATE_FORMAT)
    for one in state.chain():
        cut, pinned = one.summarized_up_to_index, one.pinned_index
        if cut < 0 or (pinned is not None and not 0 <= pinned < cut):
            raise FormatError(f"not a reduction: message {pinned} pinned, and a cut at {cut}")
    return state


def _with_layers(state: HistoryReductionState, size: int) -> HistoryReductionState:
    layers = state.layers[:size]
    end = layers[-1].end
    sealed = next((one for one in state.chain() if one.sealed_index in range(end)), None)
    part = msgspec.structs.replace(
        state,
        summarized_up_to_index=end,
        message_hash=layers[-1].message_hash,
        summary_content=join_layers(layers),
        summary_tokens=sum(layer.tokens for layer in layers),
        layers=layers,
        pinned_index=None,
        quotes=tuple(one for one in state.quotes if one.index < end),
        shortened=(),
        sealed_item=sealed and sealed.sealed_item,
        sealed_index=sealed and sealed.sealed_index,
    )
    # A part of what is damaged is damaged too: its hash stays the wrong one.
    return part.sealed() if state.is_whole else part


def hash_of(messages: Sequence[Message], index: int) -> str:
    """Return the digest of the first *index* of *messages* in its stored form."""
    if isinstance(messages, History):
        return hash_text(messages.digest(index))
    return hash_text(prefix_digest(messages[:index]))
