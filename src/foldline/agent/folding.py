"""One fold of a reducer: who is asked for a summary, and what the summary makes of the history."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, structs

from foldline.agent.arguments import read_at_once
from foldline.agent.breaker import Breaker
from foldline.agent.compacting import after, with_item
from foldline.agent.fold_calls import FoldCalls, log_writing
from foldline.agent.recorded import digest_of, recorded, written_by_code
from foldline.agent.reduced import ReducerCall
from foldline.agent.riding import riding
from foldline.agent.unfinished import UnfinishedFolds
from foldline.providers.digest.text import clean
from foldline.providers.summarizer import Summarizer
from foldline.reduction.balance import FoldCosts
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.draft import FoldOptions
from foldline.reduction.fold import FoldResult, fold
from foldline.reduction.reading import Reading


__all__ = ["Means", "folded", "log_writing"]


class Means(Struct, frozen=True, kw_only=True):
    """What a reducer folds with, whatever the call."""

    config: HistoryReductionConfig
    fingerprint: str
    given: Sequence[Summarizer]
    """The summarizers that the digest stands behind."""

    breakers: Sequence[Breaker | None]
    unfinished: UnfinishedFolds
    costs: FoldCosts | None
    model: str | None
    summary_budget: int | None
    window: int | None
    """How many tokens a summarizer reads at once; None if its own window says so."""

    seconds: float
    created_at: datetime


async def folded(call: ReducerCall, means: Means) -> tuple[FoldResult, tuple[Reading, ...]]:
    """Return what the fold that *call* asks for has made, and what was read for it."""
    history, budget, given = call.items.history, call.budget, means.given
    # The digest counts as the history does, so that its text keeps to the budget.
    digest = structs.replace(digest_of(given), counter=history.counter)
    writers = [after(one, call.verdict.state, digest) for one in given]
    if writers:
        writers[0] = riding(call, writers[0], means.costs)
    chain = [*(recorded(one, digest) for one in writers), digest]
    options = FoldOptions(
        created_at=means.created_at,
        config_fingerprint=means.fingerprint,
        summarizers=len(chain),
        budget=budget,
        summary_budget=min(means.summary_budget or budget.summary, budget.beside),
        window=means.window or read_at_once(given, budget, model=means.model),
        pins=call.pins,
        by_code=written_by_code(chain),
        clean=clean,
    )
    flow = fold(
        history, call.verdict, means.config, options, given=call.given, overrides=call.overrides
    )
    unfinished = (means.unfinished, call.scope)
    calls = FoldCalls(chain, means.breakers, seconds=means.seconds, unfinished=unfinished)
    result = await calls.run(flow)
    return with_item(call, result, calls), calls.readings
