"""One call of a reducer, and its event."""

from datetime import UTC, datetime
from time import perf_counter

from msgspec import Struct

from foldline.agent.wire import Items
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.event import (
    EarlierReduction,
    HistoryReductionEvent,
    Reason,
    ReductionStatus,
)
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.verdict import Verdict, outcome_of
from foldline.reduction.view import view_tokens


__all__ = ["Call", "age", "event_of"]


class Call(Struct, frozen=True, kw_only=True):
    """One call of a reducer, up to its verdict."""

    config: HistoryReductionConfig
    items: Items
    given: HistoryReductionState | None
    """The reduction that was passed in, or found in the cache."""

    overrides: AgentRunConfig | None
    scope: str
    started: float
    verdict: Verdict


def event_of(
    call: Call,
    active: HistoryReductionState | None,
    *,
    shown: int,
    status: ReductionStatus,
    cache_age: float | None = None,
) -> HistoryReductionEvent:
    """
    Return the event of *call*, without what a fold adds.

    The view was made with *active*, if that is given, and has *shown* messages.
    """
    history, verdict, config = call.items.history, call.verdict, call.config
    removed, summary = 0, None
    if active is not None:
        removed = active.summarized_up_to_index - (active.pinned_index is not None)
        summary = active.summary_content or None
    return HistoryReductionEvent(
        status=status,
        reason=verdict.reason,
        strategy=config.strategy,
        counting_unit=config.counting_unit,
        units=verdict.units,
        original_count=history.total,
        reduced_count=shown,
        removed_count=removed,
        original_tokens=history.system_tokens + history.tokens(),
        reduced_tokens=view_tokens(history, active),
        summary=summary,
        earlier=_outcome_of_given(call, call.given) if call.given is not None else "none",
        cache_age=cache_age,
        duration=perf_counter() - call.started,
    )


def _outcome_of_given(call: Call, given: HistoryReductionState) -> EarlierReduction:
    if given is call.verdict.state:
        return "used"
    if call.verdict.reason is Reason.SKIPPED_BY_RUN:
        return "none"
    unit = call.config.counting_unit
    return outcome_of(call.items.history, given, call.verdict.state, unit=unit)


def age(made: datetime, now: datetime) -> float:
    """Return the seconds from *made* to *now*; a time without a zone is taken as UTC."""
    try:
        return (now - made).total_seconds()
    except TypeError:
        # One of the two has no time zone.
        return (_zoned(now) - _zoned(made)).total_seconds()


def _zoned(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
