"""`foldline demo`: a session that comes with the package, with and without foldline."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Annotated

import typer
from msgspec import Struct
from rich.console import Console, RenderableType
from rich.text import Text

from foldline.apps.cli.documents import replay_document
from foldline.apps.cli.files import check_targets, print_json, write_files
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.replay import replay_table
from foldline.apps.cli.terminal import command_name, output_console, progress
from foldline.apps.cli.viewing import show_view
from foldline.logs import read_sessions
from foldline.logs.importer import Session
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.columns import rows, short_number
from foldline.replay.comparison import NO_MEMORY, NO_REDUCTION, USUAL, Comparison, compare
from foldline.replay.record import Totals
from foldline.replay.report import html_page
from foldline.replay.tape import Tape


__all__ = ["DEMO_CONFIGS", "demo", "recorded_session"]


DEMO_CONFIGS: Mapping[str, HistoryReductionConfig] = MappingProxyType(
    {f"foldline {name}": USUAL[name] for name in ("rolling", "layers", "tokens", "counting")}
)
"""What the demonstration compares."""

_SHOWN = "foldline rolling"
_VIEW_LINES = 14
_SUMMARY_LINES = 12


class _DemoOptions(Struct, frozen=True, kw_only=True):
    html: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a page with pictures to this file.")
    ] = None

    json: JsonOption = False


@takes(_DemoOptions)
def demo(options: _DemoOptions) -> None:
    """Replay a recorded session that comes with foldline, without a key, a network or a file."""
    check_targets({"--html": options.html})
    tape = Tape(recorded_session())
    with progress("replaying", len(DEMO_CONFIGS) * len(tape.calls)) as advance:
        comparison = compare(tape, DEMO_CONFIGS, on_call=advance)
    sessions = [comparison.reports]
    if options.html is not None:
        write_files({options.html: html_page(sessions, title="foldline demo").encode()})
    if options.json:
        print_json(replay_document(sessions))
        return
    console = output_console()
    for element in _shown(comparison, console):
        console.print(element)


def recorded_session() -> Session:
    """Return the session that comes with the package."""
    data = files("foldline.apps.cli").joinpath("data/session.jsonl.gz").read_bytes()
    return read_sessions(data, name="demo")[0]


def _shown(comparison: Comparison, console: Console) -> Iterator[RenderableType]:
    totals = {row.name: row.totals for row in rows([comparison.reports])}
    shown = comparison.replays[_SHOWN]
    yield _introduction(comparison)
    yield ""
    yield Text("Summarizer calls and tokens, with and without foldline", style="bold")
    yield replay_table(rows([comparison.reports]), width=console.width)
    for row in rows([comparison.reports]):
        yield Text(f"{row.name}: {row.description}", style="dim")
    yield ""
    yield Text(f"The last view, with {_SHOWN}", style="bold")
    yield show_view(shown.view, summary_lines=_SUMMARY_LINES, most=_VIEW_LINES)
    yield ""
    yield Text("What it means", style="bold")
    yield from _meaning(comparison, totals)
    yield ""
    yield Text("Next, with a conversation of your own", style="bold")
    yield f"  {command_name()} replay FILE --html report.html"
    yield f"  {command_name()} reduce FILE --state state.json"


def _introduction(comparison: Comparison) -> str:
    session = comparison.reports[0].session
    calls = comparison.reports[0].totals.calls
    return (
        f"A session that we recorded while we made foldline: {session.exchanges:,} user turns, "
        f"{session.messages:,} messages, {calls:,} model calls.\n"
        "Each call is prepared again; the offline digest writes the summaries."
    )


def _meaning(comparison: Comparison, totals: Mapping[str, Totals]) -> Iterator[str]:
    full, forgetful, ours = totals[NO_REDUCTION], totals[NO_MEMORY], totals[_SHOWN]
    history = comparison.reports[0].session.tokens
    yield (
        f"- What grows: the history, to {short_number(history)} tokens. The largest view has "
        f"{short_number(ours.peak_tokens)}, and all views together are "
        f"{_share(ours.sent_tokens, full.sent_tokens)} of the tokens sent without reduction."
    )
    yield (
        f"- What is saved: {ours.summarizer_calls:,} summarizer calls instead of "
        f"{forgetful.summarizer_calls:,}, which read "
        f"{_share(ours.summarizer_tokens, forgetful.summarizer_tokens)} of the tokens, each "
        f"message {_times(ours.most_reads)}."
    )
    yield (
        "- What it costs: each fold invalidates the prompt cache after the system messages. "
        f"{ours.prefix_share * 100:.1f} % of the prefix is kept, and "
        f"{short_number(ours.fresh_tokens)} tokens are new to the cache instead of "
        f"{short_number(full.fresh_tokens)}."
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole * 100:.1f} %" if whole else "none"


def _times(count: int) -> str:
    return "once" if count == 1 else f"at most {count:,} times"
