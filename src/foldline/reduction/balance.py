"""
When a fold pays.

Theory of operation
-------------------

A message that a fold could have dropped costs its price at every call that carries it: that is
*holding*. A fold has a price too: what stays is written into the prompt cache again behind the new
summary, and a summarizer reads and writes. Before each call the rule adds up what holding has cost
since the last fold, this call included, and folds once that reaches the price of a fold.

This needs no forecast. Between two folds the rule pays less than one price for holding and one
price for the fold; a plan made in hindsight either folds in that time or holds as much. So
avoidable cost is at most twice that of the best plan while the price of a fold stays the same, and
no rule that cannot see the future does better (ski rental; the rule is that for acknowledging TCP
packets by Dooly, Goldman and Scott, 1998). On steady growth it folds as often as the closed form
sqrt(2 K / (r g)) says, for a price K, cached reads r and growth g.

What a summarizer reads of the dropped messages is paid once, whenever the fold is, so it is no part
of the price here. A cold cache makes holding as dear as writing, and the fold cheaper: what stays is
written then anyway.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate

from msgspec import Struct

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.units import CountingUnit
from foldline.reduction.budget import Budget
from foldline.reduction.prices import MILLION, Prices
from foldline.reduction.shortening import Shortened
from foldline.reduction.state import HistoryReductionState


INSTRUCTION_TOKENS = 600
"""About what the instruction for a summarizer has."""


class FoldCosts(Struct, frozen=True, kw_only=True):
    """What calls and folds cost, and what time it is."""

    prices: Prices
    """Those of the model that is asked."""

    summarizer: Prices | None = None
    """Those of the model that writes summaries; None if they cost nothing."""

    rides: bool = False
    """Whether the summarizer may ask on the prefix that its model has in the cache."""

    loss_cost: float = 0.0
    """The damage of a fold beside its price, in US dollars."""

    now: datetime | None = None
    """The time of the call; None takes the cache as warm."""

    def rides_cheaper(
        self, *, prefix: int, dropped: int, summary: int, is_cold: bool = False
    ) -> bool:
        """
        Whether a summary request on the cached prefix is cheaper than one of its own.

        Args:
            prefix: The tokens of the request that the cache has.
            dropped: The tokens of the messages and of the summary that are summarized.
            summary: Those of the new summary.
            is_cold: Whether the cache has lost it.
        """
        if not self.rides or self.summarizer is None or is_cold:
            return False
        own = self.prices.at(prefix)
        ride = own.request(prefix + INSTRUCTION_TOKENS, cached=prefix, output=summary)
        return ride < self.summarizer.alone(dropped + INSTRUCTION_TOKENS, output=summary)


class PricedFold(Struct, frozen=True, kw_only=True):
    """A fold that could be made before a call, by its sizes in tokens."""

    fixed: int
    """Instructions, tools and system messages."""

    before: int
    """The summary so far, with what stays word for word beside it."""

    summary: int
    """The new summary."""

    dropped: int
    """The messages that leave the view."""

    kept: int
    """The messages that stay."""

    def price(self, costs: FoldCosts, *, is_cold: bool) -> float:
        """Return what the fold costs in dollars, without what is read of the dropped messages."""
        view = self.fixed + self.before + self.dropped + self.kept
        prices, stays = costs.prices.at(view), self.summary + self.kept
        price = costs.loss_cost + (0 if is_cold else (prices.write - prices.read) * stays)
        writer = costs.summarizer
        if writer is None:
            return price
        rides = costs.rides_cheaper(
            prefix=view, dropped=self.before + self.dropped, summary=self.summary, is_cold=is_cold
        )
        if rides:
            price += prices.read * (view - self.dropped) + prices.write * INSTRUCTION_TOKENS
            return price + self.summary * prices.output / MILLION
        return price + writer.alone(self.before + INSTRUCTION_TOKENS, output=self.summary)


class Holding:
    """What holding has cost since the last fold, in dollars."""

    def __init__(
        self,
        history: History,
        active: HistoryReductionState | None,
        costs: FoldCosts,
        *,
        request: int,
        entries: Sequence[Shortened] = (),
    ) -> None:
        """
        Read the calls of *history* since the fold that made *active*.

        Args:
            history: What was said.
            active: The active reduction.
            costs: The prices and the time.
            request: The tokens of the next request.
            entries: What the view shows shortened.
        """
        prices = costs.prices.at(request)
        self._history, self._prices, self._entries = history, prices, entries
        self._cut = 0 if active is None else active.summarized_up_to_index
        self._calls: list[int] = []
        self._rates: list[float] = []
        write = prices.write
        read = prices.read if request >= prices.minimum_prefix else write
        is_cold = False
        for at, is_cold in calls_of(history, _since(active), prices.lifetime, costs.now):
            self._calls.append(at)
            self._rates.append(write if is_cold else read)
        self.is_cold = is_cold
        """Whether the cache has lost the prefix by now."""

    def of_span(self, unit: CountingUnit, keep: int) -> float:
        """
        Return what it has cost to hold what a fold that keeps *keep* could have dropped at each call.

        Args:
            unit: The unit of *keep*.
            keep: What would have stayed.
        """
        history, cut = self._history, self._cut
        at = [one.index for one in self._entries]
        gone = (history.tokens(one.index, one.index + 1) - one.tokens for one in self._entries)
        less = [0, *accumulate(gone)]
        amount = 0.0
        users = sorted(history.users(cut)) if unit == "exchanges" else []
        for call, rate in zip(self._calls, self._rates, strict=True):
            if unit == "tokens":
                size, end = history.tokens(cut, call) - keep, call
            else:
                end = _kept_from(users, call, keep) if unit == "exchanges" else call - keep
                size = history.tokens(cut, end) if end > cut else 0
            size -= less[bisect_left(at, end)]
            if size > 0:
                amount += size * rate
        return amount

    def of_results(self, savings: Mapping[int, int], keep: int) -> float:
        """
        Return what it has cost to hold results since more than *keep* tokens came after them.

        Args:
            savings: The tokens that clearing each of them saves, by index.
            keep: The newest tokens, which are not cleared.
        """
        history, amount = self._history, 0.0
        sums = list(accumulate(reversed(self._rates)))
        old = [history.tokens(0, call) - keep for call in self._calls] if savings else []
        for at, saving in savings.items():
            first = bisect_right(old, history.tokens(0, at + 1) - 1)
            calls = len(self._calls) - first
            amount += saving * sums[calls - 1] if calls else 0.0
        return amount

    def rewriting(self, tokens: int) -> float:
        """Return what it costs to put so many tokens into the cache again instead of reading them."""
        return 0.0 if self.is_cold else tokens * (self._prices.write - self._prices.read)


def summary_size(active: HistoryReductionState | None, budget: Budget) -> int:
    """Return how many tokens the next summary will have, as far as can be known."""
    known = 0 if active is None else active.summary_tokens
    # Models seldom use all that they may.
    return known or budget.summary // 2


def _since(active: HistoryReductionState | None) -> int:
    """Return how many messages there were when the cut was made: batches leave it where it is."""
    if active is None:
        return 0
    while (
        active.previous is not None
        and active.previous.summarized_up_to_index == active.summarized_up_to_index
    ):
        active = active.previous
    return max(active.history_length, active.summarized_up_to_index)


def calls_of(
    history: History, since: int, lifetime: float, now: datetime | None = None
) -> Iterator[tuple[int, bool]]:
    """
    Give the place of each model call, and whether the cache had lost the prefix by then.

    Args:
        history: What was said.
        since: The first message that is looked at.
        lifetime: How many seconds a prefix stays in the cache.
        now: The time of the next call, which is the last one given.
    """
    last: datetime | None = None
    before: Message | None = None
    start = max(since, history.start)
    for at, message in enumerate(history[start:], start):
        if message.role == "assistant":
            if begins_call(message, before):
                asked = message.created_at if before is None else before.created_at
                yield at, has_gone_cold(last, asked or message.created_at, lifetime)
            last = message.created_at or last
        before = message
    # What was said longer ago than that is a recording, whose calls have the times of its messages.
    end = None if before is None else before.created_at
    if has_gone_cold(end, now, lifetime):
        now = end
    yield len(history), has_gone_cold(last, now, lifetime)


def begins_call(message: Message, before: Message | None) -> bool:
    """Whether *message* is the first of an answer: *before* it no answer stands, or another's."""
    if message.role != "assistant":
        return False
    return before is None or before.role != "assistant" or before.speaker != message.speaker


def has_gone_cold(last: datetime | None, now: datetime | None, lifetime: float) -> bool:
    """Whether a prefix that was sent at *last* has left the cache; not if a time is unknown."""
    if last is None or now is None or (last.tzinfo is None) != (now.tzinfo is None):
        return False
    return (now - last).total_seconds() > lifetime


def _kept_from(users: Sequence[int], call: int, keep: int) -> int:
    """Return where the newest *keep* exchanges began before a call."""
    place = bisect_left(users, call)
    return users[place - keep] if place >= keep else 0
