"""What a table of replays shows, on a page and on a terminal."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Literal, TypeAlias

from msgspec import Struct

from foldline.replay.record import ConfigRecord, ReplayReport, Totals


__all__ = ["COLUMNS", "Column", "Kind", "Row", "describe", "rows", "short_number"]


Kind: TypeAlias = Literal["count", "tokens", "share"]
"""What a figure is a number of."""


class Column(Struct, frozen=True, kw_only=True):
    """One figure of a replay."""

    title: str
    """The head of the column, in a few letters."""

    meaning: str
    """What the figure is, in one sentence."""

    kind: Kind
    """What it is a number of."""

    figure: Callable[[Totals], float | None]
    """Finds the figure; None where there is none."""

    def show(self, totals: Totals, *, short: bool = False) -> str:
        """Write the figure in full, or in *short* where it is a large number of tokens."""
        figure = self.figure(totals)
        if figure is None:
            return "-"
        if self.kind == "share":
            # Never rounded up to all of it: a prefix that broke once is not a whole one.
            return "100 %" if figure >= 1 else f"{min(figure * 100, 99.9):.1f} %"
        return short_number(figure) if short and self.kind == "tokens" else f"{figure:,.0f}"


def short_number(number: float) -> str:
    """Write *number* with three digits, as in `98.7k` or `1.02M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        # What rounds up to a thousand of one unit is one of the next.
        if number >= size * 0.9995:
            return f"{number / size:#.3g}".rstrip(".") + unit
    return f"{number:.0f}"


COLUMNS: tuple[Column, ...] = (
    Column(
        title="folds",
        meaning="How often a new reduction was made.",
        kind="count",
        figure=lambda totals: totals.folds,
    ),
    Column(
        title="summary calls",
        meaning="How often a summarizer was asked for a text.",
        kind="count",
        figure=lambda totals: totals.summarizer_calls,
    ),
    Column(
        title="tokens read",
        meaning="The tokens that summarizers were given to read.",
        kind="tokens",
        figure=lambda totals: totals.summarizer_tokens,
    ),
    Column(
        title="mean view",
        meaning="The mean size of a request, in tokens.",
        kind="tokens",
        figure=lambda totals: totals.mean_tokens,
    ),
    Column(
        title="peak view",
        meaning="The size of the largest request, in tokens.",
        kind="tokens",
        figure=lambda totals: totals.peak_tokens,
    ),
    Column(
        title="tokens sent",
        meaning="The tokens of all requests together.",
        kind="tokens",
        figure=lambda totals: totals.sent_tokens,
    ),
    Column(
        title="new",
        meaning="Of the tokens sent, those that no prompt cache could serve: the request before did not begin with them.",
        kind="tokens",
        figure=lambda totals: totals.fresh_tokens,
    ),
    Column(
        title="prefix kept",
        meaning="The share of each request that the next one began with, as prompt caches want it.",
        kind="share",
        figure=lambda totals: totals.prefix_share,
    ),
    Column(
        title="invalid",
        meaning="Requests that OpenAI Chat or Anthropic would refuse, or that lost something.",
        kind="count",
        figure=lambda totals: totals.invalid_requests,
    ),
)
"""Every figure, in the order in which it is shown."""


class Row(Struct, frozen=True, kw_only=True):
    """One configuration over all sessions that were played."""

    name: str
    """What it is called."""

    is_baseline: bool
    """Whether it is what happens without foldline."""

    description: str
    """What it does, in a few words."""

    totals: Totals
    """The totals of all sessions."""


def rows(sessions: Sequence[Sequence[ReplayReport]]) -> tuple[Row, ...]:
    """Return one row per name, in order of appearance, from the reports of each session."""
    by_name: dict[str, list[ReplayReport]] = {}
    for reports in sessions:
        for report in reports:
            by_name.setdefault(report.name, []).append(report)
    return tuple(_row(name, reports) for name, reports in by_name.items())


def _row(name: str, reports: Sequence[ReplayReport]) -> Row:
    totals = reduce(Totals.plus, (report.totals for report in reports[1:]), reports[0].totals)
    return Row(
        name=name,
        is_baseline=reports[0].kind != "reducer",
        description=describe(reports[0]),
        totals=totals,
    )


def describe(report: ReplayReport) -> str:
    """Return what prepared the requests of *report*, in a few words."""
    config = report.config
    if config is None:
        return "the full history at every call"
    limits = f"{config.target:,} + {config.threshold:,} {config.counting_unit}"
    if report.kind == "no_memory":
        return f"a summary written anew at every call above {limits}"
    if not config.enabled:
        return "disabled: the full history at every call"
    return f"{_method(config)}, {limits}"


def _method(config: ConfigRecord) -> str:
    if config.strategy == "message_counting":
        return "old messages dropped"
    return "a summary in layers" if config.layers else "one rolling summary"
