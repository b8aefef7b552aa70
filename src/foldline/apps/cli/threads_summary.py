"""`foldline threads summary`: what stands for the folded messages of a thread."""

from typing import Annotated

import typer

from foldline.apps.cli.files import print_json
from foldline.apps.cli.inspection import print_inspection
from foldline.apps.cli.options import takes
from foldline.apps.cli.stores import ThreadOptions, found_thread, with_store
from foldline.apps.cli.terminal import output_console
from foldline.errors import UsageError
from foldline.history.history import History
from foldline.replay.inspection import Inspection, inspect_summary
from foldline.replay.numbers import counted
from foldline.threads.store import ThreadStore


__all__ = ["show_summary"]


class _SummaryOptions(ThreadOptions, frozen=True, kw_only=True):
    back: Annotated[
        int, typer.Option(metavar="N", min=0, help="Show the summary N folds before the newest.")
    ] = 0


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
        message = f"thread {options.id!r} has {has}"
        raise UsageError(message)
    return inspect_summary(History(await thread.get_messages()), kept[options.back])
