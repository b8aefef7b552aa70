"""The command with all its commands."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from foldline.apps.cli.backup import backup
from foldline.apps.cli.chat import chat
from foldline.apps.cli.demo import demo
from foldline.apps.cli.doctor import doctor
from foldline.apps.cli.formats import formats
from foldline.apps.cli.plan import plan
from foldline.apps.cli.reduce import reduce
from foldline.apps.cli.repair import repair
from foldline.apps.cli.replay import replay
from foldline.apps.cli.threads import threads_app
from foldline.apps.cli.verify import verify


__all__ = ["COMMANDS", "app", "run"]


COMMANDS = (demo, chat, reduce, plan, replay, formats, verify, repair, backup, doctor)
"""Every command but those of `foldline threads`, in the order of a first acquaintance."""

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
        try:
            typer.echo(f"foldline {version('foldline')}")
        except PackageNotFoundError:
            typer.echo("foldline, not installed as a package")
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


for _command in COMMANDS:
    app.command(_command.__name__)(_command)
app.add_typer(threads_app)


def run(arguments: Sequence[str]) -> int:
    """Run the command with *arguments* and return its exit code; errors are the caller's."""
    command = typer.main.get_command(app)
    code = command.main(list(arguments), prog_name="foldline", standalone_mode=False)
    return code if isinstance(code, int) else 0
