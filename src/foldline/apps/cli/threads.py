"""`foldline threads`: the commands about threads."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import typer

from foldline.apps.cli.threads_copies import fork_thread, import_threads
from foldline.apps.cli.threads_ends import delete_thread, undo_reduction
from foldline.apps.cli.threads_export import export_thread
from foldline.apps.cli.threads_views import list_threads, search_thread, show_thread


__all__ = ["THREAD_COMMANDS", "threads_app"]


THREAD_COMMANDS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "list": list_threads,
        "show": show_thread,
        "search": search_thread,
        "import": import_threads,
        "export": export_thread,
        "fork": fork_thread,
        "undo": undo_reduction,
        "delete": delete_thread,
    }
)
"""Every command, by its name."""

threads_app = typer.Typer(
    name="threads", rich_markup_mode=None, invoke_without_command=True, add_completion=False
)
"""The commands as one."""


@threads_app.callback()
def _threads(context: typer.Context) -> None:
    """Look at the threads of a store, and move, fork or delete them."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _name, _command in THREAD_COMMANDS.items():
    threads_app.command(_name)(_command)
