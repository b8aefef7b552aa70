"""Making a new reduction."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType

import msgspec
from msgspec import Struct

from foldline.history.history import History
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.flow import Flow
from foldline.reduction.prompt import prompt_of
from foldline.reduction.reason import Reason
from foldline.reduction.standing import known_of, knows_failure
from foldline.reduction.state import EMPTY_HASH, HistoryReductionState, hash_of, linked
from foldline.reduction.strategies.counting import drop
from foldline.reduction.strategies.draft import Draft, Task, Writing
from foldline.reduction.strategies.summarizing import add_layer, roll
from foldline.reduction.verdict import Verdict, leaving_tokens


__all__ = ["DEFAULT_SUMMARY_BUDGET", "FoldOptions", "FoldResult", "fold"]


DEFAULT_SUMMARY_BUDGET = 1500
"""The tokens that a summary has to keep to, where nothing else is asked for."""


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
    """What came of a fold."""

    state: HistoryReductionState
    """The new reduction; after a failure the one in force, or an empty one where there is none, with
    the failure noted in it."""

    performed: bool
    """Whether there is a new reduction."""

    reason: Reason
    """Why, or why not."""

    writing: Writing
    """What the summarizers were asked and who answered."""


_STRATEGIES: Mapping[tuple[str, bool], Callable[[Task], Flow[Draft]]] = MappingProxyType(
    {
        ("message_counting", True): drop,
        ("message_counting", False): drop,
        ("summarizing", True): roll,
        ("summarizing", False): add_layer,
    }
)


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

    A fold fails, and what is in force stays in force, where no summarizer gives a usable text. A
    text that would not make the view smaller is none.

    Args:
        history: All that was said.
        verdict: A verdict that folds, made of the same history and configuration.
        config: How to reduce.
        options: The time, the fingerprint and what summarizers there are.
        given: The state that the verdict was made of; earlier failures are noted in it. What it
            knows of *history* is kept behind the new reduction, whoever can use it.
    """
    task = Task(
        history=history,
        base=verdict.state,
        cut=verdict.cut,
        leaving=leaving_tokens(
            history,
            0 if verdict.state is None else verdict.state.summarized_up_to_index,
            verdict.cut,
        ),
        prompt=prompt_of(config),
        summarizers=options.summarizers,
        summary_budget=options.summary_budget,
        window=options.window,
    )
    draft = yield from _STRATEGIES[config.strategy, config.use_single_summary](task)
    if not draft.written:
        return FoldResult(
            state=_failed(history, verdict, config, options, given),
            performed=False,
            reason=Reason.SUMMARIZERS_FAILED,
            writing=draft.writing,
        )
    return FoldResult(
        state=_reduction(history, verdict, config, options, draft, given),
        performed=True,
        reason=_reason(verdict, draft.writing, options),
        writing=draft.writing,
    )


def _reason(verdict: Verdict, writing: Writing, options: FoldOptions) -> Reason:
    fallback = options.summarizers - 1
    return Reason.FOLDED_BY_FALLBACK if 0 < fallback == writing.summarizer else verdict.reason


def _reduction(
    history: History,
    verdict: Verdict,
    config: HistoryReductionConfig,
    options: FoldOptions,
    draft: Draft,
    given: HistoryReductionState | None,
) -> HistoryReductionState:
    user = history.last_user()
    before = verdict.state
    if before is None:
        before = known_of(history, given)
    elif draft.layers:
        # The layers are earlier reductions themselves, but for those that a merge took away.
        before = _unmerged(before) if draft.merged else before.previous
    return HistoryReductionState(
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
    ).behind(before)


def _unmerged(before: HistoryReductionState) -> HistoryReductionState:
    """Return *before* without the reductions that its own layers are."""
    own, *others = before.chain()
    made = own.config_fingerprint
    return own.behind(linked(one for one in others if one.config_fingerprint != made))


def _failed(
    history: History,
    verdict: Verdict,
    config: HistoryReductionConfig,
    options: FoldOptions,
    given: HistoryReductionState | None,
) -> HistoryReductionState:
    base = verdict.state
    if base is None:
        base = HistoryReductionState(
            summarized_up_to_index=0,
            message_count_at_reduction=0,
            summary_content="",
            created_at=options.created_at,
            message_hash=EMPTY_HASH,
            target_count=config.limits.target,
            reduction_threshold=config.limits.threshold,
            counting_unit=config.counting_unit,
            config_fingerprint=options.config_fingerprint,
        ).behind(known_of(history, given))
    noted = given if given is not None and knows_failure(history, given) else None
    return msgspec.structs.replace(
        base,
        failed_hash=hash_of(history, verdict.cut) if noted is None else noted.failed_hash,
        failed_index=verdict.cut if noted is None else noted.failed_index,
        failed_attempts=1 if noted is None else noted.failed_attempts + 1,
        failed_units=verdict.units,
    )
