"""The command with all its commands, each of which is loaded when it is called or asked for help."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup


_Commands: TypeAlias = Mapping[str, str]

COMMANDS: _Commands = MappingProxyType(
    {
        "demo": "replay.demo: Replay a recorded session that comes with foldline, without a key, a network or a file.",
        "chat": "chat.session.chat: Talk with a model; the conversation is kept in a store, and folded as it grows.",
        "reduce": "reduce.reduce: Print the view of a conversation to send to a model.",
        "plan": "reduce.plan: Show what reduce would do with a conversation: verdict, reason, cut and counts.",
        "replay": "replay.replay: Play a recorded session, message by message, and show what each configuration costs.",
        "advise": "advise.advise: Recommend the configuration that is the cheapest for recorded conversations.",
        "quality": "quality.quality: Show what views keep of what later calls need, beside other ways to spend the same tokens.",
        "inspect": "inspection.inspect: Show a summary, each line beside the messages that it stands for, and what it lost.",
        "formats": "formats.formats: List the formats that can be read, or the sessions in a file.",
        "worker": "worker.worker: Answer the turns that wait in a queue, or show how the queue stands.",
        "verify": "upkeep.verify: Recompute the chain hashes of everything stored, and name what is not as it was written.",
        "backup": "upkeep.backup: Copy a SQLite store into a new file, as of one moment, while others keep writing.",
        "restore": "upkeep.restore: Bring a backup of a SQLite store back.",
        "doctor": "upkeep.doctor: Check a store's environment: versions, modes, locks, sizes and the disk.",
    }
)
"""
Every command but those of `foldline threads`, in the order a newcomer meets them: its function in this
package, and the first line of its help, which is shown without loading it.
"""

THREAD_COMMANDS: _Commands = MappingProxyType(
    {
        "list": "threads.list_threads: List the threads of a store, in order of their ids.",
        "show": "threads.show_thread: Show a thread: its counts, its newest messages, how far it is folded, and its last run.",
        "summary": "inspection.show_summary: Show the summary of a thread, each line beside its messages, and what it lost.",
        "search": "threads.search_threads: Find the messages that contain every word of TEXT, in one thread or in all of a tenant.",
        "import": "threads_files.import_threads: Make a thread of each session of a recorded conversation, or one of a snapshot.",
        "export": "threads_files.export_thread: Write a whole thread: as a snapshot, or all its messages in the format of a vendor.",
        "pin": "threads.pin_message: Keep a message of a thread word for word beside every summary.",
        "unpin": "threads.unpin_message: Stop keeping a message of a thread word for word.",
        "fold": "threads_fold.fold_thread: Fold a thread now, whatever the counts; `foldline threads undo` takes it back.",
        "fork": "threads.fork_thread: Make a new thread that begins with the first messages of another.",
        "costs": "threads_costs.show_costs: Show what threads have sent and cost; of one thread also what each fold cost and saved since.",
        "undo": "threads.undo_reduction: Take back the newest reduction of a thread; the one before it is active again.",
        "delete": "threads.delete_thread: Delete a thread with all its messages; its forks keep theirs.",
    }
)
"""Every command of `foldline threads`, in the same way."""

_app = typer.Typer(
    name="foldline",
    add_completion=False,
    # Plain help is the same on every terminal and in the documentation.
    rich_markup_mode=None,
)
_threads_app = typer.Typer(
    name="threads", rich_markup_mode=None, invoke_without_command=True, add_completion=False
)


class LazyCommand(TyperCommand):
    """A command that a list shows without loading it."""

    def __init__(self, name: str, place: str, summary: str) -> None:
        """Stand for the function at *place* in this package, whose docstring begins with *summary*."""
        super().__init__(name, help=summary)
        self._place = place

    def load(self) -> Any:
        """Return the command itself, with its options and its whole help."""
        module, _, function = self._place.rpartition(".")
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)
        run = getattr(import_module(f"foldline.apps.cli.{module}"), function)
        alone.command(self.name)(run)
        return typer.main.get_command(alone)

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Return the context of the command itself, which runs in it."""
        return self.load().make_context(*given, **named)


def version_of(package: str) -> str:
    """Return the version of an installed package."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - costs a fifth

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"foldline {version_of('foldline')}")
        raise typer.Exit


@_app.callback(invoke_without_command=True)
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


@_threads_app.callback()
def _threads(context: typer.Context) -> None:
    """Look at the threads of a store, and move, fork or delete them."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _group(app: typer.Typer, commands: _Commands) -> TyperGroup:
    group = typer.main.get_group(app)
    for name, entry in commands.items():
        group.add_command(LazyCommand(name, *entry.split(": ", 1)))
    return group


PROGRAM = _group(_app, COMMANDS)
"""The command."""

PROGRAM.add_command(_group(_threads_app, THREAD_COMMANDS))


def run(arguments: Sequence[str]) -> int:
    """Run the command with *arguments* and return its exit code; errors are the caller's."""
    code = PROGRAM.main(list(arguments), prog_name="foldline", standalone_mode=False)
    return code if isinstance(code, int) else 0
