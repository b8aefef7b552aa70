"""What a reducer returns, and what it knows of the call until then."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from sys import modules
from time import perf_counter
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct, structs

from foldline.agent.arguments import AfterRefusal
from foldline.agent.cache import ReductionCache
from foldline.agent.log import log
from foldline.agent.request import FIXED_PARTS, parts_of
from foldline.agent.wire import Items
from foldline.errors import RequestTooLargeError
from foldline.history.units import CountingUnit
from foldline.providers.model import ChatRequest
from foldline.reduction.active import outcome_of
from foldline.reduction.budget import Budget
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig, config_of_run
from foldline.reduction.event import (
    CIRCUIT_BREAKER_TERMINATION,
    EarlierReduction,
    HistoryReductionEvent,
    Reason,
    ReductionStatus,
)
from foldline.reduction.quotes import Pins
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.verdict import Verdict
from foldline.reduction.view import view_of, view_tokens


_Item = TypeVar("_Item")
# A request that somebody asked for as it is may be larger than its ceiling.
_UNBOUNDED = frozenset({Reason.DISABLED, Reason.SKIPPED_BY_RUN, Reason.NO_MESSAGES})
_KEPT: tuple[ReductionStatus, ...] = ("skipped", "cache_hit")
_NO_VERDICT = Verdict(kind="skip", reason=Reason.NO_MESSAGES)


class FoldObserver(Protocol):
    """Receives folds; each `Observer` is one."""

    def fold(self) -> AbstractContextManager[Callable[[HistoryReductionEvent], None]]:
        """Observe one fold."""
        ...


class ReducedHistory(Struct, Generic[_Item], frozen=True, kw_only=True):
    """What to send to the model, and what to keep for the next call."""

    messages: list[_Item]
    """The view, in the form that was given."""

    state: HistoryReductionState | None
    """The reduction to pass in next time; None if there is none yet."""

    event: HistoryReductionEvent
    """What happened and why."""

    verdict: Verdict
    """The decision."""

    def __repr__(self) -> str:
        # All fields would print the whole conversation to a terminal or a log.
        event = self.event
        counts = f"messages={len(self.messages)} tokens={event.reduced_tokens}"
        return f"<ReducedHistory {counts} status={event.status} reason={event.reason}>"

    @property
    def termination_reason(self) -> str | None:
        """Why the turn should end before the model call; None if it should continue."""
        performed = self.event.status == "performed"
        return CIRCUIT_BREAKER_TERMINATION if performed and self.verdict.kind == "halt" else None


class ReducerCall(Struct, frozen=True, kw_only=True):
    """One call of a reducer: what it was given, and the verdict."""

    items: Items
    # The reduction that was passed in, or found in the cache.
    given: HistoryReductionState | None
    overrides: AgentRunConfig | None
    # Where reductions are kept that the caller may not have; None for who keeps a state, unless a
    # cache was given: it may have been taken back.
    cache: ReductionCache | None
    scope: str
    budget: Budget
    pins: Pins | None
    started: float
    verdict: Verdict = _NO_VERDICT
    # Gives what the vendor has in its cache before the view: instructions, tools and settings; None
    # if it has nothing, or that is not known.
    front: Callable[[], ChatRequest | None] | None = None

    @property
    def aim(self) -> Budget:
        """What a view is made for: the budget, or less of it after a refusal."""
        after = self.overrides
        return after.narrowed(self.budget) if isinstance(after, AfterRefusal) else self.budget


def shown(
    call: ReducerCall,
    config: HistoryReductionConfig,
    active: HistoryReductionState | None,
    status: ReductionStatus,
    clock: Callable[[], datetime],
    **outcome: Any,
) -> ReducedHistory[Any]:
    """Return the view of *call* through *active*, and the event; or raise RequestTooLargeError."""
    how = config_of_run(config, call.overrides)
    items, history, budget, verdict = call.items, call.items.history, call.budget, call.verdict
    view, tokens = view_of(history, active), view_tokens(history, active)
    requested, total = budget.counted(tokens), history.total
    if requested > budget.ceiling and verdict.reason not in _UNBOUNDED:
        is_pending = verdict.folds and status in _KEPT
        if not is_pending:
            raise _too_large(call, active)
    age, removed = None, 0
    if active is not None:
        removed = active.summarized_up_to_index - (active.pinned_index is not None)
        if status == "cache_hit":
            if "logging" in modules:  # who wants to read it has loaded that
                log().debug("cache hit: %d messages became %d", total, len(view))
            age = _seconds(active.created_at, clock())
    event = HistoryReductionEvent(
        status=status,
        reason=verdict.reason,
        strategy=how.strategy,
        counting_unit=how.unit,
        units=verdict.units,
        original_count=total,
        reduced_count=len(view),
        removed_count=removed,
        original_tokens=history.system_tokens + history.tokens(),
        reduced_tokens=tokens,
        summary=(active and active.summary_content) or None,
        earlier=_outcome_of_given(call, config.unit) if call.given else "none",
        cache_age=age,
        ceiling=budget.ceiling,
        request_tokens=requested,
        duration=perf_counter() - call.started,
    )
    # What is disabled gives back what it was given; of a history, a valid view.
    is_off = verdict.reason is Reason.DISABLED and items.kept is not history
    return ReducedHistory(
        messages=[*items.kept] if is_off else items.write(view),
        state=active or call.given,
        event=structs.replace(event, **outcome) if outcome else event,
        verdict=verdict,
    )


def _too_large(call: ReducerCall, active: HistoryReductionState | None) -> RequestTooLargeError:
    parts = parts_of(call.items.history, active, call.budget)
    if call.verdict.reason is Reason.CANNOT_FIT:
        # The others could be made small enough.
        parts = {name: parts[name] for name in FIXED_PARTS}
    return RequestTooLargeError(parts=parts, ceiling=call.budget.ceiling)


def _outcome_of_given(call: ReducerCall, unit: CountingUnit) -> EarlierReduction:
    given = call.given
    if given is call.verdict.state:
        return "used"
    if given is None or call.verdict.reason is Reason.SKIPPED_BY_RUN:
        return "none"
    return outcome_of(call.items.history, given, call.verdict.state, unit=unit)


def _seconds(since: datetime, now: datetime) -> float:
    """Return the seconds *since* a moment; one without a zone is taken as UTC."""
    if since.tzinfo is None or now.tzinfo is None:
        since, now = (one.replace(tzinfo=one.tzinfo or UTC) for one in (since, now))
    return (now - since).total_seconds()
