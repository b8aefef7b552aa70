"""`foldline reduce`: the view that a model should be sent."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from foldline.agent.reducer import HistoryReducer, ReducedHistory
from foldline.apps.cli.documents import left_out, left_out_note, target_format, view_document
from foldline.apps.cli.files import check_targets, print_document, write_files
from foldline.apps.cli.notes import tell
from foldline.apps.cli.options import JsonOption, RunOptions, takes
from foldline.apps.cli.runs import Run, begin, messages_shown
from foldline.apps.cli.terminal import error_console, output_console
from foldline.apps.cli.viewing import show_view
from foldline.errors import UsageError
from foldline.history.messages import Message


__all__ = ["ReduceOptions", "reduce"]


class ReduceOptions(RunOptions, frozen=True, kw_only=True):
    """What to reduce, and where to put it."""

    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="NAME",
            help="With --json or --output: openai-chat, openai-responses, anthropic or foldline; "
            "by default the format of FILE where it is one of these, else openai-chat.",
        ),
    ] = None
    """The format to write in."""

    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the view to this file as JSON.")
    ] = None
    """The file to write."""

    json: JsonOption = False
    """Whether to print JSON."""


@takes(ReduceOptions)
def reduce(options: ReduceOptions) -> None:
    """
    Print the view of a conversation that a model should be sent.

    The offline digest writes the summary; no model, key or network is needed. With --state the
    reduction is kept, so that the next call reuses it.

    With --json the view is printed, and --output writes the same: for openai-chat a list of
    messages, for openai-responses a list of input items, for anthropic an object with "messages"
    and, where there are instructions, "system", for foldline an object with "format" and
    "messages". What happened is one line, and with --json on the standard error: the verdict, its
    reason, and the counts. What stands in FILE but is no message is told on the standard error,
    and so is how many messages the format has no place for.

    A circuit breaker is no failure: where it ends the turn, the verdict is halt, the exit code 0,
    the view and the state are written as ever, and the line ends in "the turn ends here".
    """
    _check_options(options)
    run = begin(options)
    target = target_format(options.to, source=run.session.format)
    reduced = HistoryReducer(run.config).reduce_sync(
        run.history, state=run.state, overrides=run.overrides
    )
    files: dict[str, bytes] = {}
    if options.output is not None:
        files[options.output] = view_document(reduced.messages, target) + b"\n"
    if options.state is not None and reduced.state is not None:
        files[options.state] = reduced.state.to_json() + b"\n"
    write_files(files)
    if options.json:
        print_document(view_document(reduced.messages, target))
    elif options.output is None:
        output_console().print(show_view(reduced.messages))
    if options.json or options.output is not None:
        _tell_left_out(reduced.messages, target)
    told = output_console() if not options.json else error_console()
    told.print(Text(_what_happened(run, reduced), style="bold"), soft_wrap=True)


def _check_options(options: ReduceOptions) -> None:
    targets = {"--output": options.output, "--state": options.state}
    check_targets(targets, source=options.file, configs=options.config or ())
    if options.to is not None and options.output is None and not options.json:
        message = "--to has no effect on what is shown for people: add --json or --output FILE"
        raise UsageError(message)


def _tell_left_out(view: Sequence[Message], target: str) -> None:
    left = left_out(view, target)
    if left:
        tell(left_out_note(left, target))


def _what_happened(run: Run, reduced: ReducedHistory[Message]) -> str:
    event, verdict = reduced.event, reduced.verdict
    strategy = f"strategy {run.config.strategy.replace('_', '-')}"
    if event is None:
        return f"{verdict.kind}: {verdict.reason.value}; {messages_shown(run.history)}; {strategy}"
    facts = [
        f"{verdict.kind} ({event.status.replace('_', ' ')}): {event.reason.value}",
        f"{event.original_tokens:,} tokens before, {event.reduced_tokens:,} after",
        f"{messages_shown(run.history)}, {event.removed_count:,} folded",
        strategy,
    ]
    if event.summarizer is not None:
        facts.append(f"{event.summarizer} read {event.summarizer_tokens:,} tokens")
    if reduced.termination_reason is not None:
        facts.append(f"the turn ends here: {reduced.termination_reason}")
    return "; ".join(facts)
