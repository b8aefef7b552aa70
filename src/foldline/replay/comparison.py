"""
Several configurations over one session, next to what it costs without foldline.

The baselines are computed from the sizes of messages, or from what the vendor reported; their requests
are not checked.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.history import History
from foldline.reduction.budget import DEFAULT_WINDOW, budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.replay.bill import Terms, priced
from foldline.replay.optimum import optimal_bill
from foldline.replay.player import Replay, play
from foldline.replay.record import CallRecord, ReplayKind, ReplayReport, Totals
from foldline.replay.tape import Tape


NO_REDUCTION = "no reduction"
"""The name of the baseline that sends everything."""

RECORDED = "as recorded"
"""The name of what the vendor reported when the session took place."""

# Of the calls that must have a report, and of a prefix that a cache still has: it serves whole blocks.
_MOST = 0.9
_NEGLIGIBLE = 1.02

_ROLLING = HistoryReductionConfig(
    counting_unit="messages", target_count=40, summarization_threshold=20
)

USUAL: Mapping[str, HistoryReductionConfig] = MappingProxyType(
    {
        "default": HistoryReductionConfig(),
        "rolling": _ROLLING,
        "layers": replace(_ROLLING, use_single_summary=False),
        "exchanges": HistoryReductionConfig(target_count=5, summarization_threshold=5),
        "tokens": HistoryReductionConfig(target_token_budget=8_000, token_budget_threshold=8_000),
        "counting": replace(_ROLLING, strategy="message_counting"),
    }
)
"""What a replay compares by default."""


class Comparison(Struct, frozen=True, kw_only=True):
    """One session under every configuration."""

    # No reduction, what was recorded if the usage is known, then one report per configuration.
    reports: tuple[ReplayReport, ...]
    replays: Mapping[str, Replay]


def compare(
    tape: Tape,
    configs: Mapping[str, HistoryReductionConfig],
    *,
    check: bool = True,
    terms: Terms | None = None,
    stretches: bool = True,
    on_call: Callable[[], None] | None = None,
) -> Comparison:
    """
    Play *tape* under each of *configs*, by name; without *terms* there are no bills.

    A page with the text of the session needs the *stretches*.
    """
    replays: dict[str, Replay] = {}
    for name, given in configs.items():
        config = given
        if terms is not None and config.prices is None:
            config = replace(config, prices=terms.prices)
        replay = play(tape, config, name=name, check=check, stretches=stretches, on_call=on_call)
        if terms is not None:
            replay = replace(replay, report=_billed(replay.report, tape, config, terms))
        replays[name] = replay
    window = max((budget_of(one).window for one in configs.values()), default=DEFAULT_WINDOW)
    baselines = [no_reduction(tape, window=window), *filter(None, (as_recorded(tape),))]
    if terms is not None:
        baselines = [priced(report, terms) for report in baselines]
    return Comparison(
        reports=(*baselines, *(replay.report for replay in replays.values())), replays=replays
    )


def _billed(
    report: ReplayReport, tape: Tape, config: HistoryReductionConfig, terms: Terms
) -> ReplayReport:
    report = priced(report, terms)
    answers = sum(terms.answer(call) for call in report.calls)
    best = optimal_bill(tape, config, terms).cost if config.enabled else None
    optimum = None if best is None else best + answers
    return replace(report, totals=replace(report.totals, optimum=optimum))


def needs_no_folding(reports: Sequence[ReplayReport]) -> bool:
    """Whether all can be sent, and no configuration of a priced comparison is 2 % cheaper."""
    bills = {one.kind: one.totals.cost for one in reports if not one.totals.too_large}
    never = bills.get("no_reduction")
    ours = [one.totals.cost for one in reports if one.kind == "reducer" and one.totals.cost]
    return bool(never and ours and never <= min(ours) * _NEGLIGIBLE)


def no_reduction(tape: Tape, *, window: int = DEFAULT_WINDOW) -> ReplayReport:
    """Return what it costs to send the full history at every call, to a model with this *window*."""
    return _baseline(NO_REDUCTION, "no_reduction", tape, tuple(_calls(tape)), window)


def as_recorded(tape: Tape) -> ReplayReport | None:
    """Return what the vendor reported; None if it is missing for more than a tenth of the calls."""
    calls = tuple(_reported(tape))
    if not calls or len(calls) < len(tape.calls) * _MOST:
        return None
    return _baseline(RECORDED, "recorded", tape, calls, None)


def _baseline(
    name: str, kind: ReplayKind, tape: Tape, calls: tuple[CallRecord, ...], window: int | None
) -> ReplayReport:
    return ReplayReport(
        name=name,
        kind=kind,
        config=None,
        session=tape.session,
        totals=Totals.of(calls, most_reads=0, checked=False, window=window),
        calls=calls,
    )


def _calls(tape: Tape) -> Iterator[CallRecord]:
    history, before = History(counter=tape.counter), 0
    for number, position in enumerate(tape.calls, start=1):
        system = history.system_tokens
        tape.fill(history, position)
        tokens = history.system_tokens + history.tokens()
        kept = before if system == history.system_tokens else min(before, system)
        yield _call(tape, number, tokens=tokens, full=tokens, kept=kept, prior=before)
        before = tokens


def _reported(tape: Tape) -> Iterator[CallRecord]:
    """Yield what the vendor counted, with the sizes of what had been said by then."""
    prior = 0
    for call, usage in zip(_calls(tape), tape.usages, strict=True):
        if usage is not None and usage.input_tokens:
            tokens, kept = usage.input_tokens, usage.cache_read_tokens
            made = _call(
                tape, call.number, tokens=tokens, full=call.full_tokens, kept=kept, prior=prior
            )
            yield replace(made, written_tokens=usage.cache_write_tokens)
            prior = tokens


def _call(tape: Tape, number: int, *, tokens: int, full: int, kept: int, prior: int) -> CallRecord:
    return CallRecord(
        number=number,
        position=tape.calls[number - 1],
        verdict="skip",
        reason=Reason.BELOW_THRESHOLD.value,
        status="skipped",
        view_messages=tape.calls[number - 1],
        view_tokens=tokens,
        full_tokens=full,
        kept_tokens=kept,
        fresh_tokens=tokens - kept,
        prior_tokens=prior,
        prefix_broke=kept < prior * _MOST,
        idle=tape.idle[number - 1],
        answer_tokens=tape.answer_tokens(number - 1),
    )
