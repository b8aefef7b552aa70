"""`foldline replay`: a recorded session, message by message, under several configurations."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Annotated

import typer
from rich.console import Console
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
from foldline.apps.cli.tables import replay_table
from foldline.apps.cli.terminal import clean, counted, note, output_console, progress
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.columns import rows
from foldline.replay.comparison import USUAL, compare
from foldline.replay.record import ReplayReport
from foldline.replay.report import html_page
from foldline.replay.tape import Tape


__all__ = ["ReplayOptions", "replay"]


_MOST_VIOLATIONS = 5


class ReplayOptions(ConfigOptions, frozen=True, kw_only=True):
    """What to play, and with which configurations."""

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


@takes(ReplayOptions)
def replay(options: ReplayOptions) -> None:
    """
    Play a recorded session, message by message, and show what each configuration costs.

    Without a configuration several usual ones are compared. If FILE holds several sessions, all are
    played and their figures added up. Notes on the standard error say what in FILE is not a
    message. With --json: an object with "sessions", and in each "session" and its "replays".
    """
    check_targets({"--html": options.html}, source=options.file, configs=options.config or ())
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


def _configs(options: ReplayOptions) -> Mapping[str, HistoryReductionConfig]:
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
