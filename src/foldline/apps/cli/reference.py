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

Install it with `pip install 'foldline[cli]'`. Only `chat` with a vendor's model needs a key and a network.

Colours and progress bars appear on a terminal only (`NO_COLOR` is respected). With `--json` a
command prints one JSON document and nothing else. `-` as FILE reads the standard input. Files are
written whole or not at all, and only when nothing failed.

| exit code | meaning |
|---|---|
| 0 | all went well; a circuit breaker that ended the turn is no failure |
| 1 | something outside foldline failed (a full disk, say), or foldline has a fault; `FOLDLINE_DEBUG=1` shows where; or damage was found by `verify`, `repair` or `backup`, or danger by `doctor` |
| 2 | what was asked for or given cannot be used; one line on the standard error says why |
| 130 | interrupted |

What is not the answer goes to the standard error, one line each: what a log holds that is no
message (at most five such notes, `foldline formats FILE` lists them all), and that a configuration
switches reduction off.

Without `--config` the strategy is summarizing. With `--config` the file rules, and where it names
no strategy the library's default does, message counting; `plan`, `reduce` and `replay` all print
which one is in force. A configuration that is named is enabled unless it says `enabled = false`,
which every command obeys: `plan` tells the verdict skip, and the full history is sent.
"""


def reference_page() -> str:
    """Return the page, in Markdown."""
    program: Any = typer.main.get_command(app)
    parts = [_FRONT, *_options_table(program.params)]
    for name, command in program.commands.items():
        for called, one in _commands(name, command):
            parts.extend(_command(called, one))
    return "\n".join(parts)


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Give *command* itself, or those that it is a group of."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for own, one in inner.items():
        yield f"{name} {own}", one


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
