"""The command with all its commands."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated

import typer

from foldline.apps.cli.advise import advise
from foldline.apps.cli.chat.session import chat
from foldline.apps.cli.formats import formats
from foldline.apps.cli.inspection import inspect
from foldline.apps.cli.quality import quality
from foldline.apps.cli.reduce import plan, reduce
from foldline.apps.cli.replay import demo, replay
from foldline.apps.cli.threads import (
    delete_thread,
    fork_thread,
    list_threads,
    pin_message,
    search_thread,
    show_thread,
    undo_reduction,
    unpin_message,
)
from foldline.apps.cli.threads_costs import show_costs
from foldline.apps.cli.threads_files import export_thread, import_threads
from foldline.apps.cli.threads_fold import fold_thread
from foldline.apps.cli.upkeep import backup, doctor, restore, verify, version_of


__all__ = ["COMMANDS", "THREAD_COMMANDS", "app", "run"]


COMMANDS = (
    demo,
    chat,
    reduce,
    plan,
    replay,
    advise,
    quality,
    inspect,
    formats,
    verify,
    backup,
    restore,
    doctor,
)
"""Every command but those of `foldline threads`, in the order a newcomer meets them."""

THREAD_COMMANDS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "list": list_threads,
        "show": show_thread,
        "search": search_thread,
        "import": import_threads,
        "export": export_thread,
        "pin": pin_message,
        "unpin": unpin_message,
        "fold": fold_thread,
        "fork": fork_thread,
        "costs": show_costs,
        "undo": undo_reduction,
        "delete": delete_thread,
    }
)
"""Every command of `foldline threads`, by its name."""

app = typer.Typer(
    name="foldline",
    add_completion=False,
    # Plain help is the same on every terminal and in the documentation.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
"""The command."""


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"foldline {version_of('foldline')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _foldline(
    context: typer.Context,
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Keep long LLM-agent conversations inside a budget without losing a message."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_threads_app = typer.Typer(
    name="threads", rich_markup_mode=None, invoke_without_command=True, add_completion=False
)


@_threads_app.callback()
def _threads(context: typer.Context) -> None:
    """Look at the threads of a store, and move, fork or delete them."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _command in COMMANDS:
    app.command(_command.__name__)(_command)
for _name, _command in THREAD_COMMANDS.items():
    _threads_app.command(_name)(_command)
app.add_typer(_threads_app)
_PROGRAM = typer.main.get_command(app)


def run(arguments: Sequence[str]) -> int:
    """Run the command with *arguments* and return its exit code; errors are the caller's."""
    code = _PROGRAM.main(list(arguments), prog_name="foldline", standalone_mode=False)
    return code if isinstance(code, int) else 0
