"""
Whether a fold of a thread is due, as far as its counts say.

The first commit that goes beyond the rule of its thread notes its time, and the one that saves a fold
clears it, so that the threads whose fold is due are found without reading any. What the rule needs of
the messages before the cut is noted with it, so that a commit reads nothing.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from foldline.history.history import History
from foldline.history.units import CountingUnit
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.shortening import fitting
from foldline.reduction.state import HistoryReductionState
from foldline.threads.row import MessageRow


# The unit as it is stored: a head has this mark in every commit.
_Letter: TypeAlias = Literal["m", "e", "t"]
LETTERS: Mapping[CountingUnit, _Letter] = {"messages": "m", "exchanges": "e", "tokens": "t"}
"""What is stored for each unit."""


class FoldBase(Struct, frozen=True, kw_only=True, gc=False):
    """What the messages before a cut count."""

    cut: int = 0
    users: int = 0
    tokens: int = 0
    # How many tokens fewer than the whole history a view with the reduction had.
    hidden: int = 0

    @classmethod
    def of_row(cls, counts: MessageRow | None, reduction: HistoryReductionState | None) -> Self:
        """Return the base of *reduction*, whose last message is that of *counts*."""
        if counts is None or reduction is None:
            return cls()
        return cls(
            cut=reduction.summarized_up_to_index,
            users=counts.users,
            tokens=counts.tokens,
            hidden=counts.tokens - reduction.shown_tokens,
        )

    @classmethod
    def guessed(
        cls, reduction: HistoryReductionState, length: int, users: int, tokens: int
    ) -> Self:
        """Return about what *reduction* has before its cut, in a thread with these counts."""
        cut = reduction.summarized_up_to_index
        share = min(1.0, cut / max(1, length))
        before = int(tokens * share)
        hidden = before - reduction.shown_tokens
        return cls(cut=cut, users=int(users * share), tokens=before, hidden=hidden)

    @classmethod
    def of(cls, history: History, reduction: HistoryReductionState, *, users: int) -> Self:
        """Return the base of *reduction* on *history*, which has so many *users* in all."""
        cut = reduction.summarized_up_to_index
        before = history.tokens(0, cut)
        short = fitting(history, reduction.shortened, cut=cut, pinned=None)
        left_out = sum(history.tokens(one.index, one.index + 1) - one.tokens for one in short)
        later = len([*history.users(cut)])
        hidden = before - reduction.shown_tokens + left_out
        return cls(cut=cut, users=users - later, tokens=before, hidden=hidden)


class FoldMark(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """The rule of a thread, the base of its newest reduction, and since when a fold is due."""

    unit: _Letter
    most: int | None
    view: int | None
    cut: int = 0
    users: int = 0
    tokens: int = 0
    hidden: int = 0
    since: datetime | None = None

    def based(self, base: FoldBase) -> Self:
        """Return the mark with *base*, and no fold due."""
        return replace(self, since=None, **asdict(base))


USUAL_VIEW: Final = budget_of(HistoryReductionConfig()).full
"""The most tokens of a view by the default configuration."""

USUAL_MARK: Final = FoldMark(unit="t", most=None, view=USUAL_VIEW)
"""The mark of a thread that nobody has given another rule: that of the default configuration."""
