"""
`foldline reduce`: the view that a model should be sent.
"""

from typing import Annotated

import typer
from rich.text import Text

from foldline.agent.reducer import HistoryReducer, ReducedHistory
from foldline.apps.cli.documents import target_format, view_document
from foldline.apps.cli.files import check_target, print_document, write_files
from foldline.apps.cli.options import JsonOption, RunOptions, takes
from foldline.apps.cli.runs import begin
from foldline.apps.cli.terminal import error_console, output_console
from foldline.apps.cli.viewing import show_view
from foldline.history.messages import Message


__all__ = ["ReduceOptions", "reduce"]


class ReduceOptions(RunOptions, frozen=True, kw_only=True):
    """
    What to reduce, and where to put it.
    """

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
    """
    for name in filter(None, (options.output, options.state)):
        check_target(name, source=options.file)
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
    told = output_console() if not options.json else error_console()
    told.print(Text(_what_happened(reduced), style="bold"), soft_wrap=True)


def _what_happened(reduced: ReducedHistory[Message]) -> str:
    event = reduced.event
    assert event is not None
    facts = [
        f"{reduced.verdict.kind} ({event.status.replace('_', ' ')}): {event.reason.value}",
        f"{event.original_tokens:,} tokens before, {event.reduced_tokens:,} after",
        f"{event.removed_count:,} of {event.original_count:,} messages folded",
    ]
    if event.summarizer is not None:
        facts.append(f"{event.summarizer} read {event.summarizer_tokens:,} tokens")
    if reduced.termination_reason is not None:
        facts.append(f"the turn ends here: {reduced.termination_reason}")
    return "; ".join(facts)
