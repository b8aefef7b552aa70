"""The results of a replay: one record per model call, and their totals."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from foldline.history.units import CountingUnit
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig, ReductionStrategy
from foldline.reduction.event import ReductionStatus
from foldline.reduction.verdict import VerdictKind


ReplayKind: TypeAlias = Literal["reducer", "no_reduction", "recorded"]
"""
What prepared the requests.

`reducer`: foldline. `no_reduction`: nothing, the full history is sent each time. `recorded`: whatever
did when the session took place; the sizes are those that the vendor reported.
"""


class SessionRecord(Struct, frozen=True, kw_only=True):
    """Which session was played."""

    id: str
    format: str
    title: str
    messages: int
    exchanges: int
    tokens: int
    # Those whose tokens are estimated, since the recording has no usage for them.
    estimated_answers: int = 0
    # Those of which it is not known how long after the answer before they were made.
    untimed_calls: int = 0
    # Which models answered, where the recording names them beside their usage.
    models: tuple[str, ...] = ()


class ConfigRecord(Struct, frozen=True, kw_only=True):
    """The part of a configuration that a replay depends on; it holds no secret."""

    strategy: ReductionStrategy
    counting_unit: CountingUnit
    # How much a fold keeps; None if the ceiling alone decides.
    target: int | None
    # How much more may gather before a fold; None if that has no effect.
    threshold: int | None
    layers: bool
    # The most tokens of a request.
    ceiling: int
    enabled: bool = True

    @classmethod
    def of(cls, config: HistoryReductionConfig) -> "ConfigRecord":
        """Make the record of *config*."""
        summarizing = config.strategy == "summarizing"
        limits = config.limits
        waits = config.trigger != "balance"
        return cls(
            strategy=config.strategy,
            counting_unit=config.unit,
            target=None if limits is None else limits.target,
            threshold=limits.threshold if limits and waits else None,
            layers=summarizing and not config.use_single_summary,
            ceiling=budget_of(config).ceiling,
            enabled=config.enabled,
        )


class FoldRecord(Struct, frozen=True, kw_only=True):
    """One fold."""

    # The index up to which the new reduction represents the history.
    cut: int
    # Which one wrote the summary; None if nothing was written.
    summarizer: str | None
    summarizer_calls: int
    tokens_read: int
    # As ranges of indexes.
    messages_read: tuple[tuple[int, int], ...]
    tokens_written: int = 0
    # What it costs in US dollars; None without prices.
    cost: float | None = None


class CallRecord(Struct, frozen=True, kw_only=True):
    """One model call of the session, and the request that was prepared for it."""

    number: int
    # How many messages had been said before.
    position: int
    verdict: VerdictKind
    reason: str
    status: ReductionStatus
    view_messages: int
    view_tokens: int
    full_tokens: int
    # Those of the messages that the request before began with as well.
    kept_tokens: int
    fresh_tokens: int
    # Those of the request before; 0 for the first one.
    prior_tokens: int
    # Whether the request before is not the beginning of this one.
    prefix_broke: bool
    fold: FoldRecord | None = None
    # Empty if the request is valid, or was not checked.
    violations: tuple[str, ...] = ()
    # The seconds since the answer before; None if the recording has no times.
    idle: float | None = None
    # As the vendor reported them, else estimated from what the answer says.
    answer_tokens: int = 0
    # What was put into the cache, in a report of what the vendor reported; else 0.
    written_tokens: int = 0
    # What the request, its answer and its fold cost in US dollars; None without prices.
    cost: float | None = None


class Totals(Struct, frozen=True, kw_only=True):
    """The totals of the model calls of a replay, or of several."""

    calls: int = 0
    folds: int = 0
    failed_folds: int = 0
    summarizer_calls: int = 0
    summarizer_tokens: int = 0
    # How often a summarizer read the message that was read most often.
    most_reads: int = 0
    sent_tokens: int = 0
    peak_tokens: int = 0
    # Those with which a request began as the one before did.
    kept_tokens: int = 0
    # Those of the requests before, which is the most that could be kept.
    prior_tokens: int = 0
    # How often a request did not begin with the whole of the one before.
    prefix_breaks: int = 0
    # Those that a vendor would refuse or that lost something; None if not checked.
    invalid_requests: int | None = None
    # The model's, in tokens; None of what was recorded, which was sent.
    window: int | None = None
    # The requests that are larger than that: no vendor takes them, and the bill is what they would
    # cost if one did.
    too_large: int = 0
    # The bill in US dollars; None without prices.
    cost: float | None = None
    # The least bill of folds with the same retained window, at times chosen in hindsight; what
    # clears or clips tool results may be below it.
    optimum: float | None = None

    @property
    def mean_tokens(self) -> float:
        """The mean size of a request, in tokens."""
        return self.sent_tokens / self.calls if self.calls else 0.0

    @property
    def prefix_share(self) -> float:
        """The share of what was sent before that the next request began with; 1 at best."""
        return self.kept_tokens / self.prior_tokens if self.prior_tokens else 1.0

    @property
    def fresh_tokens(self) -> int:
        """The tokens of all requests that no cache could serve."""
        return self.sent_tokens - self.kept_tokens

    @classmethod
    def of(
        cls,
        calls: Iterable[CallRecord],
        *,
        most_reads: int,
        checked: bool,
        window: int | None = None,
    ) -> "Totals":
        """Add up *calls*, made to a model with this *window*."""
        calls = tuple(calls)
        folds = [call.fold for call in calls if call.fold is not None]
        costs = [call.cost for call in calls if call.cost is not None]
        return cls(
            calls=len(calls),
            folds=sum(call.status == "performed" for call in calls),
            failed_folds=sum(call.status == "failed" for call in calls),
            summarizer_calls=sum(fold.summarizer_calls for fold in folds),
            summarizer_tokens=sum(fold.tokens_read for fold in folds),
            most_reads=most_reads,
            sent_tokens=sum(call.view_tokens for call in calls),
            peak_tokens=max((call.view_tokens for call in calls), default=0),
            kept_tokens=sum(call.kept_tokens for call in calls),
            prior_tokens=sum(call.prior_tokens for call in calls),
            prefix_breaks=sum(call.prefix_broke for call in calls),
            invalid_requests=sum(bool(call.violations) for call in calls) if checked else None,
            window=window,
            too_large=sum(call.view_tokens > window for call in calls) if window else 0,
            cost=sum(costs) if costs else None,
        )

    def plus(self, other: "Totals") -> "Totals":
        """Return the totals of both."""
        sums: dict[str, float | None] = {}
        for name in self.__struct_fields__:
            known = [n for n in (getattr(self, name), getattr(other, name)) if n is not None]
            joined = max if name in {"most_reads", "peak_tokens", "window"} else sum
            sums[name] = joined(known) if known else None
        return msgspec.convert(sums, Totals)


class ReplayReport(Struct, frozen=True, kw_only=True):
    """One session under one configuration."""

    name: str
    kind: ReplayKind
    config: ConfigRecord | None
    session: SessionRecord
    totals: Totals
    calls: tuple[CallRecord, ...]
