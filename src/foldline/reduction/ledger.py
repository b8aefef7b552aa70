"""
What the calls and folds of a conversation have cost, and what its folds have saved.

The sizes of requests are worked out from the history and the reductions that were active at each
call, so that nothing has to be written down while the calls are made. What vendors reported is used
where a message or a reduction has it. Instructions and tool schemas are not part of a history; they
are sent with or without folds, and are left out of what folds save.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from math import inf
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.messages import Usage
from foldline.history.tokens import MESSAGE_TOKENS
from foldline.reduction.balance import INSTRUCTION_TOKENS, begins_call, calls_of
from foldline.reduction.budget import DEFAULT_WINDOW
from foldline.reduction.prices import MILLION, Prices
from foldline.reduction.reading import Reading
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.view import view_of, view_tokens


# The name of the offline digest.
_FREE = "digest"
_Rates: TypeAlias = Callable[[str], Prices]
# From so many calls on, a cache that has served none of them is taken not to be there.
_TELLING = 3


class FoldEntry(Struct, frozen=True, kw_only=True):
    """One reduction that is kept, with the calls that were made through it."""

    number: int
    """Which reduction of the conversation it is, from 1; 0 if that was not counted."""

    messages: int
    """How many messages it covers."""

    summarizer: str
    """What wrote its summary; empty for a batch, and in records of earlier versions."""

    readings: tuple[Reading, ...] = ()
    """What each summarizer that was asked for it read; empty if that was not noted."""

    calls: int
    """The model calls until the next reduction that is kept, or until now."""

    tokens: int
    """The estimated tokens that they sent of the history."""

    tokens_before: int
    """What they would have sent through the reduction before it, or without one."""

    price: float | None = None
    """What the fold cost, in US dollars; None without prices."""

    saved: float | None = None
    """What these calls cost less than without it, in dollars; below 0 if they cost more."""

    broke_even: int | None = None
    """The first of these calls by which it had saved its price; None if none had."""


class TurnEntry(Struct, frozen=True, kw_only=True):
    """One turn with a model call: what the user said, and the calls until the user spoke again."""

    number: int
    """Which turn of the conversation it is, from 1; 0 for calls before the user spoke."""

    message: int
    """The index of its first message, system messages not counted."""

    calls: int
    """Its model calls."""

    tokens: int
    """The estimated tokens that they sent of the history."""

    full_tokens: int
    """What they would have sent without folds."""

    reported_calls: int = 0
    """For how many of them the vendor's own count is known."""

    cost: float | None = None
    """What they cost, folds left out, in US dollars; None without prices."""


class ReductionStats(Struct, frozen=True, kw_only=True):
    """What a conversation has sent and cost, and what it would have without folds."""

    original_count: int
    """The messages of the history, system messages included."""

    reduced_count: int
    """The messages of the view, with those that stand for results of tools that are missing."""

    original_tokens: int
    """The estimated tokens of the history."""

    reduced_tokens: int
    """The estimated tokens of the view."""

    calls: int
    """How many model calls there were."""

    sent_tokens: int
    """The estimated tokens of all their requests, without instructions and tools."""

    full_tokens: int
    """What they would have sent without folds."""

    folds: int
    """How many reductions were made, those that are kept no more included."""

    entries: tuple[FoldEntry, ...] = ()
    """The reductions that are kept, oldest first."""

    turns: tuple[TurnEntry, ...] = ()
    """The turns that called the model, oldest first."""

    window: int = DEFAULT_WINDOW
    """The window of the model, in tokens."""

    too_large: int = 0
    """How many calls without folds would have been larger than that, so that no vendor takes them."""

    reported_calls: int = 0
    """For how many calls the vendor's own count is known."""

    reported_tokens: int = 0
    """What the vendor counted for their requests, instructions and tools included."""

    estimated_tokens: int = 0
    """What *sent_tokens* has for these calls. It is far more if something else shortened them, as
    the agent of an imported recording does."""

    cost: float | None = None
    """What calls and the folds in *entries* cost, in US dollars; None without prices. It is
    estimated for calls without a vendor's count."""

    savings: float | None = None
    """What they cost less than the same calls without folds, by estimate; below 0 if more. Those
    calls that are too large have the price that they would have if they could be sent."""

    @property
    def unpriced_folds(self) -> int:
        """How many of *folds* are kept no more, so that *cost* and *savings* leave their prices out."""
        return max(0, self.folds - len(self.entries))

    @property
    def compression_ratio(self) -> float:
        """The share of the history's tokens that the view has."""
        return self.reduced_tokens / self.original_tokens if self.original_tokens else 1.0


class _Call(Struct, frozen=True):
    """One model call: the place of its answer, what was active, and what it sent."""

    at: int
    active: HistoryReductionState | None
    is_first: bool
    is_cold: bool


