"""The results of a replay: one record per model call, and their totals."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from foldline.history.history import CountingUnit
from foldline.reduction.config import HistoryReductionConfig, ReductionStrategy
from foldline.reduction.event import ReductionStatus
from foldline.reduction.verdict import VerdictKind


__all__ = [
    "CallRecord",
    "ConfigRecord",
    "FoldRecord",
    "ReplayKind",
    "ReplayReport",
    "SessionRecord",
    "Totals",
]


ReplayKind: TypeAlias = Literal["reducer", "no_reduction", "no_memory"]
"""
What prepared the requests.

`reducer`: foldline. `no_reduction`: nothing, the full history is sent each time. `no_memory`: a
reducer that keeps no state, so it summarizes everything old again at every call.
"""


class SessionRecord(Struct, frozen=True, kw_only=True):
    """Which session was played."""

    id: str
    """Its identity."""

    format: str
    """The format that it was recorded in."""

    title: str
    """Its name in the log; empty if it has none."""

    messages: int
    """How many messages it holds, system messages included."""

    exchanges: int
    """How many exchanges they make."""

    tokens: int
    """The estimated tokens of all of them."""


class ConfigRecord(Struct, frozen=True, kw_only=True):
    """The part of a configuration that a replay depends on; it holds no secret."""

    strategy: ReductionStrategy
    """What replaces the messages that are folded away."""

    counting_unit: CountingUnit
    """The unit of target and threshold."""

    target: int
    """How much a fold keeps."""

    threshold: int
    """How much more may gather before a fold."""

    layers: bool
    """Whether there are layers of summaries."""

    enabled: bool = True
    """Whether anything is reduced at all."""

    @classmethod
    def of(cls, config: HistoryReductionConfig) -> "ConfigRecord":
        """Make the record of *config*."""
        summarizing = config.strategy == "summarizing"
        return cls(
            strategy=config.strategy,
            counting_unit=config.counting_unit,
            target=config.limits.target,
            threshold=config.limits.threshold,
            layers=summarizing and not config.use_single_summary,
            enabled=config.enabled,
        )


class FoldRecord(Struct, frozen=True, kw_only=True):
    """One fold."""

    cut: int
    """The index up to which the new reduction represents the history."""

    summarizer: str | None
    """Which summarizer wrote the summary; None if nothing was written."""

    summarizer_calls: int
    """How often a summarizer was asked."""

    tokens_read: int
    """The estimated tokens that summarizers were given to read."""

    messages_read: tuple[tuple[int, int], ...]
    """Which messages they read, as ranges of indexes."""


class CallRecord(Struct, frozen=True, kw_only=True):
    """One model call of the session, and the request that was prepared for it."""

    number: int
    """Its place among the calls, from 1 on."""

    position: int
    """How many messages had been said before."""

    verdict: VerdictKind
    """What was decided."""

    reason: str
    """Why."""

    status: ReductionStatus
    """What happened to the history."""

    view_messages: int
    """The messages of the request."""

    view_tokens: int
    """Its estimated tokens."""

    full_tokens: int
    """The estimated tokens of the full history."""

    kept_tokens: int
    """The tokens of the messages that the request before began with as well."""

    fresh_tokens: int
    """The other tokens of the request."""

    prior_tokens: int
    """The tokens of the request before; 0 for the first one."""

    prefix_broke: bool
    """Whether the request before is not the beginning of this one."""

    fold: FoldRecord | None = None
    """The fold that was made or failed; None if there was none."""

    violations: tuple[str, ...] = ()
    """What is wrong with the request; empty if it is valid, or was not checked."""


class Totals(Struct, frozen=True, kw_only=True):
    """The totals of the model calls of a replay, or of several."""

    calls: int = 0
    """The model calls."""

    folds: int = 0
    """The folds that made a new reduction."""

    failed_folds: int = 0
    """The folds that failed."""

    summarizer_calls: int = 0
    """How often a summarizer was asked."""

    summarizer_tokens: int = 0
    """The estimated tokens that summarizers were given to read."""

    most_reads: int = 0
    """How often a summarizer read the message that was read most often."""

    sent_tokens: int = 0
    """The estimated tokens of all requests together."""

    peak_tokens: int = 0
    """Those of the largest request."""

    kept_tokens: int = 0
    """The tokens with which a request began as the one before did."""

    prior_tokens: int = 0
    """The tokens of those requests before, which is the most that could be kept."""

    prefix_breaks: int = 0
    """How often a request did not begin with the whole of the one before."""

    invalid_requests: int | None = None
    """The requests that a vendor would refuse or that lost something; None if not checked."""

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
    def of(cls, calls: Iterable[CallRecord], *, most_reads: int, checked: bool) -> "Totals":
        """Add up *calls*."""
        calls = tuple(calls)
        folds = [call.fold for call in calls if call.fold is not None]
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
        )

    def plus(self, other: "Totals") -> "Totals":
        """Return the totals of both."""
        highest = {"most_reads", "peak_tokens"}
        mine, others = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        sums = {
            name: max(value, others[name]) if name in highest else value + others[name]
            for name, value in mine.items()
            if name != "invalid_requests"
        }
        counts = [one.invalid_requests for one in (self, other)]
        known = [count for count in counts if count is not None]
        return Totals(**sums, invalid_requests=sum(known) if known else None)


class ReplayReport(Struct, frozen=True, kw_only=True):
    """One session under one configuration."""

    name: str
    """What the configuration is called."""

    kind: ReplayKind
    """What prepared the requests."""

    config: ConfigRecord | None
    """The configuration; None if the full history was sent."""

    session: SessionRecord
    """The session."""

    totals: Totals
    """The totals of its calls."""

    calls: tuple[CallRecord, ...]
    """One record per model call."""
