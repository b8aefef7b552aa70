"""`foldline inspect` and `threads summary`: a summary beside its messages, and what it lost."""

from typing import Annotated

from rich.console import Console
from rich.text import Text

from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import (
    ConfigOptions,
    JsonOption,
    ModelOption,
    PricesOption,
    option,
    takes,
)
from foldline.apps.cli.prices import config_for
from foldline.apps.cli.sources import note_sessions, one_session, read_state
from foldline.apps.cli.stores import ThreadOptions, found_thread, with_store
from foldline.apps.cli.terminal import (
    clean,
    first_line,
    output_console,
    plain_table,
    print_first,
    progress,
)
from foldline.errors import UsageError
from foldline.history.history import History
from foldline.reduction.state import HistoryReductionState
from foldline.replay.inspection import Inspection, inspect_summary
from foldline.replay.numbers import counted
from foldline.replay.quality.moments import folds, model_turns
from foldline.replay.tape import Tape
from foldline.threads.store import ThreadStore


_MOST_LOST = 20
_LINE = 160


class _InspectOptions(ConfigOptions, frozen=True, kw_only=True):
    config: Annotated[str | None, option("FILE", "A configuration in JSON or TOML.")] = None
    model: ModelOption = None
    prices: PricesOption = None
    state: Annotated[
        str | None, option("FILE", "The reduction to show, as reduce --state wrote it, for FILE.")
    ] = None
    fold: Annotated[
        int | None, option("N", "Which fold to show; the last one by default.", min=1)
    ] = None
    json: JsonOption = False


@takes(_InspectOptions)
def inspect(options: _InspectOptions) -> None:
    """
    Show a summary, each line beside the messages that it stands for, and what it lost.

    The conversation is played call by call and the last fold is shown, or that of --fold; with --state the reduction
    in a file. The messages of a line are those that have it word for word (marked with =), or else the few that together
    have most of its words. What is lost are identifiers, user messages and rules that the view lacks; the tool recall still
    finds them. `foldline replay --html FILE --text` draws the same. With --json: an object with "covered", "lines", "identifiers", "known", "requests" and "rules".
    """
    session = one_session(options)
    note_sessions([session])
    tape = Tape(session)
    history = History(counter=tape.counter)
    tape.fill(history, len(tape.messages))
    found = inspect_summary(history, _state(options, history, tape))
    if options.json:
        print_json(found)
    else:
        print_inspection(output_console(), found)


def _state(options: _InspectOptions, history: History, tape: Tape) -> HistoryReductionState:
    if options.state is not None:
        if options.fold is not None:
            raise UsageError("--fold has no effect with --state: leave one out")
        state = read_state(options.state)
        if state.summarized_up_to_index > len(history) or not state.validate_integrity(history):
            # Only a converter joins the items of one answer, and a plain log is read without any.
            hint = " (try --format openai-chat)" if tape.session.format == "chat-jsonl" else ""
            raise UsageError(
                f"{options.state} is not a reduction of {options.file}, or one of them was "
                f"changed{hint}"
            )
        return state
    config = config_for(options, options.config, prices=options.prices, model=options.model)
    with progress("replaying", len(model_turns(tape))) as step:
        made = [one for one in folds(tape, config, on_call=step) if one.summarized_up_to_index]
    if len(made) < (options.fold or 1):
        known = f"all of its {tape.session.tokens:,} tokens fit: give a low --ceiling, such as 4000"
        if made:
            known = f"choose one of 1 to {len(made)}"
        raise UsageError(
            f"{options.file} has {counted(len(made), 'fold')} with a summary in this "
            f"configuration: {known}"
        )
    return made[-1 if options.fold is None else options.fold - 1]


def print_inspection(console: Console, found: Inspection) -> None:
    """Print each line of a summary beside its messages, and what is lost."""
    console.print(Text(f"The summary of messages 0 to {found.covered - 1:,}", style="bold"))
    table = plain_table("messages", "line")
    for line in found.lines:
        where = ", ".join(f"{number:,}" for number in line.messages)
        table.add_row(
            Text(f"{where} {'=' if line.is_verbatim else ''}".strip(), style="dim"),
            Text(clean(line.text)),
        )
    console.print(table)
    kept = found.known - len(found.identifiers)
    console.print(f"\nIdentifiers: {kept:,} of {found.known:,} are in the view. Lost:")
    lost = [f"{clean(one.text)} (message {one.message:,})" for one in found.identifiers]
    print_first(console, lost or ["none"], most=_MOST_LOST)
    for name, told in (("User messages", found.requests), ("Rules", found.rules)):
        gone = [one for one in told if not one.is_kept]
        rest = " Not:" if gone else ""
        kept = len(told) - len(gone)
        console.print(f"{name}: {kept:,} of {len(told):,} are there word for word.{rest}")
        lines = (first_line(one.text, most=_LINE) for one in gone)
        texts = [f"message {one.message:,}: {line}" for one, line in zip(gone, lines, strict=True)]
        print_first(console, texts, most=_MOST_LOST)


class _SummaryOptions(ThreadOptions, frozen=True, kw_only=True):
    back: Annotated[int, option("N", "Show the summary N folds before the newest.", min=0)] = 0


@takes(_SummaryOptions)
def show_summary(options: _SummaryOptions) -> None:
    """
    Show the summary of a thread, each line beside its messages, and what it lost.

    It is what the next turn shows its model in place of the folded messages. `foldline inspect` explains
    what is printed, also with --json.
    """
    found = with_store(options, lambda store: _inspected(store, options))
    if options.json:
        print_json(found)
    else:
        print_inspection(output_console(), found)


async def _inspected(store: ThreadStore, options: _SummaryOptions) -> Inspection:
    thread = await found_thread(store, options.id, options.tenant)
    kept = [one for one in await thread.reductions() if one.front_messages()]
    if len(kept) <= options.back:
        has = f"{counted(len(kept), 'fold')} with a summary" if kept else "no summary yet"
        raise UsageError(f"thread {options.id!r} has {has}")
    return inspect_summary(History(await thread.get_messages()), kept[options.back])
