"""
What the same session costs without foldline, counted in the same way.

Both are computed from the sizes of messages; no summary is written, so their requests are not
judged. Wherever something had to be assumed, it favours the baseline.
"""

from collections.abc import Iterator

from msgspec import Struct

from foldline.history.boundaries import safe_cut
from foldline.history.history import History
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.reduction.fold import DEFAULT_SUMMARY_BUDGET
from foldline.reduction.writing import budget_for
from foldline.replay.record import (
    CallRecord,
    ConfigRecord,
    FoldRecord,
    ReplayReport,
    Totals,
)
from foldline.replay.tape import Tape


__all__ = ["NO_MEMORY", "NO_REDUCTION", "no_memory", "no_reduction"]


NO_REDUCTION = "no reduction"
"""The name of the baseline that sends everything."""

NO_MEMORY = "no memory"
"""The name of the baseline that forgets its summaries."""


class _Request(Struct, frozen=True, kw_only=True):
    """One request of a baseline."""

    cut: int
    read: int
    messages: int
    tokens: int


def no_reduction(tape: Tape) -> ReplayReport:
    """Return what it costs to send the full history at every call."""
    history = History(counter=tape.counter)
    records: list[CallRecord] = []
    before = 0
    for position in tape.calls:
        _advance(history, tape, position)
        tokens = history.system_tokens + history.tokens()
        request = _Request(cut=0, read=0, messages=history.total, tokens=tokens)
        record = _record(len(records), position, request, history, kept=before, prior=before)
        records.append(record)
        before = tokens
    return ReplayReport(
        name=NO_REDUCTION,
        kind="no_reduction",
        config=None,
        session=tape.session,
        totals=Totals.of(records, most_reads=0, checked=False),
        calls=tuple(records),
    )


def no_memory(tape: Tape, config: HistoryReductionConfig) -> ReplayReport:
    """
    Return what it costs to summarize everything old anew, at each call above the threshold.

    The summary is as long as it may be, and equal to the one before while it stands for the same
    messages, which a model's would not be.
    """
    records = tuple(_forgetful_calls(tape, config))
    reads = sum(bool(record.fold and record.fold.messages_read) for record in records)
    return ReplayReport(
        name=NO_MEMORY,
        kind="no_memory",
        config=ConfigRecord.of(config),
        session=tape.session,
        totals=Totals.of(records, most_reads=reads, checked=False),
        calls=records,
    )


def _forgetful_calls(tape: Tape, config: HistoryReductionConfig) -> Iterator[CallRecord]:
    history = History(counter=tape.counter)
    before: _Request | None = None
    for number, position in enumerate(tape.calls):
        system = history.system_tokens
        _advance(history, tape, position)
        cut = _cut(history, config)
        request = _request(history, config, cut)
        kept = prior = 0
        if before is not None:
            prior = before.tokens
            kept = prior if before.cut == cut and system == history.system_tokens else system
        yield _record(number, position, request, history, kept=kept, prior=prior)
        before = request


def _cut(history: History, config: HistoryReductionConfig) -> int:
    unit, limits = config.counting_unit, config.limits
    if history.count(unit) <= limits.ceiling:
        return 0
    return safe_cut(history, unit=unit, keep=limits.target, slack=limits.threshold) or 0


def _request(history: History, config: HistoryReductionConfig, cut: int) -> _Request:
    head, messages = history.system_tokens, len(history.system)
    read = history.tokens(0, cut) if config.strategy == "summarizing" else 0
    if read:
        head += budget_for(read, DEFAULT_SUMMARY_BUDGET)
        messages += 1
    user = history.last_user()
    if user is not None and user < cut:
        head += history.tokens(user, user + 1)
        messages += 1
    return _Request(
        cut=cut,
        read=read,
        messages=messages + len(history) - cut,
        tokens=head + history.tokens(cut),
    )


def _advance(history: History, tape: Tape, position: int) -> None:
    history.extend(tape.messages[history.total : position])


def _record(
    number: int, position: int, request: _Request, history: History, *, kept: int, prior: int
) -> CallRecord:
    fold = None
    if request.cut:
        fold = FoldRecord(
            cut=request.cut,
            summarizer=None,
            summarizer_calls=int(request.read > 0),
            tokens_read=request.read,
            messages_read=((0, request.cut),) if request.read else (),
        )
    reason = Reason.THRESHOLD_EXCEEDED if request.cut else Reason.BELOW_THRESHOLD
    return CallRecord(
        number=number + 1,
        position=position,
        verdict="fold" if request.cut else "skip",
        reason=reason.value,
        status="performed" if request.cut else "skipped",
        view_messages=request.messages,
        view_tokens=request.tokens,
        full_tokens=history.system_tokens + history.tokens(),
        kept_tokens=kept,
        fresh_tokens=request.tokens - kept,
        prior_tokens=prior,
        prefix_broke=kept < prior,
        fold=fold,
    )
