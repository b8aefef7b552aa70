"""
The page `docs/cli.md`, made from the commands themselves: `python -m foldline.apps.cli.reference`.
"""

import inspect
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from foldline.apps.cli.program import app


__all__ = ["reference_page"]


_FRONT = """\
<!-- Made by `make docs` from the commands; edit those instead. -->

# The command `foldline`

Install it with `pip install 'foldline[cli]'`. No command needs a model, a key or a network.

Colours and progress bars appear on a terminal only (`NO_COLOR` is respected). With `--json` a
command prints one JSON document and nothing else. `-` as FILE reads the standard input. Files are
written whole or not at all, and only when nothing failed.

| exit code | meaning |
|---|---|
| 0 | all went well |
| 1 | something outside foldline failed, or foldline has a fault; `FOLDLINE_DEBUG=1` shows where |
| 2 | what was asked for or given cannot be used; one line on the standard error says why |
| 130 | interrupted |
"""


def reference_page() -> str:
    """
    Return the page, in Markdown.
    """
    program: Any = typer.main.get_command(app)
    parts = [_FRONT, *_options_table(program.params)]
    for name, command in program.commands.items():
        parts.extend(_command(name, command))
    return "\n".join(parts)


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    named = "".join(f" {one.metavar}" for one in arguments)
    yield f"## `foldline {name}`\n"
    yield f"    foldline {name} [OPTIONS]{named}\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    yield from _arguments(arguments)
    yield from _options_table(command.params)


def _arguments(arguments: Sequence[Any]) -> Iterator[str]:
    for one in arguments:
        yield f"{one.metavar}: {one.help}\n"


def _options_table(parameters: Sequence[Any]) -> Iterator[str]:
    options = [one for one in parameters if one.param_type_name == "option"]
    yield "| option | meaning |"
    yield "|---|---|"
    for one in options:
        names = " / ".join((*one.opts, *one.secondary_opts))
        metavar = "" if one.is_flag or not one.metavar else f" {one.metavar}"
        shown = f"{names}{metavar}".replace("|", "\\|")
        yield f"| `{shown}` | {one.help} |"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(reference_page())
