"""`foldline replay` and `demo`: a recorded session, message by message, under configurations."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import PurePath
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import Struct
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from foldline.apps.cli.files import check_targets, print_json, write_files
from foldline.apps.cli.options import (
    ConfigOptions,
    HtmlOption,
    JsonOption,
    ModelOption,
    PricesOption,
    flag,
    option,
    takes,
)
from foldline.apps.cli.prices import named_prices, priced, source_of
from foldline.apps.cli.sources import (
    configured,
    is_configured,
    note_sessions,
    read_config,
    sessions_of,
)
from foldline.apps.cli.terminal import clean, command_name, note, output_console, progress
from foldline.apps.cli.viewing import show_view
from foldline.errors import UsageError
from foldline.logs import read_sessions
from foldline.logs.importer import Session
from foldline.providers.book import is_own
from foldline.providers.price_list import prices_of_model
from foldline.reduction.budget import DEFAULT_WINDOW
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import Prices
from foldline.replay.bill import Terms
from foldline.replay.columns import (
    BELOW_BEST,
    Column,
    Row,
    assumed,
    below_best,
    describe,
    rows,
    shown_columns,
)
from foldline.replay.comparison import NO_REDUCTION, USUAL, Comparison, compare, needs_no_folding
from foldline.replay.conclusion import conclude
from foldline.replay.numbers import counted, short_number
from foldline.replay.record import ReplayReport, Totals
from foldline.replay.report import html_page, overview
from foldline.replay.tape import Tape
from foldline.replay.telling import Spoken


_MOST_VIOLATIONS = 5
_FIGURE_WIDTH = 5
_LEAST_NAME = 12
_NO_WINDOW = (
    f"the window is taken to be {DEFAULT_WINDOW:,} tokens: --model or --window gives another"
)
_NEED_NONE = "In {:,} of {:,} sessions nothing compared is 2 % cheaper than sending all of it."


class _ReplayOptions(ConfigOptions, frozen=True, kw_only=True):
    config: Annotated[
        list[str] | None, option("FILE", "A configuration in JSON or TOML; may be given again.")
    ] = None
    compare: Annotated[bool, flag("--compare", "Play the usual configurations too.")] = False
    check: Annotated[
        bool, flag("--check/--no-check", "Check that vendors accept every request (the default).")
    ] = True
    model: ModelOption = None
    prices: PricesOption = None
    html: HtmlOption = None
    text: Annotated[
        bool,
        flag(
            "--text",
            "With --html: show what was said beside what the model was told at each call; the "
            "page then holds text of the conversation.",
        ),
    ] = False
    json: JsonOption = False


@takes(_ReplayOptions)
def replay(options: _ReplayOptions) -> None:
    """
    Play a recorded session, message by message, and show what each configuration costs.

    The last lines name the cheapest configuration, with what to paste, if prices are known. --html writes a page with the
    same conclusion, a chart and a slider over the model calls; with --text it shows what was said beside what the model was told.

    Without a configuration several usual ones are compared, the default among them. If FILE holds several sessions, all are
    played and their figures added up. Notes on the standard error say what in FILE is not a
    message. With --json: an object with "prices" and "sessions", and in each "session" and its "replays".
    """
    check_targets({"--html": options.html}, reads=(options.file, *(options.config or ())))
    if options.text and options.html is None:
        raise UsageError("--text has no effect without a page: add --html FILE")
    configs = _configs(options)
    recorded = sessions_of(options)
    note_sessions(recorded)
    for name, config in configs.items():
        if not config.enabled:
            note(f"{name} disables reduction: the full history is sent")
    tapes = [Tape(session) for session in recorded]
    terms = terms_of(options.prices, options.model)
    compared = _played(tapes, configs, options, terms)
    sessions = [one.reports for one in compared]
    given = terms.prices if terms is not None and "=" in (options.prices or "") else None
    found = conclude(sessions, configs=configs, prices=given, is_own=is_own(options.model or ""))
    bill = "" if terms is None else _bill(options, sessions)
    if options.html is not None:
        pairs = zip(tapes, compared, strict=True) if options.text else ()
        spoken = [Spoken(tape=tape, replays=one.replays) for tape, one in pairs]
        page = html_page(sessions, conclusion=found, bill=bill, spoken=spoken)
        write_files({options.html: page.encode()})
    if options.json:
        print_json(_document(sessions, terms))
        return
    console = output_console()
    _print(console, sessions)
    if bill:
        console.print(bill)
    is_large = any(report.totals.too_large for reports in sessions for report in reports)
    if is_large and not any(one.context_window_size for one in configs.values()):
        console.print(_NO_WINDOW)
    console.print(Text(clean(found.text), style="bold"))
    for line in found.lines:
        console.print(Text(f"  {clean(line)}"), soft_wrap=True)


def _bill(options: _ReplayOptions, sessions: Sequence[Sequence[ReplayReport]]) -> str:
    """Return what the bills rest on."""
    given = source_of(options.prices or options.model)
    return f"The bill is at {given}{assumed(reports[0].session for reports in sessions)}."


def _played(
    tapes: Sequence[Tape],
    configs: Mapping[str, HistoryReductionConfig],
    options: _ReplayOptions,
    terms: Terms | None,
) -> list[Comparison]:
    calls = len(configs) * sum(len(tape.calls) for tape in tapes)
    with progress("replaying", calls) as advance:
        return [
            compare(
                tape,
                configs,
                check=options.check,
                terms=terms,
                stretches=options.text,
                on_call=advance,
            )
            for tape in tapes
        ]


def terms_of(given: str | None, model: str | None) -> Terms | None:
    """Return the terms at which a model writes its own summaries; None if its prices are unknown."""
    prices = named_prices(given) or (None if model is None else prices_of_model(model))
    return None if prices is None else Terms(prices=prices, summarizer=prices)


def _configs(options: _ReplayOptions) -> Mapping[str, HistoryReductionConfig]:
    named = [
        (PurePath(name).stem or name, configured(options, read_config(name), model=options.model))
        for name in options.config or ()
    ]
    if not named and is_configured(options):
        named.append(("given", configured(options, model=options.model)))
    if not named or options.compare:
        sizes = ConfigOptions(file="", window=options.window, ceiling=options.ceiling)
        named.extend(
            (name, configured(sizes, config, model=options.model)) for name, config in USUAL.items()
        )
    configs: dict[str, HistoryReductionConfig] = {}
    for name, config in named:
        configs[_free(name, configs)] = priced(config, options.prices)
    return configs


def _free(name: str, taken: Mapping[str, object]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


def _print(console: Console, sessions: Sequence[Sequence[ReplayReport]]) -> None:
    table = rows(sessions)
    console.print(overview(sessions))
    for element in _shown_table(table, width=console.width):
        console.print(element)
    most = {row.name: row.totals.most_reads for row in table if row.totals.most_reads}
    reads = ", ".join(f"{clean(name)} {count:,}" for name, count in most.items())
    console.print(f"reads of one message by a summarizer, at most: {reads or 'none'}")
    below = ", ".join(map(clean, below_best(table)))
    if below:
        console.print(Text(f"{below}: {BELOW_BEST}"))
    idle = sum(map(needs_no_folding, sessions))
    if idle and len(sessions) > 1:
        console.print(_NEED_NONE.format(idle, len(sessions)))
    for reports in sessions:
        for report in reports:
            _print_violations(console, report)


def _print_violations(console: Console, report: ReplayReport) -> None:
    found = [(call.number, text) for call in report.calls for text in call.violations]
    for number, text in found[:_MOST_VIOLATIONS]:
        where = f"{clean(report.session.id)}, {clean(report.name)}, call {number:,}"
        console.print(Text(f"{where}: {clean(text)}", style="red"))
    if len(found) > _MOST_VIOLATIONS:
        console.print(f"and {len(found) - _MOST_VIOLATIONS:,} more violations")


def _shown_table(table: Sequence[Row], *, width: int) -> Iterator[RenderableType]:
    """Yield *table* in *width* characters, wrapped by columns, then what the names stand for."""
    names = max((len(clean(row.name)) for row in table), default=0)
    names = min(names, max(_LEAST_NAME, width // 3))
    stretches: list[list[Column]] = [[]]
    left = width - names
    for column in shown_columns(table):
        wide = 1 + _width(column, table)
        if wide > left and stretches[-1]:
            stretches.append([])
            left = width - names
        stretches[-1].append(column)
        left -= wide
    yield from (_table(table, columns, names) for columns in stretches)
    for row in table:
        yield Text(f"{clean(row.name)}: {row.description}", style="dim")


def _width(column: Column, table: Sequence[Row]) -> int:
    figures = (len(column.show(row.totals, short=True)) for row in table)
    return max(_FIGURE_WIDTH, *map(len, column.title.split()), *figures)


def _table(table: Sequence[Row], columns: Sequence[Column], names: int) -> Table:
    shown = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
    shown.add_column("", no_wrap=True, overflow="ellipsis", width=names)
    for column in columns:
        width = _width(column, table)
        shown.add_column(
            column.title, justify="right", vertical="bottom", overflow="fold", width=width
        )
    for row in table:
        cells = [column.show(row.totals, short=True) for column in columns]
        style = "dim" if row.is_baseline else ""
        shown.add_row(Text(clean(row.name)), *cells, style=style)
    return shown


def _document(sessions: Sequence[Sequence[ReplayReport]], terms: Terms | None) -> dict[str, Any]:
    return {
        "prices": None if terms is None else terms.prices,
        "sessions": [
            {"session": reports[0].session, "replays": [_figures(report) for report in reports]}
            for reports in sessions
        ],
    }


def _figures(report: ReplayReport) -> dict[str, Any]:
    totals = report.totals
    derived = {
        "mean_tokens": totals.mean_tokens,
        "fresh_tokens": totals.fresh_tokens,
        "prefix_share": totals.prefix_share,
    }
    return {
        "name": report.name,
        "kind": report.kind,
        "description": describe(report),
        "config": report.config,
        "totals": {**msgspec.structs.asdict(totals), **derived},
        "calls": report.calls,
    }


DEMO_CONFIGS: Mapping[str, HistoryReductionConfig] = MappingProxyType(
    {
        f"foldline {name}": USUAL[name]
        for name in ("default", "rolling", "layers", "tokens", "counting")
    }
)
"""What the demonstration compares."""

_DEMO_PRICES = Prices(input=3, output=15, cached_read=0.3, cache_write=3.75)
_DEMO_TERMS = Terms(prices=_DEMO_PRICES, summarizer=_DEMO_PRICES)
_SHOWN = "foldline default"
_VIEW_LINES = 14
_SUMMARY_LINES = 12


class _DemoOptions(Struct, frozen=True, kw_only=True):
    html: HtmlOption = None
    json: JsonOption = False


@takes(_DemoOptions)
def demo(options: _DemoOptions) -> None:
    """Replay a recorded session that comes with foldline, without a key, a network or a file."""
    check_targets({"--html": options.html})
    tape = Tape(recorded_session())
    with progress("replaying", len(DEMO_CONFIGS) * len(tape.calls)) as advance:
        comparison = compare(tape, DEMO_CONFIGS, terms=_DEMO_TERMS, on_call=advance)
    sessions = [comparison.reports]
    if options.html is not None:
        found = conclude(sessions, configs=DEMO_CONFIGS)
        spoken = [Spoken(tape=tape, replays=comparison.replays)]
        page = html_page(sessions, title="foldline demo", conclusion=found, spoken=spoken)
        write_files({options.html: page.encode()})
    if options.json:
        print_json(_document(sessions, _DEMO_TERMS))
        return
    console = output_console()
    for element in _shown(comparison, width=console.width):
        console.print(element)


def recorded_session() -> Session:
    """Return the session that comes with the package."""
    data = files("foldline.apps.cli").joinpath("data/session.jsonl.gz").read_bytes()
    return read_sessions(data, name="demo")[0]


def _shown(comparison: Comparison, *, width: int) -> Iterator[RenderableType]:
    table = rows([comparison.reports])
    session, calls = comparison.reports[0].session, comparison.reports[0].totals.calls
    yield (
        f"A session that we recorded while we made foldline: {session.exchanges:,} user turns, "
        f"{session.messages:,} messages, {calls:,} model calls.\n"
        "Each call is prepared again; the offline digest writes the summaries.\n"
    )
    yield Text("Summarizer calls and tokens, with and without foldline", style="bold")
    yield from _shown_table(table, width=width)
    yield ""
    yield Text(f"The last view, with {_SHOWN}", style="bold")
    yield show_view(comparison.replays[_SHOWN].view, summary_lines=_SUMMARY_LINES, most=_VIEW_LINES)
    yield ""
    yield Text("What it means", style="bold")
    yield from _meaning({row.name: row.totals for row in table}, history=session.tokens)
    yield ""
    yield Text("Next, with a conversation of your own", style="bold")
    yield f"  {command_name()} replay FILE --html report.html"
    yield f"  {command_name()} reduce FILE --state state.json"


def _meaning(totals: Mapping[str, Totals], *, history: int) -> Iterator[str]:
    full, ours = totals[NO_REDUCTION], totals[_SHOWN]
    reads = "once" if ours.most_reads == 1 else f"at most {ours.most_reads:,} times"
    yield (
        f"- What grows: the history, to {short_number(history)} tokens. The largest view has "
        f"{short_number(ours.peak_tokens)}, and all views together are "
        f"{ours.sent_tokens / full.sent_tokens * 100:.1f} % of the tokens sent without reduction."
    )
    yield (
        f"- What folds cost: {counted(ours.summarizer_calls, 'summarizer call')}, which read "
        f"{short_number(ours.summarizer_tokens)} tokens, each message {reads}."
    )
    yield (
        "- What is sent again: each fold invalidates the prompt cache after the system messages. "
        f"{ours.prefix_share * 100:.1f} % of the prefix is kept, and "
        f"{short_number(ours.fresh_tokens)} tokens are new to the cache instead of "
        f"{short_number(full.fresh_tokens)}."
    )
    prices = _DEMO_PRICES
    yield (
        f"- The bill, at ${prices.input:g} for a million tokens, ${prices.cached_read:g} for cached "
        f"ones and ${prices.output:g} for answers, whose size is estimated: ${ours.cost or 0:.2f} "
        f"instead of ${full.cost or 0:.2f}; with the best times of folds in hindsight "
        f"${ours.optimum or 0:.2f}."
    )
