"""
The least that a session can cost, if the times of folds are chosen in hindsight.

Theory of operation
-------------------

Every policy with the same retained window cuts at the same places, so what it may choose is before
which calls to fold. What a call costs after a fold depends on that fold alone, and what a fold costs
depends on it and on the one before. So the least bill up to a fold before call j is the least, over
the fold i before it, of the least bill up to i, the calls from i to j - 1, and the summary at j: n²
steps for n calls. Of many calls a bill is found first whose folds are near each other, and no sum
above it is looked at, which leaves about n to the power of 1.5 steps. Summaries have one size, nothing
is ever too large for a request, and nothing is cleared, clipped or quoted, so that a policy that does
may pay less.
"""

from collections.abc import Iterator
from itertools import islice, takewhile

from msgspec import Struct

from foldline.history.boundaries import safe_cut
from foldline.history.history import History
from foldline.reduction.budget import SUMMARY_TOKENS, budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.bill import Terms
from foldline.replay.tape import Tape


OPTIMAL_SUMMARY = SUMMARY_TOKENS // 2
"""The tokens of every summary of the least bill."""

_NEAR = 128


class OptimalBill(Struct, frozen=True, kw_only=True):
    """The least that a session can cost with folds alone."""

    # In US dollars, without the answers.
    cost: float
    # The numbers of the calls before which a fold is made, counted from 1.
    folds: tuple[int, ...]
    # What it costs without any fold.
    never: float


class OptimalCall(Struct, frozen=True, kw_only=True):
    """A model call, and the fold that could be made before it; sizes are tokens."""

    system: int
    # All messages so far.
    said: int
    # Where a fold would cut; 0 if it cannot.
    cut: int
    # The messages before the cut.
    dropped: int
    # The last user message, if it comes before the cut: it stays in the view.
    pinned: int
    is_cold: bool


def optimal_bill(
    tape: Tape,
    config: HistoryReductionConfig,
    terms: Terms,
    *,
    summary_tokens: int = OPTIMAL_SUMMARY,
    near: int = _NEAR,
) -> OptimalBill:
    """
    Return the least bill of *tape*, with folds that keep and summarize as *config* says.

    *near* is how many calls apart folds are in the bill that is found first; it changes no result.
    """
    calls = tuple(optimal_calls(tape, config, terms))
    summarizes = config.strategy == "summarizing"
    return _Search(calls, terms, summary_tokens if summarizes else 0).result(near)


def optimal_calls(
    tape: Tape, config: HistoryReductionConfig, terms: Terms
) -> Iterator[OptimalCall]:
    """Yield each call of *tape*, with the fold that *config* would make before it."""
    history = History(counter=tape.counter)
    for number, position in enumerate(tape.calls, start=1):
        tape.fill(history, position)
        limits = config.limits
        budget = budget_of(config, tools=terms.overhead, system=history.system_tokens)
        unit = "tokens" if limits is None else config.unit
        keep = budget.keep if limits is None else limits.target
        cut = safe_cut(history, unit=unit, keep=keep) or 0
        user = history.last_user()
        is_pinned = user is not None and user < cut
        yield OptimalCall(
            system=history.system_tokens,
            said=history.tokens(),
            cut=cut,
            dropped=history.tokens(0, cut),
            pinned=history.tokens(user, user + 1) if is_pinned and user is not None else 0,
            is_cold=terms.is_cold(number, tape.idle[number - 1]),
        )


class _Search:
    """The least bills up to each fold, one after the other."""

    def __init__(self, calls: tuple[OptimalCall, ...], terms: Terms, summary: int) -> None:
        self._calls = calls
        self._terms = terms
        self._summary = summary

    def result(self, near: int) -> OptimalBill:
        """Return the least bill of all calls."""
        count, most = len(self._calls), float("inf")
        # For fewer it takes longer than it spares.
        if count > 4 * near:
            most = self._least(most, near).cost
        return self._least(most, count)

    def _least(self, most: float, reach: int) -> OptimalBill:
        """Return the least bill of at most *most* if after a fold another or the end is within *reach*."""
        count = len(self._calls)
        # Of each fold: the least bill of the calls before it, its summary paid, and the fold before.
        best: list[tuple[float, int]] = [(float("inf"), -1)] * count
        spent = list(self._spent(-1))
        never = ended = spent[-1] if spent else 0.0
        last = -1
        self._extend(best, -1, 0.0, spent)
        for fold in range(count):
            so_far = best[fold][0]
            if so_far == float("inf"):
                continue
            spent = self._near(fold, so_far, most, reach)
            if len(spent) == count - fold and so_far + spent[-1] < ended:
                ended, last = so_far + spent[-1], fold
            self._extend(best, fold, so_far, spent)
        folds: list[int] = []
        while last >= 0:
            folds.append(last + 1)
            last = best[last][1]
        return OptimalBill(cost=ended, folds=tuple(reversed(folds)), never=never)

    def _view(self, fold: int, at: int) -> int:
        call = self._calls[at]
        if fold < 0:
            return call.system + call.said
        made = self._calls[fold]
        return call.system + self._summary + made.pinned + call.said - made.dropped

    def _spent(self, fold: int) -> Iterator[float]:
        """Yield what the calls from *fold* on cost in all, up to each of them; -1 is no fold."""
        calls, request, first = self._calls, self._terms.request, max(0, fold)
        amount = 0.0
        before = system = calls[first - 1].system if first else 0
        for at in range(first, len(calls)):
            view, call = self._view(fold, at), calls[at]
            kept = before if call.system == system else min(system, before)
            amount += request(view, kept=kept, is_cold=call.is_cold)
            yield amount
            before, system = view, call.system

    def _near(self, fold: int, so_far: float, most: float, reach: int) -> list[float]:
        """Return what up to *reach* calls from *fold* on cost, while the bill is at most *most*."""
        near = islice(self._spent(fold), reach)
        return [*takewhile(lambda amount: so_far + amount <= most, near)]

    def _extend(
        self, best: list[tuple[float, int]], fold: int, so_far: float, spent: list[float]
    ) -> None:
        """Lower the least bills of the folds after *fold* to those that follow it."""
        calls, first = self._calls, max(0, fold)
        above, gone = (calls[fold].cut, calls[fold].dropped) if fold >= 0 else (0, 0)
        for at in range(fold + 1, min(len(calls), first + len(spent) + 1)):
            call = calls[at]
            if call.cut <= above:
                continue
            bill = so_far + (spent[at - first - 1] if at > first else 0.0)
            if bill >= best[at][0]:
                continue
            bill += self._fold(fold, at, call.dropped - gone)
            if bill < best[at][0]:
                best[at] = (bill, fold)

    def _fold(self, fold: int, at: int, dropped: int) -> float:
        """Return what the summary costs before call *at*, if *fold* was the one before."""
        if not self._summary:
            return 0.0
        before = self._summary if fold >= 0 else 0
        is_warm = at > 0 and not self._calls[at].is_cold
        prior = self._view(fold, at - 1) if is_warm else 0
        return self._terms.summary(read=before + dropped, written=self._summary, prior=prior)
