"""Writing for people: colors only on a terminal, and no control characters from the text of others."""

import logging
import os
import shutil
import sys
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import TextIO

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from foldline.errors import UsageError


_WIDTH_OF_FILES = 100
# The options of commands for what a warning of the library says to set.
_OPTIONS = {
    "`context_window_size`": "window",
    "`window`": "window",
    "`ceiling`": "ceiling",
    "`prices`": "prices",
}


def output_console() -> Console:
    """Return the console of the standard output."""
    return _console(sys.stdout)


def error_console() -> Console:
    """Return the console of the standard error, for everything beside the answer."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        # A character that the terminal's encoding lacks must not end the command.
        reconfigure(errors="replace")
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _WIDTH_OF_FILES
    return Console(file=stream, width=width, highlight=False, emoji=False, markup=False)


def say(text: str, *, style: str = "") -> None:
    """Print *text* to the standard output, without breaking its lines."""
    output_console().print(Text(clean(text), style=style), soft_wrap=True)


def note(text: str) -> None:
    """Print *text* as one line on the standard error: something to know beside the answer."""
    error_console().print(Text(f"note: {clean(text)}", style="dim"), soft_wrap=True)


def name_flags(options: Collection[str]) -> None:
    """Have what is logged for want of another handler name *options*, which the command has."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Logged(options))


class _Logged(logging.Formatter):
    def __init__(self, options: Collection[str]) -> None:
        super().__init__()
        self._flags = {field: f"--{name}" for field, name in _OPTIONS.items() if name in options}

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        for field, flag in self._flags.items():
            text = text.replace(field, flag)
        return clean(text)


def confirm(question: str, refusal: str) -> None:
    """Ask *question*; end the command unless the answer is yes."""
    if not sys.stdin.isatty():
        raise UsageError(refusal)
    typer.confirm(question, abort=True, err=True)


def plain_table(*titles: str, numbers: Collection[str] = ()) -> Table:
    """Return a table without lines, with a column for each of *titles*; those of *numbers* right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(titles))
    for title in titles:
        table.add_column(
            title,
            header_style="bold",
            overflow="fold",
            justify="right" if title in numbers else "left",
        )
    return table


def print_first(console: Console, texts: Sequence[str], *, most: int) -> None:
    """Print *most* of *texts*, each in a line, and how many more there are."""
    for text in texts[:most]:
        console.print(Text(f"  {text}"))
    if len(texts) > most:
        console.print(Text(f"  and {len(texts) - most:,} more"))


def command_name() -> str:
    """Return how to call this command: by its name if that is on the path, else by its path."""
    if shutil.which("foldline"):
        return "foldline"
    called = PurePath(sys.argv[0])
    return str(called) if called.stem == "foldline" else "python -m foldline"


def clean(text: str) -> str:
    """Return *text* with everything replaced that a terminal would obey."""
    lines = text.replace("\t", "    ").splitlines()
    return "\n".join("".join(one if one.isprintable() else "�" for one in line) for line in lines)


def first_line(text: str, *, most: int = 200) -> str:
    """Return the first line of *text* that is not blank, cut to *most* characters."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    shown = clean(" ".join(line[: most * 2].split()))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


@contextmanager
def progress(description: str, total: int | None = 1) -> Generator[Callable[..., None]]:
    """Show progress on a terminal; yield what is called after a step, or with how many of all."""
    console = error_console()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(description, total=total)

        def step(done: int | None = None, total: int | None = None) -> None:
            advance = 1 if done is None else None
            bar.update(task, advance=advance, completed=done, total=total)

        yield step
