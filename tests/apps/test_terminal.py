"""Files are written whole or not at all, and text of others does not steer a terminal."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from foldline.apps.cli.chat.screen import Screen
from foldline.apps.cli.files import check_targets, write_files
from foldline.apps.cli.terminal import (
    clean,
    command_name,
    error_console,
    first_line,
    note,
    output_console,
    say,
)
from foldline.apps.cli.viewing import show_view
from foldline.errors import ExternalError, UsageError
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import TextPart


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


def test_all_files_are_written(tmp_path: Path) -> None:
    """New files come into being with the usual mode, and no draft stays."""
    write_files({str(tmp_path / "a"): b"one", str(tmp_path / "b"): b"two"})

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "a": b"one",
        "b": b"two",
    }
    (tmp_path / "c").touch()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "c").stat().st_mode


def test_one_bad_name_leaves_the_others_alone(tmp_path: Path) -> None:
    """Where one file cannot be written, those before it keep what they hold."""
    (tmp_path / "a").write_bytes(b"old")

    with pytest.raises(UsageError, match="cannot write"):
        write_files({str(tmp_path / "a"): b"new", str(tmp_path / "no" / "b"): b"two"})

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What a link points to is written; the link itself stays."""
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")

    write_files({str(tmp_path / "link"): b"new"})

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    """A device is written to, not replaced."""
    write_files({os.devnull: b"gone"})

    assert not Path(os.devnull).is_file()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_not_the_callers_fault() -> None:
    """A device without room is a failure of the outside."""
    full = "/dev/full"
    if not Path(full).exists():
        pytest.skip("this system has no /dev/full to fail on")

    with pytest.raises(ExternalError, match="cannot write /dev/full: No space left"):
        write_files({full: b"too much"})


def test_two_options_never_name_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file for two outputs is refused, there or not, and through links; a device is not one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_bytes(b"old")
    (tmp_path / "link").symlink_to("there")
    (tmp_path / "dangling").symlink_to("new")

    for one, other in (("new", "./new"), ("there", "link"), ("new", "dangling")):
        with pytest.raises(UsageError, match="--state and --output name the same file"):
            check_targets({"--state": one, "--output": other})
    check_targets({"--state": os.devnull, "--output": os.devnull})
    check_targets({"--state": "there", "--output": "new", "--html": None})


def test_what_is_read_is_never_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the conversation nor a configuration is a file to write, through a link neither."""
    monkeypatch.chdir(tmp_path)
    for name in ("log", "config"):
        (tmp_path / name).write_bytes(b"old")
        (tmp_path / f"{name}.link").symlink_to(name)

    with pytest.raises(UsageError, match="this command reads it"):
        check_targets({"--output": "log.link"}, reads=["log"])
    with pytest.raises(UsageError, match="this command reads it"):
        check_targets({"--state": "config"}, reads=["-", "config.link"])


HOSTILE = "red \x1b[31m text"
SUMMARY = Message(role="assistant", parts=(TextPart(HOSTILE),), metadata={SUMMARY_KEY: True})
PRINTERS: dict[str, Callable[[], None]] = {
    "say": lambda: say(HOSTILE),
    "note": lambda: note(HOSTILE),
    "note of a turn": lambda: Screen(output_console(), error_console()).note(HOSTILE),
    "summary": lambda: output_console().print(show_view([SUMMARY])),
}


@pytest.mark.parametrize("show", PRINTERS.values(), ids=PRINTERS)
def test_no_printed_text_steers_the_terminal(
    show: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything that prints text of others replaces what a terminal would obey."""
    show()

    printed = capsys.readouterr()
    assert "red \ufffd[31m text" in printed.out + printed.err
    assert "\x1b" not in printed.out + printed.err
