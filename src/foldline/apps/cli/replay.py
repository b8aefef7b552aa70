"""`foldline replay`: a recorded session, message by message, under several configurations."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from foldline.apps.cli.documents import replay_document
from foldline.apps.cli.files import check_targets, print_json, write_files
from foldline.apps.cli.options import ConfigOptions, JsonOption, takes
from foldline.apps.cli.sources import (
    configured,
    is_configured,
    note_sessions,
    read_config,
    sessions_of,
)
from foldline.apps.cli.terminal import clean, counted, note, output_console, progress
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.columns import COLUMNS, Column, Row, rows
from foldline.replay.comparison import USUAL, compare
from foldline.replay.record import ReplayReport
from foldline.replay.report import html_page
from foldline.replay.tape import Tape


__all__ = ["replay", "replay_table"]


_MOST_VIOLATIONS = 5
_FIGURE_WIDTH = 5
_LEAST_NAME = 12


class _ReplayOptions(ConfigOptions, frozen=True, kw_only=True):
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="A configuration in JSON or TOML; may be given again."),
    ] = None

    compare: Annotated[
        bool, typer.Option("--compare", help="Play the usual configurations too.")
    ] = False

    check: Annotated[
        bool,
        typer.Option(
            "--check/--no-check", help="Check that vendors accept every request (the default)."
        ),
    ] = True

    html: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a page with pictures to this file.")
    ] = None

    json: JsonOption = False


@takes(_ReplayOptions)
def replay(options: _ReplayOptions) -> None:
    """
    Play a recorded session, message by message, and show what each configuration costs.

    Without a configuration several usual ones are compared. If FILE holds several sessions, all are
    played and their figures added up. Notes on the standard error say what in FILE is not a
    message. With --json: an object with "sessions", and in each "session" and its "replays".
    """
    check_targets({"--html": options.html}, reads=(options.file, *(options.config or ())))
    configs = _configs(options)
    recorded = sessions_of(options)
    note_sessions(recorded)
    for name, config in configs.items():
        if not config.enabled:
            note(f"{name} disables reduction: the full history is sent")
    tapes = [Tape(session) for session in recorded]
    calls = len(configs) * sum(len(tape.calls) for tape in tapes)
    with progress("replaying", calls) as advance:
        sessions = [
            compare(tape, configs, check=options.check, on_call=advance).reports for tape in tapes
        ]
    if options.html is not None:
        write_files({options.html: html_page(sessions).encode()})
    if options.json:
        print_json(replay_document(sessions))
    else:
        _print(output_console(), sessions)


def _configs(options: _ReplayOptions) -> Mapping[str, HistoryReductionConfig]:
    configs: dict[str, HistoryReductionConfig] = {}
    for name in options.config or ():
        config = configured(options, read_config(name))
        configs[_free(PurePath(name).stem or name, configs)] = config
    if not configs and is_configured(options):
        configs["given"] = configured(options)
    if configs and not options.compare:
        return configs
    for name, config in USUAL.items():
        configs[_free(name, configs)] = config
    return configs


def _free(name: str, taken: Mapping[str, object]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


def _print(console: Console, sessions: Sequence[Sequence[ReplayReport]]) -> None:
    table = rows(sessions)
    played = [reports[0] for reports in sessions]
    console.print(
        f"{counted(len(played), 'session')}, "
        f"{sum(report.session.messages for report in played):,} messages, "
        f"{sum(report.session.tokens for report in played):,} tokens, "
        f"{table[0].totals.calls:,} model calls"
    )
    console.print(replay_table(table, width=console.width))
    for row in table:
        console.print(Text(f"{clean(row.name)}: {row.description}", style="dim"))
    most = {row.name: row.totals.most_reads for row in table if row.totals.most_reads}
    reads = ", ".join(f"{clean(name)} {count:,}" for name, count in most.items())
    console.print(f"reads of one message by a summarizer, at most: {reads or 'none'}")
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


def replay_table(table: Sequence[Row], *, width: int) -> Group:
    """
    Return *table* with one line per configuration, in *width* characters.

    Columns that do not fit beside the others follow below; figures are never cut.
    """
    names = max((len(clean(row.name)) for row in table), default=0)
    names = min(names, max(_LEAST_NAME, width // 3))
    stretches: list[list[Column]] = [[]]
    left = width - names
    for column in COLUMNS:
        wide = 1 + _width(column, table)
        if wide > left and stretches[-1]:
            stretches.append([])
            left = width - names
        stretches[-1].append(column)
        left -= wide
    return Group(*(_table(table, columns, names) for columns in stretches))


def _width(column: Column, table: Sequence[Row]) -> int:
    figures = (len(column.show(row.totals, short=True)) for row in table)
    return max(_FIGURE_WIDTH, *map(len, column.title.split()), *figures)


def _table(table: Sequence[Row], columns: Sequence[Column], names: int) -> Table:
    shown = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
    shown.add_column("", no_wrap=True, overflow="ellipsis", width=names)
    for column in columns:
        shown.add_column(
            column.title,
            justify="right",
            vertical="bottom",
            overflow="fold",
            min_width=_width(column, table),
            max_width=_width(column, table),
        )
    for row in table:
        cells = [column.show(row.totals, short=True) for column in columns]
        style = "dim" if row.is_baseline else ""
        shown.add_row(Text(clean(row.name)), *cells, style=style)
    return shown