def stats_of(
    history: History,
    reductions: Sequence[HistoryReductionState],
    prices: Prices | None = None,
    *,
    summarizer: Prices | Callable[[str], Prices | None] | None = None,
    window: int = DEFAULT_WINDOW,
) -> ReductionStats:
    """
    Return the figures of *history*.

    Args:
        history: All messages.
        reductions: The reductions that are kept, oldest first.
        prices: What the model costs; without them there are no amounts.
        summarizer: What a summarizer costs, or a function of its name; for None *prices* count.
        window: The window of the model, in tokens.
    """
    rates = None if prices is None else _rates(summarizer, prices)
    prices = _as_served(history, prices)
    calls = list(_calls(history, reductions, prices))
    newest = reductions[-1] if reductions else None
    pairs = zip([None, *reductions], reductions, strict=False)
    entries = tuple(_entry(history, pair, calls, prices, rates) for pair in pairs)
    turns = tuple(_turns(history, calls, prices))
    reported = [(one, usage) for one in calls if (usage := _usage(history, one)) is not None]
    cost = savings = None
    if prices is not None:
        paid = sum(one.price or 0.0 for one in entries)
        cost = paid + sum(one.cost or 0.0 for one in turns)
        savings = _saved(history, calls, prices) - paid
    return ReductionStats(
        original_count=history.total,
        reduced_count=len(view_of(history, newest)),
        original_tokens=history.system_tokens + history.tokens(),
        reduced_tokens=view_tokens(history, newest),
        calls=len(calls),
        sent_tokens=sum(one.tokens for one in turns),
        full_tokens=sum(one.full_tokens for one in turns),
        folds=0 if newest is None else newest.number or len(reductions),
        entries=entries,
        turns=turns,
        window=window,
        too_large=sum(_size(history, None, one.at) > window for one in calls),
        reported_calls=len(reported),
        reported_tokens=sum(usage.input_tokens for _, usage in reported),
        estimated_tokens=sum(_size(history, one.active, one.at) for one, _ in reported),
        cost=cost,
        savings=savings,
    )


def _rates(summarizer: Prices | Callable[[str], Prices | None] | None, others: Prices) -> _Rates:
    """Return what gives the prices of a summarizer, or of its model, by the name."""

    def rates(name: str) -> Prices:
        return (summarizer(name) if callable(summarizer) else summarizer) or others

    return rates


def _as_served(history: History, prices: Prices | None) -> Prices | None:
    """Return *prices*, without those of a cache if no vendor's count has any read from one."""
    usages = [one.usage for one in history if one.usage is not None and one.usage.input_tokens]
    if prices is None or len(usages) < _TELLING or any(one.cache_read_tokens for one in usages):
        return prices
    tiers = tuple(replace(one, cached_read=None, cache_write=None) for one in prices.tiers)
    return replace(prices, cached_read=None, cache_write=None, tiers=tiers)


