"""Text of others on a terminal of ours."""

import sys
from pathlib import Path

import pytest

from foldline.apps.cli.terminal import (
    clean,
    command_name,
    first_line,
    output_console,
    progress,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\r\nlines", "two\nlines"),
        ("tab\there", "tab    here"),
        ("\x1b[31mred", "�[31mred"),
        ("bell\x07", "bell�"),
        ("\ud800", "�"),
        ("naïve 東京 🚂", "naïve 東京 🚂"),
    ],
)
def test_nothing_a_terminal_obeys_is_left(text: str, shown: str) -> None:
    """What cannot be printed is shown as a mark; lines stay lines."""
    assert clean(text) == shown


def test_the_first_line_says_something() -> None:
    """Empty lines at the start are skipped, spaces are joined, and a long line is cut."""
    assert first_line("\n  \n first   line \nsecond") == "first line"
    assert first_line("") == ""
    assert first_line("x" * 500, most=10) == "x" * 9 + "…"


def test_no_progress_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A progress bar is for who looks; a file or a pipe gets nothing of it."""
    with progress("working", 2) as advance:
        advance()
        advance()

    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_the_console_takes_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither markup nor names of emoji in a text are anything but text."""
    output_console().print("[red]:smile:[/red] 42")

    assert capsys.readouterr().out == "[red]:smile:[/red] 42\n"


@pytest.mark.parametrize(
    ("called", "name"),
    [
        (".venv/bin/foldline", ".venv/bin/foldline"),
        ("somewhere/__main__.py", "python -m foldline"),
    ],
)
def test_the_command_is_named_as_it_can_be_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str, name: str
) -> None:
    """Where the command is not found by its name, it is named as it was called."""
    monkeypatch.setattr(sys, "argv", [called])
    monkeypatch.setenv("PATH", str(tmp_path))
    elsewhere = command_name()
    (tmp_path / "foldline").write_text("#!/bin/sh", encoding="utf-8")
    (tmp_path / "foldline").chmod(0o755)

    assert (elsewhere, command_name()) == (name, "foldline")
