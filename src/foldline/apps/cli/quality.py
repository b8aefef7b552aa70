"""`foldline quality`: what the views of one's own recordings keep of what was needed later."""

from typing import Annotated, Any

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import (
    ConfigOptions,
    JsonOption,
    ModelOption,
    PricesOption,
    argument,
    option,
    takes,
)
from foldline.apps.cli.prices import config_for
from foldline.apps.cli.sources import recorded_in
from foldline.apps.cli.terminal import clean, output_console, plain_table, progress
from foldline.errors import UsageError
from foldline.replay.numbers import counted
from foldline.replay.quality.figures import Share
from foldline.replay.quality.moments import model_turns
from foldline.replay.quality.report import FEW, KEPT, QualityReport, quality_of
from foldline.replay.quality.ways import DIGEST, WAYS
from foldline.replay.tape import Tape


_MOST_INVENTED = 10
_UPPER_BOUND = (
    "Each figure is an upper bound: what stands in a view need not be used. Every way has the "
    "tokens of foldline's view of the same call."
)


class _QualityOptions(Struct, frozen=True, kw_only=True):
    files: Annotated[list[str], argument("FILE...", "Recorded conversations of agents.")]
    config: Annotated[str | None, option("FILE", "A configuration in JSON or TOML.")] = None
    model: ModelOption = None
    prices: PricesOption = None
    summary_budget: Annotated[
        int | None, option("N", "The most tokens of a summary; chosen by default.", min=1)
    ] = None
    json: JsonOption = False


@takes(_QualityOptions, ConfigOptions, fixed={"file": "", "session": None})
def quality(options: _QualityOptions, how: ConfigOptions) -> None:
    """
    Show what views keep of what later calls need, beside other ways to spend the same tokens.

    Every session is played call by call, and the offline digest writes the summaries. A value is needed if it is an
    identifier in the arguments of a call and was said before; it is old if that was folded away. Beside that: what users
    asked and ruled word for word, edited files, commits, dropped tokens that nothing covers, and identifiers that summaries
    made up. Each figure is an upper bound: what stands in a view need not be used.

    Of the other ways, ledger, random and first keep the same newest messages, and for the summary a plain list of identifiers,
    lines by chance or those of the beginning; none has nothing there, and chance the summary of another conversation. mask
    and recency keep more messages, mask with old tool results cut. Short sessions are folded with a low --ceiling, such as
    4000. Of several files, those that cannot be read are noted and left out. With --json: an object with "sessions", "calls", "folds", "needed", "kept", "accounting" and
    "invented".
    """
    config = config_for(how, options.config, prices=options.prices, model=options.model)
    tapes = [*map(Tape, recorded_in(options.files, how.format))]
    calls = sum(len(model_turns(tape)) for tape in tapes)
    if not calls:
        raise UsageError("the files hold no model call: give recorded conversations")
    with progress("replaying", calls) as step:
        report = quality_of(tapes, config, budget=options.summary_budget, on_call=step)
    if options.json:
        print_json(_document(report))
    else:
        _print(output_console(), report)


def _document(report: QualityReport) -> dict[str, Any]:
    return {
        "sessions": report.sessions,
        "calls": report.calls,
        "folds": report.folds,
        "needed": {
            cell.name: {way: _figures(share) for way, share in cell.shares.items()}
            for cell in report.cells
        },
        "kept": {name: _figures(share) for name, share in report.kept.items()},
        "accounting": report.accounting,
        "invented": report.invented,
    }


def _figures(share: Share) -> dict[str, Any]:
    return {"kept": share.kept, "n": share.total, "share": share.value, "interval": share.interval}


def _print(console: Console, report: QualityReport) -> None:
    console.print(
        f"{counted(report.sessions, 'session')}, {counted(report.calls, 'model call')}, "
        f"{counted(report.folds, 'fold')}"
    )
    if not report.folds:
        console.print(
            "Nothing was folded, so all of it stands in the views; a low --ceiling folds."
        )
    _print_needed(console, report)
    _print_kept(console, report)
    console.print(f"\n{_UPPER_BOUND}")


def _print_needed(console: Console, report: QualityReport) -> None:
    if not any(cell.n for cell in report.cells):
        console.print("\nNo call needs a value that was said before.")
        return
    console.print("\nNeeded values that a view has, in percent:")
    others = [way for way in WAYS if way != DIGEST]
    table = plain_table("", "n", DIGEST, "95 %", *others, numbers={"n", DIGEST, "95 %", *others})
    for cell in filter(lambda one: one.n, report.cells):
        losing = cell.losing()
        figures = [_percent(cell.shares[way]) + "*" * (way in losing) for way in others]
        style = "dim" if cell.n < FEW else "bold" if cell.name == "old values" else ""
        ours = cell.shares[DIGEST]
        table.add_row(
            cell.name, f"{cell.n:,}", _percent(ours), _between(ours), *figures, style=style
        )
    console.print(table)
    if any(cell.losing() for cell in report.cells):
        console.print("* keeps more than foldline's view does")


def _print_kept(console: Console, report: QualityReport) -> None:
    found = {name: share for name, share in report.kept.items() if share.total}
    if found:
        table = plain_table("kept", "of", "percent", "", numbers={"kept", "of", "percent"})
        for name, share in found.items():
            table.add_row(f"{share.kept:,}", f"{share.total:,}", _percent(share), KEPT[name])
        console.print("")
        console.print(table)
    sums = report.accounting
    lost = sums.dropped - sums.accounted - sums.twice
    console.print(
        f"\nTokens that the views drop: {sums.dropped:,}; not covered: {lost:,}; "
        f"covered twice: {sums.twice:,}",
        style="red" if lost or sums.twice else "",
    )
    made_up = dict.fromkeys(map(clean, report.invented))
    if made_up:
        shown = ", ".join(list(made_up)[:_MOST_INVENTED])
        console.print(Text(f"Identifiers that no source has: {shown}", style="red"))


def _percent(share: Share) -> str:
    return "-" if share.value is None else f"{share.value * 100:.1f}"


def _between(share: Share) -> str:
    if share.interval is None:
        return "-"
    low, high = share.interval
    return f"{low * 100:.1f}-{high * 100:.1f}"