def billed(usage: Usage, prices: Prices, *, calls: int = 1) -> float:
    """Return what so many calls cost by what their vendor counted in all, in dollars."""
    rates = prices.at(usage.input_tokens // max(1, calls))
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    amount = (
        read * rates.read + written * rates.write + usage.output_tokens * rates.output / MILLION
    )
    return amount + max(0, usage.input_tokens - read - written) * rates.input / MILLION


def _calls(
    history: History, reductions: Sequence[HistoryReductionState], prices: Prices | None
) -> Iterator[_Call]:
    """Give the model calls with the reduction that was active at each."""
    waiting, active, is_first = list(reversed(reductions)), None, True
    lifetime = inf if prices is None else prices.lifetime
    # The last place is that of the call still to come.
    for number, (at, is_cold) in enumerate([*calls_of(history, 0, lifetime)][:-1]):
        while waiting and _made_at(waiting[-1]) <= at:
            active, is_first = waiting.pop(), True
        yield _Call(at, active, is_first, is_cold or not number)
        is_first = False


def _made_at(reduction: HistoryReductionState) -> int:
    return reduction.history_length or reduction.summarized_up_to_index + 1


def _size(history: History, active: HistoryReductionState | None, end: int) -> int:
    """Return the tokens of the view through *active* when there were *end* messages."""
    return view_tokens(history, active) - history.tokens(end)


def _sent(
    history: History, call: _Call, active: HistoryReductionState | None, prices: Prices
) -> float:
    """Return what the request of *call* costs through *active*, without the answer."""
    size = _size(history, active, call.at)
    if call.is_cold:
        cached = 0
    elif call.is_first and active is call.active and active is not None:
        # A new view begins as the one before it did with the system messages alone.
        cached = history.system_tokens
    else:
        cached = size - _new(history, call.at)
    return prices.request(size, cached=cached)


def _saved(history: History, calls: Sequence[_Call], prices: Prices) -> float:
    """Return what *calls* cost less than without folds, whose own prices are left out."""
    return sum(
        _sent(history, one, None, prices) - _sent(history, one, one.active, prices) for one in calls
    )


def _new(history: History, at: int) -> int:
    """Return the tokens that the conversation has grown by since the call before the one at *at*."""
    start = at - 1
    while start > 0 and not begins_call(history[start], history[start - 1]):
        start -= 1
    return history.tokens(max(start, 0), at)


def _answer(history: History, call: _Call) -> range:
    """Return where the messages of the answer to *call* are."""
    end = call.at + 1
    while end < len(history) and history[end].role == "assistant":
        if begins_call(history[end], history[end - 1]):
            break
        end += 1
    return range(call.at, end)


def _usage(history: History, call: _Call) -> Usage | None:
    """Return what the vendor counted for *call*; None if it did not."""
    usages = (history[at].usage for at in _answer(history, call))
    return next((one for one in usages if one is not None and one.input_tokens), None)


def _cost(history: History, call: _Call, prices: Prices) -> float:
    usage = _usage(history, call)
    if usage is not None:
        return billed(usage, prices)
    answer, size = _answer(history, call), _size(history, call.active, call.at)
    # What marks a message off from the next is read later, and not written.
    said = max(0, history.tokens(answer.start, answer.stop) - MESSAGE_TOKENS * len(answer))
    return _sent(history, call, call.active, prices) + said * prices.at(size).output / MILLION


def _turns(history: History, calls: Sequence[_Call], prices: Prices | None) -> Iterator[TurnEntry]:
    roles = [message.role for message in history]
    is_start = [role == "user" != before for before, role in pairwise(["", *roles])]
    starts = [at for at, starts in enumerate(is_start) if starts]
    for number, made in groupby(calls, key=lambda call: bisect_right(starts, call.at)):
        own = list(made)
        yield TurnEntry(
            number=number,
            message=starts[number - 1] if number else 0,
            calls=len(own),
            tokens=sum(_size(history, call.active, call.at) for call in own),
            full_tokens=sum(_size(history, None, call.at) for call in own),
            reported_calls=sum(_usage(history, call) is not None for call in own),
            cost=None if prices is None else sum(_cost(history, one, prices) for one in own),
        )


def _entry(
    history: History,
    pair: tuple[HistoryReductionState | None, HistoryReductionState],
    calls: Sequence[_Call],
    prices: Prices | None,
    rates: _Rates | None,
) -> FoldEntry:
    before, reduction = pair
    own = [call for call in calls if call.active is reduction]
    price = saved = broke_even = None
    if prices is not None and rates is not None:
        price, saved = _price(history, before, reduction, rates), 0.0
        for number, call in enumerate(own, 1):
            saved += _sent(history, call, before, prices) - _sent(history, call, reduction, prices)
            if broke_even is None and saved >= price:
                broke_even = number
    return FoldEntry(
        number=reduction.number,
        messages=reduction.summarized_up_to_index,
        summarizer=reduction.summarizer,
        readings=reduction.readings,
        calls=len(own),
        tokens=sum(_size(history, reduction, call.at) for call in own),
        tokens_before=sum(_size(history, before, call.at) for call in own),
        price=price,
        saved=saved,
        broke_even=broke_even,
    )


def _price(
    history: History,
    before: HistoryReductionState | None,
    reduction: HistoryReductionState,
    rates: _Rates,
) -> float:
    """Return what the summarizers of *reduction* cost; it is estimated if no vendor counted."""
    if reduction.readings:
        return sum(_read_price(one, reduction, rates) for one in reduction.readings)
    prices = rates(reduction.summarizer)
    if reduction.summarizer_usage is not None:
        return billed(reduction.summarizer_usage, prices, calls=reduction.summarizer_calls)
    # A stopgap is read again by the fold after it, which may leave the cut where it was.
    start, end = 0 if before is None else before.read_up_to, reduction.read_up_to
    known = None if before is None else before.read_part
    if end <= start or not reduction.summary_content or reduction.summarizer == _FREE:
        return 0.0
    read = history.tokens(start, end) + (0 if known is None else known.summary_tokens)
    return prices.alone(read + INSTRUCTION_TOKENS, output=reduction.summary_tokens)


def _read_price(reading: Reading, reduction: HistoryReductionState, rates: _Rates) -> float:
    """Return what one summarizer of *reduction* cost, at the prices of its own model."""
    prices = rates(reading.model or reading.summarizer)
    if reading.usage is not None:
        return billed(reading.usage, prices, calls=reading.calls)
    # Nobody is known to have charged for one that gave no text.
    if reading.summarizer in {"", _FREE} or reading.summarizer != reduction.summarizer:
        return 0.0
    size = reading.tokens // max(1, reading.calls) + INSTRUCTION_TOKENS
    again = (reading.calls - 1) * prices.alone(size, output=0)
    return again + prices.alone(size, output=reduction.summary_tokens)
