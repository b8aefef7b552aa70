"""Making a new reduction."""

from datetime import datetime

from msgspec import Struct

from foldline.history.history import History
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.reduction.request import DEFAULT_PROMPT, Flow
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.reduction.strategies import STRATEGIES, Draft
from foldline.reduction.verdict import Verdict, known_of, leaving_tokens
from foldline.reduction.writing import Task, Writing


__all__ = ["DEFAULT_SUMMARY_BUDGET", "FoldOptions", "FoldResult", "fold"]


DEFAULT_SUMMARY_BUDGET = 1500
"""The tokens that a summary has to keep to by default."""


class FoldOptions(Struct, frozen=True, kw_only=True):
    """What a fold needs besides the history, its verdict and its configuration."""

    created_at: datetime
    """The time."""

    config_fingerprint: str
    """What shapes the summary."""

    summarizers: int
    """How many summarizers there are to ask, one after the other."""

    summary_budget: int = DEFAULT_SUMMARY_BUDGET
    """The tokens that one summary is asked to keep to."""

    window: int | None = None
    """The most tokens that a summarizer may be given to read at once; None is any number."""


class FoldResult(Struct, frozen=True, kw_only=True):
    """The result of a fold."""

    state: HistoryReductionState | None
    """The new reduction; None if the fold failed, so that the active one stays."""

    reason: Reason
    """Why, or why not."""

    writing: Writing
    """What the summarizers were asked and which of them answered."""


def fold(
    history: History,
    verdict: Verdict,
    config: HistoryReductionConfig,
    options: FoldOptions,
    *,
    given: HistoryReductionState | None = None,
) -> Flow[FoldResult]:
    """
    Make the reduction that *verdict* asks for.

    A fold fails, and the active reduction stays, if no summarizer gives a usable text. A text that
    would not make the view smaller is not usable.

    Args:
        history: The full history.
        verdict: A verdict that folds, made from the same history and configuration.
        config: How to reduce.
        options: The time, the fingerprint and what summarizers there are.
        given: The state that the verdict was made from. What it carries that fits *history* is
            carried on, also if it was made with another configuration.
    """
    base = verdict.state
    start = 0 if base is None else base.summarized_up_to_index
    task = Task(
        history=history,
        base=base,
        cut=verdict.cut,
        leaving=leaving_tokens(history, start, verdict.cut),
        prompt=config.custom_summarization_prompt or DEFAULT_PROMPT,
        summarizers=options.summarizers,
        summary_budget=options.summary_budget,
        window=options.window,
    )
    draft = yield from STRATEGIES[config.strategy, config.use_single_summary](task)
    if not draft.written:
        return FoldResult(state=None, reason=Reason.SUMMARIZERS_FAILED, writing=draft.writing)
    last = options.summarizers - 1
    by_fallback = 0 < last == draft.writing.summarizer
    return FoldResult(
        state=_reduction(history, verdict, config, options, draft, given),
        reason=Reason.FOLDED_BY_FALLBACK if by_fallback else verdict.reason,
        writing=draft.writing,
    )


def _reduction(
    history: History,
    verdict: Verdict,
    config: HistoryReductionConfig,
    options: FoldOptions,
    draft: Draft,
    given: HistoryReductionState | None,
) -> HistoryReductionState:
    user = history.last_user()
    base = verdict.state
    known = known_of(history, given) if base is None else [*base.chain()]
    made = HistoryReductionState(
        summarized_up_to_index=verdict.cut,
        message_count_at_reduction=history.count(config.counting_unit),
        summary_content=draft.summary,
        created_at=options.created_at,
        message_hash=hash_of(history, verdict.cut),
        target_count=config.limits.target,
        reduction_threshold=config.limits.threshold,
        counting_unit=config.counting_unit,
        layers=draft.layers,
        pinned_index=user if user is not None and user < verdict.cut else None,
        summary_tokens=draft.tokens,
        config_fingerprint=options.config_fingerprint,
        number=1 + max((one.number for one in known), default=0),
    ).sealed()
    if base is not None and draft.layers and not draft.merged:
        # Its layers are the first ones of the new reduction.
        del known[0]
    return made.carrying(known)
