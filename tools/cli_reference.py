"""Writes `docs/cli.md`, the page of the command, from the commands themselves."""

import inspect
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from foldline.apps.cli.program import PROGRAM


PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
WIDTH = 100
FRONT = """\
<!-- Made by `make docs` from the commands; edit those instead. -->

# The command `foldline`

Install it with `pip install 'foldline[cli]'`. Only `chat` with a vendor's model needs a key and a
network.
"""
COMMON = """\
## Of all commands

Colors and progress bars appear only on a terminal (`NO_COLOR` is respected). With `--json` a
command prints one JSON document and nothing else; if it fails, it prints only the line on the standard
error. `-` as FILE reads the standard input. Files are written whole or not at all, and only when
nothing failed.

| exit code | meaning |
|---|---|
| 0 | success; a circuit breaker that ended the turn is not a failure |
| 1 | something failed, damage was found, or `doctor` found a danger |
| 2 | a wrong call: one line on the standard error says what to change |
| 130 | interrupted |

If foldline itself has a fault the exit code is 1, and `FOLDLINE_DEBUG=1` shows where.

Notes go to the standard error, one line each: what a log holds that is not a message (at most five;
`foldline formats FILE` lists them all), and that a configuration disables reduction.

Without `--config` the strategy is summarizing. With `--config` the file decides, and if it names no
strategy it is summarizing too; `plan`, `reduce` and `replay` print which one it is. A configuration
file enables reduction unless it says `enabled = false`, which every
command obeys: the verdict is skip, and the full history is sent.
"""


def page() -> str:
    """Return the page, in Markdown."""
    commands = [pair for each in PROGRAM.commands.items() for pair in _commands(*each)]
    parts = [FRONT, *_table(commands), COMMON, *_options(PROGRAM.params)]
    return "\n".join([*parts, *(line for pair in commands for line in _command(*pair))])


def _table(commands: Sequence[tuple[str, Any]]) -> Iterator[str]:
    yield "| command | what it does |"
    yield "|---|---|"
    for name, one in commands:
        meaning = inspect.cleandoc(one.help or "").partition("\n\n")[0].replace("\n", " ")
        yield f"| [`{name}`](#foldline-{name.replace(' ', '-')}) | {meaning} |"
    yield ""


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield *command*, or the commands of the group that it is."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command.load()
        return
    for own, one in inner.items():
        yield f"{name} {own}", one.load()


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    named = "".join(f" {_shown(one)}" for one in arguments)
    yield f"## `foldline {name}`\n"
    yield f"    foldline {name} [OPTIONS]{named}\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    for one in arguments:
        yield _item(_shown(one), one.help)
    yield from _options(command.params)


def _shown(argument: Any) -> str:
    return argument.metavar if argument.required else f"[{argument.metavar}]"


def _options(parameters: Sequence[Any]) -> Iterator[str]:
    for one in parameters:
        if one.param_type_name == "option":
            names = " / ".join((*one.opts, *one.secondary_opts))
            metavar = "" if one.is_flag or not one.metavar else f" {one.metavar}"
            yield _item(f"{names}{metavar}", one.help)
    yield ""


def _item(name: str, meaning: str) -> str:
    return textwrap.fill(
        f"- `{name}`: {meaning}",
        WIDTH,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
