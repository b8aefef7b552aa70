"""Reductions with digests of earlier versions, carried over to the present one."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.digest import (
    EMPTY_DIGEST,
    chain_digest_1,
    chain_digest_with_nulls,
    hash_text,
    same_hash,
)
from foldline.history.formats import CONVERTERS
from foldline.history.formats.converter import Converter
from foldline.history.formats.wire import Object
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.spans import SummaryLayer
from foldline.reduction.state import HistoryReductionState, hash_of


_PREFIX = "sha256-1:"


class _Reading(Struct, frozen=True):
    """
    One way in which an earlier version could have read the messages of a history.

    There are as many digests, in their stored forms, as that version had messages, and one more;
    `indexes` says for each of them how many messages of now lie before that place.
    """

    history: History
    digests: Sequence[str]
    indexes: Sequence[int]


def carried_over(state: HistoryReductionState, history: History) -> HistoryReductionState:
    """
    Return *state* with the digests and indexes that it has now, if *history* is what it is of.

    Every reduction that *state* knows is carried over by itself, its layers too. One that is of
    other messages stays as it is and fits no history. So does all of *state* if only a part of
    *history* is in memory.
    """
    if history.start:
        return state
    carried = state
    if any(one.message_hash.startswith(_PREFIX) for one in state.chain()):
        for reading in _readings_1(history):
            carried = _carried(carried, reading)
    index = carried.summarized_up_to_index
    if index <= len(history) and same_hash(hash_of(history, index), carried.message_hash):
        return carried
    return _carried(carried, _reading_with_nulls(history))


def _reading_with_nulls(history: History) -> _Reading:
    """Give how version 2 read *history* when the nulls of a vendor were in its digests."""
    digests = [*accumulate(history, chain_digest_with_nulls, initial=EMPTY_DIGEST)]
    return _Reading(history, [*map(hash_text, digests)], range(len(digests)))


def _readings_1(history: History) -> Iterator[_Reading]:
    """
    Give every way in which version 1 could have read *history*: message by message, or items.

    To version 1 each item of a wire format was one message.
    """
    yield _reading_1(history, ((message, index + 1) for index, message in enumerate(history)))
    for converter in CONVERTERS.values():
        yield _reading_1(history, _said(history, converter))


def _said(history: History, converter: Converter) -> Iterator[tuple[Message, int]]:
    """Give what each item says, and how many messages of now end with it."""
    pieces: list[Message] = []
    for index, message in enumerate(history):
        native = message.native
        if pieces and not (native is not None and native.continues):
            yield from _of_items(converter.items(pieces), converter, index - 1, index)
            pieces = []
        pieces.append(message)
    yield from _of_items(converter.items(pieces), converter, len(history) - 1, len(history))


def _of_items(
    items: Sequence[Object], converter: Converter, before: int, behind: int
) -> Iterator[tuple[Message, int]]:
    for place, item in enumerate(items, 1):
        yield converter.message(item), behind if place == len(items) else before


def _reading_1(history: History, said: Iterable[tuple[Message, int]]) -> _Reading:
    digest, digests, indexes = EMPTY_DIGEST, [_PREFIX + EMPTY_DIGEST.hex()], [0]
    for message, index in said:
        digest = chain_digest_1(digest, message)
        digests.append(_PREFIX + digest.hex())
        indexes.append(index)
    return _Reading(history, digests, indexes)


def _carried(state: HistoryReductionState, reading: _Reading) -> HistoryReductionState:
    previous = None if state.previous is None else _carried(state.previous, reading)
    if _fits(reading, state.summarized_up_to_index, state.message_hash):
        index, pinned = reading.indexes[state.summarized_up_to_index], state.pinned_index
        state = replace(
            state,
            summarized_up_to_index=index,
            message_hash=hash_of(reading.history, index),
            # The words of a user come last in what was one message with results before them.
            pinned_index=None if pinned is None else reading.indexes[pinned + 1] - 1,
            layers=tuple(_layer(layer, reading) for layer in state.layers),
        )
    return state if previous is state.previous else replace(state, previous=previous)


def _fits(reading: _Reading, index: int, text: str) -> bool:
    return 0 <= index < len(reading.digests) and reading.digests[index] == text


def _layer(layer: SummaryLayer, reading: _Reading) -> SummaryLayer:
    if not _fits(reading, layer.end, layer.message_hash):
        return layer
    start, end = reading.indexes[layer.start], reading.indexes[layer.end]
    return replace(layer, start=start, end=end, message_hash=hash_of(reading.history, end))
