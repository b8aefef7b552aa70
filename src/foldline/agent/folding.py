"""A fold of a reducer: who is asked for a summary, and what that makes of the history."""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

from msgspec import Struct, structs

from foldline.agent.arguments import AfterRefusal
from foldline.agent.breaker import Breaker
from foldline.agent.fold_calls import FoldCalls, log_writing
from foldline.agent.recorded import digest_of, recorded, written_by_code
from foldline.agent.reduced import FoldObserver, ReducedHistory, ReducerCall, shown
from foldline.agent.riding import riding
from foldline.agent.unfinished import UnfinishedFolds
from foldline.providers.digest import DIGEST
from foldline.providers.digest.requests import asks
from foldline.providers.digest.rules import has_rule
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.digest.text import clean
from foldline.providers.model import Summarizer
from foldline.providers.summarizer import ModelSummarizer
from foldline.providers.vendors.compaction import VendorCompaction
from foldline.reduction.balance import FoldCosts
from foldline.reduction.budget import DEFAULT_WINDOW, Budget
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.draft import FoldOptions
from foldline.reduction.event import HistoryReductionEvent, ReductionStatus
from foldline.reduction.fold import FoldResult, fold
from foldline.reduction.reading import Reading, usage_of
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.view import with_sealed


# The share of a summarizer's window for what it reads. The rest is for what it writes, and for the
# difference between our estimate and its count.
_READING_SHARE = 0.6

_LOG = logging.getLogger("foldline")


class Means(Struct, frozen=True, kw_only=True):
    """What a reducer folds with, whatever the call."""

    config: HistoryReductionConfig
    fingerprint: str
    # The digest stands behind them.
    given: Sequence[Summarizer]
    breakers: Sequence[Breaker | None]
    unfinished: UnfinishedFolds
    costs: FoldCosts | None
    model: str | None
    summary_budget: int | None
    # How many tokens a summarizer reads at once; None if its own window says so.
    window: int | None
    seconds: float
    observer: FoldObserver | None
    now: Callable[[], datetime]


async def made(call: ReducerCall, means: Means) -> ReducedHistory[Any]:
    """Return the view after the fold that *call* asks for."""
    observed = nullcontext() if means.observer is None else means.observer.fold()
    with observed as told:
        result, readings = await _folded(call, means)
        writing, wrote = result.writing, result.writing.summarizer
        usage, names = usage_of(readings), [*(one.name for one in means.given), DIGEST]
        name, state = "" if wrote is None else names[wrote], result.state
        status: ReductionStatus = "failed" if state is None else "performed"
        if state is not None:
            state = structs.replace(
                state,
                summarizer=name,
                summarizer_calls=writing.calls,
                summarizer_usage=usage,
                readings=readings,
            )
            if call.cache is not None:
                call.cache.put(state, scope=call.scope, recall=bool(call.budget.recall))
        log_writing(names, writing)
        _log_clipped(call, result.left_out)
        reduced = shown(
            call,
            means.config,
            state or call.verdict.state,
            status,
            means.now,
            reason=result.reason,
            summarizer=name or None,
            summarizer_calls=writing.calls,
            summarizer_tokens=writing.tokens_read,
            summarizer_usage=usage,
            readings=readings,
            left_out=result.left_out,
            failures=writing.failures,
            dropped_statements=writing.dropped,
        )
        _log_fold(reduced.event)
        if told is not None:
            told(reduced.event)
    return reduced


def _log_fold(event: HistoryReductionEvent) -> None:
    """Log how much became how much: inside a framework nothing else tells of a fold."""
    _LOG.info(
        "fold %s: %d messages of %d tokens became %d of %d (%s; by %s)",
        event.status,
        event.original_count,
        event.original_tokens,
        event.reduced_count,
        event.reduced_tokens,
        event.reason.value,
        event.summarizer or "code",
    )


def _log_clipped(call: ReducerCall, left_out: Sequence[str]) -> None:
    """Log that the model does not read the whole of what it answers, if *left_out* names that."""
    last = f"message {call.items.history.last_user()}"
    if any(one.startswith(f"{last} (") for one in left_out):
        why = f"it does not fit the ceiling of {call.budget.ceiling:,} tokens; raise `ceiling`, or the window"
        if isinstance(call.overrides, AfterRefusal):
            why = "the vendor refused the request as too long; set `window` to what the model takes"
        text = "%s, the last of the user, is shown shortened or without its files: %s"
        _LOG.warning(text, last, why)


async def _folded(call: ReducerCall, means: Means) -> tuple[FoldResult, tuple[Reading, ...]]:
    history, budget, given = call.items.history, call.aim, means.given
    # The digest counts as the history does, so that its text keeps to the budget.
    digest = structs.replace(digest_of(given), counter=history.counter)
    writers = [_after(one, call.verdict.state, digest) for one in given]
    if writers:
        writers[0] = riding(call, writers[0], means.costs)
    chain = [*(recorded(one, digest) for one in writers), digest]
    options = FoldOptions(
        created_at=means.now(),
        config_fingerprint=means.fingerprint,
        summarizers=len(chain),
        budget=budget,
        summary_budget=min(means.summary_budget or budget.summary, budget.beside),
        window=means.window or _read_at_once(given, budget, model=means.model),
        pins=call.pins,
        by_code=written_by_code(chain),
        clean=clean,
        has_rule=has_rule,
        tells=asks,
        model=means.model,
    )
    flow = fold(
        history, call.verdict, means.config, options, given=call.given, overrides=call.overrides
    )
    unfinished = (means.unfinished, call.scope)
    calls = FoldCalls(chain, means.breakers, seconds=means.seconds, unfinished=unfinished)
    result = await calls.run(flow)
    return _with_item(call, result, calls), calls.readings


def _read_at_once(
    summarizers: Iterable[Summarizer], budget: Budget, *, model: str | None
) -> int | None:
    """Return how many tokens each of *summarizers* can read at once; None if none asks a model."""
    windows: list[float] = []
    for one in summarizers:
        if isinstance(one, ModelSummarizer | VendorCompaction):
            is_asked = one.model_name == model
            windows.append(one.context_window or (budget.window if is_asked else DEFAULT_WINDOW))
            if is_asked:
                windows.append(budget.window / max(1.0, budget.ratio))
    return max(1, int(min(windows) * _READING_SHARE)) if windows else None


def _after(
    summarizer: Summarizer, active: HistoryReductionState | None, digest: DigestSummarizer
) -> Summarizer:
    """Return *summarizer* for a fold after *active*, whose sealed item its vendor reads again."""
    if isinstance(summarizer, VendorCompaction):
        return summarizer.after(None if active is None else active.sealed_item, digest)
    return summarizer


def _with_item(call: ReducerCall, result: FoldResult, calls: FoldCalls) -> FoldResult:
    """Return *result* with the item of the vendor that wrote it, if that stands for all it covers."""
    base, made = call.verdict.state, result.state
    start = 0 if base is None else base.summarized_up_to_index
    sealed = calls.sealed_for(call.verdict.cut - start)
    if sealed is None or made is None or made.layers or result.writing.text is None:
        return result
    history, budget = call.items.history, call.aim
    state = with_sealed(history, made, sealed, base=base, budget=budget)
    return structs.replace(result, state=state)
