"""What a verdict is taken from."""

from collections.abc import Sequence
from functools import cached_property
from typing import cast

from msgspec import Struct

from foldline.history.history import CountingUnit, History
from foldline.reduction.balance import FoldCosts, Holding
from foldline.reduction.budget import Budget
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.fitting import saved
from foldline.reduction.quotes import Pins, kept_whole, pins_after
from foldline.reduction.shortening import Shortened, fitting
from foldline.reduction.state import HistoryReductionState


__all__ = ["Case", "leaving_tokens"]


_MOST_OF_KEPT = 0.75


# With a dictionary, so that what is asked several times is worked out once for each verdict.
class Case(Struct, frozen=True, kw_only=True, dict=True):
    """What a verdict on an enabled reduction is taken from."""

    history: History
    config: HistoryReductionConfig
    budget: Budget
    active: HistoryReductionState | None
    pins: Pins | None
    cut: int
    """Where the messages of the view begin."""

    view: int
    """The estimated tokens of the view through the active reduction."""

    costs: FoldCosts | None
    """What decides below the ceiling; None if the counts do."""

    @cached_property
    def holding(self) -> Holding:
        """What holding has cost so far; only where the costs are known."""
        costs = cast("FoldCosts", self.costs)
        request = self.view + self.budget.instructions + self.budget.tools
        return Holding(self.history, self.active, costs, request=request, entries=self.entries)

    @property
    def unit(self) -> CountingUnit:
        """The unit of what a fold that pays keeps."""
        return "tokens" if self.config.limits is None else self.config.unit

    @property
    def target(self) -> int:
        """What a fold that pays keeps, but for a large last user message."""
        limits = self.config.limits
        return self.budget.keep if limits is None else limits.target

    @cached_property
    def keep(self) -> int:
        """
        What a fold that pays keeps.

        The last user message is in the view wherever the cut is. Where no unit is named and it takes
        most of what is kept, what comes right before it has room all the same: the question that a
        long paste answers. An eighth of the ceiling stays free, so that no fold comes sooner.
        """
        history, budget, user = self.history, self.budget, self.history.last_user()
        if self.config.limits is not None or user is None or user <= self.cut:
            return self.target
        own, shown = history.tokens(user, user + 1), history.tokens(user)
        room = budget.keep // 4
        if own <= _MOST_OF_KEPT * budget.keep or shown - own > room:
            return budget.keep
        front = budget.system + budget.summary + budget.beside
        free = budget.full - budget.beside - front - shown
        return budget.keep if free < 0 else max(budget.keep, shown + min(room, free))

    @property
    def kept(self) -> int:
        """Where the messages begin that a fold that pays keeps."""
        return self.history.index_keeping(self.unit, self.keep)

    @property
    def pinned(self) -> int | None:
        """The user message before it that the view shows too."""
        return None if self.active is None else self.active.pinned_index

    @property
    def entries(self) -> tuple[Shortened, ...]:
        """What the view shows shortened."""
        active = self.active
        # Most reductions shorten nothing.
        return () if active is None or not active.shortened else self._fitting

    @cached_property
    def _fitting(self) -> tuple[Shortened, ...]:
        known = () if self.active is None else self.active.shortened
        return fitting(self.history, known, cut=self.cut, pinned=self.pinned)

    @cached_property
    def whole(self) -> frozenset[int]:
        """The messages that stay word for word."""
        return kept_whole(self.history, self.cut, self.pins)

    @property
    def base(self) -> tuple[Shortened, ...]:
        """Return the entries without those of messages that are pinned since, if these fit."""
        entries = self.entries
        if not self.pins or not entries:
            return entries
        pins = pins_after(self.history, self.cut, self.pins)
        pinned = [one for one in entries if one.index in pins]
        if self.view + saved(self.history, pinned) > self.budget.full:
            return entries
        return tuple([one for one in entries if one.index not in pins])


def leaving_tokens(history: History, above: int, cut: int, shortened: Sequence[Shortened]) -> int:
    """
    Return the tokens that leave the view when its cut moves from *above* to *cut*.

    Of what the view shows *shortened*, the rest has left it before.
    """
    user = history.last_user()
    stays = history.tokens(user, user + 1) if user is not None and above <= user < cut else 0
    gone = (one for one in shortened if above <= one.index < cut and one.index != user)
    return history.tokens(above, cut) - stays - saved(history, gone)
