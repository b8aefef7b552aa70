"""
Whether a fold of a thread is due, as far as its counts say.

Each commit compares the counts of the thread with a rule: so many units after the cut, or so many
tokens in the view. The first commit that goes beyond notes its time, and the one that saves a fold
clears it, so that the threads whose fold is due are found without reading any of them. What prices
decide, and whether there is a safe cut, only a reducer can say, which reads the thread.

What the rule needs of the messages before the cut is noted with it, so that a commit reads nothing.
"""

from datetime import datetime
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.history import CountingUnit, History
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.fold_rule import FoldRule, rule_of
from foldline.reduction.shortening import fitting
from foldline.reduction.state import HistoryReductionState
from foldline.threads.row import MessageRow


__all__ = ["USUAL_MARK", "FoldBase", "FoldMark"]


# The unit as it is stored: a head has this mark in every commit.
_Letter: TypeAlias = Literal["m", "e", "t"]
_UNITS: dict[_Letter, CountingUnit] = {"m": "messages", "e": "exchanges", "t": "tokens"}
_LETTERS: dict[CountingUnit, _Letter] = {unit: letter for letter, unit in _UNITS.items()}


class FoldBase(Struct, frozen=True, gc=False):
    """What the messages before a cut count."""

    cut: int = 0
    """How many they are."""

    users: int = 0
    """How many of them are user messages."""

    tokens: int = 0
    """Their tokens."""

    hidden: int = 0
    """How many tokens fewer than the whole history a view with the reduction had."""

    @classmethod
    def of_row(cls, counts: MessageRow | None, reduction: HistoryReductionState | None) -> "FoldBase":
        """Return the base of *reduction*, whose last message is that of *counts*."""
        if counts is None or reduction is None:
            return cls()
        hidden = counts.tokens - reduction.front_tokens
        return cls(reduction.summarized_up_to_index, counts.users, counts.tokens, hidden)

    @classmethod
    def guessed(
        cls, reduction: HistoryReductionState, *, length: int, users: int, tokens: int
    ) -> "FoldBase":
        """Return about what *reduction* has before its cut, in a thread with these counts."""
        cut = reduction.summarized_up_to_index
        share = min(1.0, cut / max(1, length))
        before = int(tokens * share)
        return cls(cut, int(users * share), before, before - reduction.front_tokens)

    @classmethod
    def of(cls, history: History, reduction: HistoryReductionState, *, users: int) -> "FoldBase":
        """Return the base of *reduction* on *history*, which has so many *users* in all."""
        cut = reduction.summarized_up_to_index
        before = history.tokens(0) - history.tokens(cut)
        short = fitting(history, reduction.shortened, cut=cut, pinned=None)
        left_out = sum(history.tokens(one.index, one.index + 1) - one.tokens for one in short)
        later = sum(1 for _ in history.users(cut))
        return cls(cut, users - later, before, before - reduction.front_tokens + left_out)


class FoldMark(Struct, frozen=True, array_like=True, gc=False):
    """The rule of a thread, the base of its newest reduction, and since when a fold is due."""

    unit: _Letter
    most: int | None
    view: int | None
    cut: int = 0
    users: int = 0
    tokens: int = 0
    hidden: int = 0
    since: datetime | None = None

    @property
    def rule(self) -> FoldRule:
        """What it goes by."""
        return FoldRule(unit=_UNITS[self.unit], most=self.most, view=self.view)

    def following(self, rule: FoldRule) -> "FoldMark":
        """Return the mark with *rule*."""
        return replace(self, unit=_LETTERS[rule.unit], most=rule.most, view=rule.view)

    def based(self, base: FoldBase) -> "FoldMark":
        """Return the mark with *base*, and no fold due."""
        return replace(
            self, cut=base.cut, users=base.users, tokens=base.tokens, hidden=base.hidden, since=None
        )

    def counted(
        self, now: datetime, *, length: int, users: int, tokens: int, system: int
    ) -> "FoldMark":
        """Return the mark of a thread with these counts: since *now* at the latest, if one is due."""
        gathered = {"m": length - self.cut, "e": users - self.users, "t": tokens - self.tokens}
        is_due = self.view is not None and tokens + system - self.hidden > self.view
        if self.most is not None and gathered[self.unit] > self.most:
            is_due = True
        since = (self.since or now) if is_due else None
        return self if since is self.since else replace(self, since=since)


_USUAL = HistoryReductionConfig()

USUAL_MARK: Final = FoldMark("t", None, rule_of(_USUAL, budget_of(_USUAL)).view)
"""The mark of a thread that nobody has given another rule: that of the default configuration."""
