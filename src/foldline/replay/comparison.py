"""
Several configurations over one session, next to what it costs without foldline.

The two baselines are computed from the sizes of messages; no summary is written, so their requests
are not checked. Every assumption favors the baseline.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import msgspec
from msgspec import Struct

from foldline.history.boundaries import safe_cut
from foldline.history.history import History
from foldline.reduction.budget import SUMMARY_TOKENS, budget_for, budget_of
from foldline.reduction.config import HistoryReductionConfig, Limits
from foldline.reduction.event import Reason
from foldline.replay.player import Replay, play
from foldline.replay.record import CallRecord, ConfigRecord, FoldRecord, ReplayReport, Totals
from foldline.replay.tape import Tape


__all__ = [
    "NO_MEMORY",
    "NO_REDUCTION",
    "USUAL",
    "Comparison",
    "compare",
    "no_memory",
    "no_reduction",
]


NO_REDUCTION = "no reduction"
"""The name of the baseline that sends everything."""

NO_MEMORY = "no memory"
"""The name of the baseline that forgets its summaries."""

_ROLLING = HistoryReductionConfig(
    counting_unit="messages", target_count=40, summarization_threshold=20
)

USUAL: Mapping[str, HistoryReductionConfig] = MappingProxyType(
    {
        "default": HistoryReductionConfig(),
        "rolling": _ROLLING,
        "layers": msgspec.structs.replace(_ROLLING, use_single_summary=False),
        "exchanges": HistoryReductionConfig(target_count=5, summarization_threshold=5),
        "tokens": HistoryReductionConfig(target_token_budget=8_000, token_budget_threshold=8_000),
        "counting": msgspec.structs.replace(_ROLLING, strategy="message_counting"),
    }
)
"""What a replay compares by default."""


class Comparison(Struct, frozen=True, kw_only=True):
    """One session under every configuration."""

    reports: tuple[ReplayReport, ...]
    """The baselines, then one report per configuration."""

    replays: Mapping[str, Replay]


def compare(
    tape: Tape,
    configs: Mapping[str, HistoryReductionConfig],
    *,
    check: bool = True,
    on_call: Callable[[], None] | None = None,
) -> Comparison:
    """
    Play *tape* under every configuration of *configs*, given by name.

    Args:
        tape: The session.
        configs: The configurations; the baseline without memory is computed for the first one that
            summarizes.
        check: Whether every request is checked.
        on_call: Is called after each model call under each configuration.
    """
    replays = {
        name: play(tape, config, name=name, check=check, on_call=on_call)
        for name, config in configs.items()
    }
    baselines = (no_reduction(tape), no_memory(tape, _forgetful(configs)))
    return Comparison(
        reports=(*baselines, *(replay.report for replay in replays.values())), replays=replays
    )


def _forgetful(configs: Mapping[str, HistoryReductionConfig]) -> HistoryReductionConfig:
    """Return the first configuration that summarizes; if none does, the first one made to do so."""
    for config in configs.values():
        if config.strategy == "summarizing":
            return config
    first = next(iter(configs.values()))
    return msgspec.structs.replace(first, strategy="summarizing")


def no_reduction(tape: Tape) -> ReplayReport:
    """Return what it costs to send the full history at every call."""
    calls = tuple(_calls(tape, None))
    return ReplayReport(
        name=NO_REDUCTION,
        kind="no_reduction",
        config=None,
        session=tape.session,
        totals=Totals.of(calls, most_reads=0, checked=False),
        calls=calls,
    )


def no_memory(tape: Tape, config: HistoryReductionConfig) -> ReplayReport:
    """
    Return what it costs to summarize everything old again at each call above the threshold.

    The summary is as long as it may be, and equal to the one before while it represents the same
    messages, which a model's would not be.
    """
    calls = tuple(_calls(tape, config))
    reads = sum(bool(call.fold and call.fold.messages_read) for call in calls)
    return ReplayReport(
        name=NO_MEMORY,
        kind="no_memory",
        config=ConfigRecord.of(config),
        session=tape.session,
        totals=Totals.of(calls, most_reads=reads, checked=False),
        calls=calls,
    )


def _calls(tape: Tape, config: HistoryReductionConfig | None) -> Iterator[CallRecord]:
    history = History(counter=tape.counter)
    before, cut_before = 0, 0
    for number, position in enumerate(tape.calls, start=1):
        system = history.system_tokens
        history.extend(tape.messages[history.total : position])
        cut = 0 if config is None else _cut(history, config)
        same = config is None or (cut == cut_before and system == history.system_tokens)
        call = _call(history, config, cut)
        kept = before if same else min(before, system)
        yield msgspec.structs.replace(
            call,
            number=number,
            position=position,
            kept_tokens=kept,
            fresh_tokens=call.view_tokens - kept,
            prior_tokens=before,
            prefix_broke=kept < before,
            idle=tape.idle[number - 1],
            answer_tokens=tape.answer_tokens(number - 1),
        )
        before, cut_before = call.view_tokens, cut


def _cut(history: History, config: HistoryReductionConfig) -> int:
    unit, limits = config.unit, config.limits
    if limits is None:
        budget = budget_of(config, system=history.system_tokens)
        system = history.system_tokens
        limits = Limits(budget.keep, budget.full - system - budget.keep)
    if history.count(unit) <= limits.ceiling:
        return 0
    return safe_cut(history, unit=unit, keep=limits.target, slack=limits.threshold) or 0


def _call(history: History, config: HistoryReductionConfig | None, cut: int) -> CallRecord:
    """Return the request of a baseline, before it is compared with the one before."""
    summarizes = config is not None and config.strategy == "summarizing"
    read = history.tokens(0, cut) if summarizes else 0
    messages = history.total - cut
    tokens = history.system_tokens + history.tokens(cut)
    if read:
        tokens += budget_for(read, SUMMARY_TOKENS)
        messages += 1
    user = history.last_user()
    if user is not None and user < cut:
        tokens += history.tokens(user, user + 1)
        messages += 1
    fold = FoldRecord(
        cut=cut,
        summarizer=None,
        summarizer_calls=int(read > 0),
        tokens_read=read,
        messages_read=((0, cut),) if read else (),
    )
    return CallRecord(
        number=0,
        position=0,
        verdict="fold" if cut else "skip",
        reason=(Reason.THRESHOLD_EXCEEDED if cut else Reason.BELOW_THRESHOLD).value,
        status="performed" if cut else "skipped",
        view_messages=messages,
        view_tokens=tokens,
        full_tokens=history.system_tokens + history.tokens(),
        kept_tokens=0,
        fresh_tokens=0,
        prior_tokens=0,
        prefix_broke=False,
        fold=fold if cut else None,
    )
