"""What a table of replays shows, on a page and on a terminal."""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from foldline.replay.numbers import counted, short_number
from foldline.replay.optimum import OPTIMAL_SUMMARY
from foldline.replay.record import ConfigRecord, ReplayReport, SessionRecord, Totals


Kind: TypeAlias = Literal["count", "tokens", "share", "money"]
"""What a figure is a number of."""


class Column(NamedTuple):
    """One figure of a replay."""

    title: str
    kind: Kind
    # The figure's name in `Totals`.
    field: str
    meaning: str

    def show(self, totals: Totals, *, short: bool = False) -> str:
        """Write the figure in full, or *short* if it is a large number of tokens."""
        figure: float | None = getattr(totals, self.field)
        if figure is None:
            return "-"
        if self.kind == "share":
            # Never rounded up to all of it: a prefix that broke once is not a whole one.
            return "100 %" if figure >= 1 else f"{min(figure * 100, 99.9):.1f} %"
        if self.kind == "money":
            return f"{figure:,.2f}" if figure >= 1 else f"{figure:.4f}"
        return short_number(figure) if short and self.kind == "tokens" else f"{figure:,.0f}"


# Two sums of the same bills may differ in their last digits.
_SAME = 1 - 1e-9
_NEW = "The tokens sent that no prompt cache could serve: they are new since the last request."
_KEPT = "The share of each request that the next one began with, which prompt caches can serve."
_INVALID = "Requests that OpenAI or Anthropic would refuse, or that lost something."
_REPORTED = "what the vendor reported, with instructions and tools, which no other row has"
_BILL = (
    "US dollars for all requests, cached prefixes at their price, and for summaries as the model "
    "would write them, and for answers, which are estimated if the vendor's usage is not recorded."
)
_BEST = (
    "The least bill of folds with the same retained window and summaries of "
    f"{OPTIMAL_SUMMARY:,} tokens, their times chosen in hindsight and no request too large; a bill "
    "that clears or clips tool results or has shorter summaries may be below it."
)
BELOW_BEST = (
    "a bill below its best: tool results were cleared or clipped, or summaries are shorter than the "
    f"{OPTIMAL_SUMMARY:,} tokens that the best one reckons with"
)
"""What is said of rows that are `below_best`."""

COLUMNS = (
    Column("folds", "count", "folds", "How often a new reduction was made."),
    Column("summary calls", "count", "summarizer_calls", "How often a summarizer was asked."),
    Column("tokens read", "tokens", "summarizer_tokens", "The tokens that summarizers read."),
    Column("mean view", "tokens", "mean_tokens", "The mean size of a request, in tokens."),
    Column("peak view", "tokens", "peak_tokens", "The size of the largest request, in tokens."),
    Column("tokens sent", "tokens", "sent_tokens", "The tokens of all requests together."),
    Column("new", "tokens", "fresh_tokens", _NEW),
    Column("prefix kept", "share", "prefix_share", _KEPT),
    Column("bill, $", "money", "cost", _BILL),
    Column("best, $", "money", "optimum", _BEST),
    Column("invalid", "count", "invalid_requests", _INVALID),
)
"""Every figure, in the order in which it is shown."""


def shown_columns(table: Sequence["Row"]) -> tuple[Column, ...]:
    """Return the columns that *table* has a figure for; those of money need prices."""
    return tuple(
        column
        for column in COLUMNS
        if column.kind != "money" or any(getattr(row.totals, column.field) for row in table)
    )


class Row(Struct, frozen=True, kw_only=True):
    """One configuration over all sessions that were played."""

    name: str
    is_baseline: bool
    description: str
    totals: Totals


def below_best(table: Sequence[Row]) -> tuple[str, ...]:
    """Return the names of the rows whose bill is below the best one, which counts folds alone."""
    bills = ((row.name, row.totals.cost, row.totals.optimum) for row in table)
    return tuple(
        name
        for name, cost, best in bills
        if cost is not None and best is not None and cost < best * _SAME
    )


def rows(sessions: Sequence[Sequence[ReplayReport]]) -> tuple[Row, ...]:
    """Return one row per name, in order of appearance, from the reports of each session."""
    by_name: dict[str, list[ReplayReport]] = {}
    for reports in sessions:
        for report in reports:
            by_name.setdefault(report.name, []).append(report)
    return tuple(
        Row(
            name=name,
            is_baseline=reports[0].kind != "reducer",
            description=describe(reports[0], totals),
            totals=totals,
        )
        for name, reports in by_name.items()
        for totals in (reduce(Totals.plus, (report.totals for report in reports)),)
    )


def assumed(sessions: Iterable[SessionRecord]) -> str:
    """Return what follows the name of prices where a bill of *sessions* rests on more than them."""
    played = tuple(sessions)
    count, untimed = (
        sum(getattr(one, name) for one in played) for name in ("estimated_answers", "untimed_calls")
    )
    text = ""
    if count:
        text = f"; {counted(count, 'answer')} without recorded usage estimated, as all requests are"
    if untimed:
        text += f"; {counted(untimed, 'call')} without recorded times, as if no cache had expired"
    models = {name for one in played for name in one.models}
    if len(models) > 1:
        text += f"; answers of {len(models):,} models, all at these prices"
    return text


def describe(report: ReplayReport, totals: Totals | None = None) -> str:
    """Return what prepared the requests of *report*, and whether all those of *totals* can be sent."""
    totals = totals or report.totals
    large = too_large(totals)
    end = f"; {large}: it cannot be sent, and its bill is what it would cost if it could"
    if report.kind == "recorded" and not totals.kept_tokens:
        return f"{_REPORTED}; it names no cached tokens: all are charged as new"
    return _prepared_by(report) + end * bool(large)


def too_large(totals: Totals) -> str:
    """Return how many calls do not fit the window; empty if all do."""
    if not totals.too_large:
        return ""
    return (
        f"{totals.too_large:,} of {totals.calls:,} calls do not fit a window of "
        f"{totals.window or 0:,} tokens"
    )


def _prepared_by(report: ReplayReport) -> str:
    config = report.config
    if report.kind == "recorded":
        return _REPORTED
    if config is None:
        return "the full history at every call"
    limits = f"{config.ceiling:,} tokens"
    kept = ""
    if config.target is not None and config.threshold is None:
        kept = f", {config.target:,} {config.counting_unit} kept"
    elif config.target is not None:
        beside = "" if config.counting_unit == "tokens" else f" or {limits}"
        limits = f"{config.target:,} + {config.threshold:,} {config.counting_unit}{beside}"
    if not config.enabled:
        return "disabled: the full history at every call"
    return f"{_method(config)}{kept}, up to {limits}"


def _method(config: ConfigRecord) -> str:
    if config.strategy == "message_counting":
        return "old messages dropped"
    if config.strategy == "clearing":
        return "old tool results cleared"
    return "a summary in layers" if config.layers else "one rolling summary"
