"""What a verdict is taken from."""

from collections.abc import Sequence
from functools import cached_property
from typing import cast

from msgspec import Struct

from foldline.history.history import History
from foldline.history.units import CountingUnit
from foldline.reduction.balance import FoldCosts, Holding
from foldline.reduction.budget import Budget
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.fitting import saved
from foldline.reduction.quotes import Pins, kept_whole, pins_after
from foldline.reduction.shortening import Shortened
from foldline.reduction.state import HistoryReductionState


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

    entries: tuple[Shortened, ...]
    """What the view shows shortened."""

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
        What a fold keeps.

        The last user message is in the view wherever the cut is. If it takes most of what our own
        defaults keep, the exchange that it answers has room beside it, such as the question for a
        pasted log: an eighth to a quarter more. An eighth of the ceiling has to stay free for what
        comes next, so that no fold is due much sooner.
        """
        history, budget, user = self.history, self.budget, self.history.last_user()
        if self.config.limits is not None or user is None or user <= self.cut:
            return self.target
        keep, own, shown = budget.keep, history.tokens(user, user + 1), history.tokens(user)
        if own <= _MOST_OF_KEPT * keep or shown - own > keep // 4:
            return keep
        asked = next((at for at in history.users(self.cut) if at < user), user)
        free = budget.full - budget.system - budget.summary - 2 * budget.beside - shown
        room = min(max(keep // 8, history.tokens(asked, user)), keep // 4, free)
        return max(keep, shown + room) if room > 0 else keep

    @cached_property
    def paying_keep(self) -> int:
        """
        What a fold that pays keeps.

        A message of the user that is larger than all that a fold keeps is what is talked about, such as
        a document: it stays until as much has come after it, or the ceiling is near.
        """
        history, keep = self.history, self.keep
        if self.config.limits is not None or history.largest(self.cut) <= keep:
            return keep
        users = history.users(self.cut)
        large = next((at for at in users if history.tokens(at, at + 1) > keep), None)
        if large is None or history.tokens(large + 1) >= keep:
            return keep
        return history.tokens(large)

    @property
    def kept(self) -> int:
        """Where the messages begin that a fold that pays keeps."""
        return self.history.index_keeping(self.unit, self.paying_keep)

    @property
    def pinned(self) -> int | None:
        """The user message before it that the view shows too."""
        return None if self.active is None else self.active.pinned_index

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
