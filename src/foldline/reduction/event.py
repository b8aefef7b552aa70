"""What one verdict tells the outside."""

from typing import Literal, TypeAlias

from msgspec import Struct

from foldline.history.messages import Usage
from foldline.history.units import CountingUnit
from foldline.reduction.config import ReductionStrategy
from foldline.reduction.reason import Reason
from foldline.reduction.standing import EarlierReduction


__all__ = ["HistoryReductionEvent", "ReductionStatus"]


ReductionStatus: TypeAlias = Literal["skipped", "cache_hit", "performed", "failed"]
"""
What became of the history before a model call.

`skipped`: the full history was used. `cache_hit`: the view of a reduction that was there before.
`performed`: a new reduction was made. `failed`: a fold was tried in vain, and what was in force
stays in force.
"""


class HistoryReductionEvent(Struct, frozen=True, kw_only=True):
    """One verdict, with its counts before and after. Exactly one comes of each model call."""

    status: ReductionStatus
    """What became of the history."""

    reason: Reason
    """Why."""

    strategy: ReductionStrategy
    """The configured strategy."""

    counting_unit: CountingUnit
    """The unit of *units*."""

    units: int
    """What had gathered behind the cut in force before the call, in the unit."""

    original_count: int
    """The messages of the full history, system messages included."""

    reduced_count: int
    """The messages of the view."""

    removed_count: int
    """The messages of the history that the view does not show as they are."""

    original_tokens: int
    """The estimated tokens of the full history."""

    reduced_tokens: int
    """The estimated tokens of the view."""

    summary: str | None = None
    """The summary in the view; None where there is none."""

    earlier: EarlierReduction = "none"
    """What became of the reduction that was passed in, or found in the cache."""

    cache_age: float | None = None
    """With a cache hit: the age of the reduction, in seconds."""

    duration: float = 0.0
    """How long the verdict and what followed from it took, in seconds."""

    summarizer: str | None = None
    """With a performed fold: who wrote the summary."""

    summarizer_calls: int = 0
    """How often a summarizer was asked."""

    summarizer_tokens: int = 0
    """The estimated tokens that summarizers were given to read."""

    summarizer_usage: Usage | None = None
    """What the vendors of the summarizers counted, failed calls included; None where none said."""

    failures: tuple[str, ...] = ()
    """What went wrong on the way to the summary: kinds of errors, and defects of texts."""

    @property
    def is_attempt(self) -> bool:
        """Whether a fold was tried, so that what became of it is stored and told."""
        return self.status in {"performed", "failed"}
