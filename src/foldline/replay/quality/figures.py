"""Shares with their number and an interval."""

import random
from functools import cached_property
from operator import itemgetter

from msgspec import Struct


_SEED, _RESAMPLES, _TAIL = 7, 1_000, 25
_KEPT, _TOTAL = itemgetter(0), itemgetter(1)


class Share(Struct, frozen=True, dict=True):
    """How many of how many, counted in groups that belong together, such as those of one call."""

    # Of each: how many are kept, and of how many.
    groups: tuple[tuple[int, int], ...]

    @property
    def kept(self) -> int:
        """How many are kept."""
        return sum(kept for kept, _ in self.groups)

    @property
    def total(self) -> int:
        """Of how many."""
        return sum(total for _, total in self.groups)

    @property
    def value(self) -> float | None:
        """The share; None of nothing."""
        return self.kept / self.total if self.total else None

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """Where the share lies in 95 of 100 bootstraps of the groups; None of nothing."""
        groups = [one for one in self.groups if one[1]]
        if not groups:
            return None
        chance = random.Random(_SEED)  # noqa: S311 - chance that can be repeated
        drawn = (chance.choices(groups, k=len(groups)) for _ in range(_RESAMPLES))
        found = sorted(sum(map(_KEPT, one)) / sum(map(_TOTAL, one)) for one in drawn)
        return found[_TAIL], found[-_TAIL - 1]
