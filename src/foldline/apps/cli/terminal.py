"""Writing for people: colours only on a terminal, and nothing in a text that could steer one."""

import os
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import PurePath
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


__all__ = [
    "Advance",
    "clean",
    "command_name",
    "error_console",
    "first_line",
    "output_console",
    "progress",
]


_WIDTH_OF_FILES = 100


def output_console() -> Console:
    """Return the console of the standard output."""
    return _console(sys.stdout)


def error_console() -> Console:
    """Return the console of the standard error, for what is not the answer itself."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        # A sign that the terminal's encoding does not have must not end the command.
        reconfigure(errors="replace")
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _WIDTH_OF_FILES
    return Console(file=stream, width=width, highlight=False, emoji=False, markup=False)


def command_name() -> str:
    """Return what this command is called by: its name where that is found, else its path."""
    if shutil.which("foldline"):
        return "foldline"
    called = PurePath(sys.argv[0])
    return str(called) if called.stem == "foldline" else "python -m foldline"


def clean(text: str) -> str:
    """Return *text*, which anybody may have written, without what a terminal would obey."""
    lines = text.replace("\t", "    ").splitlines()
    return "\n".join("".join(_shown(sign) for sign in line) for line in lines)


def _shown(sign: str) -> str:
    return sign if sign.isprintable() else "�"


def first_line(text: str, *, most: int = 200) -> str:
    """Return the first line of *text* that says anything, cut to *most* signs."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    shown = clean(" ".join(line[: most * 2].split()))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


class Advance:
    """What long work calls after each step."""

    def __init__(self, bar: Progress, total: int, description: str) -> None:
        self._bar = bar
        self._task = bar.add_task(description, total=total)

    def __call__(self) -> None:
        self._bar.advance(self._task)

    def to(self, done: int, total: int) -> None:
        """Show that *done* of *total* steps are done."""
        self._bar.update(self._task, completed=done, total=total)


@contextmanager
def progress(description: str, total: int) -> Generator[Advance]:
    """
    Show on the standard error how far *total* steps have come; nothing unless it is a terminal.
    """
    console = error_console()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        yield Advance(bar, total, description)
