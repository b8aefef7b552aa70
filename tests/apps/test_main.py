"""Where every error becomes one line."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldline.apps.cli import main as main_module
from foldline.apps.cli.main import main
from foldline.apps.cli.program import COMMANDS
from foldline.errors import SummarizerError


Run = Callable[..., Any]

SOURCES = Path(main_module.__file__).parents[3]


def _process(
    *arguments: str, code: str = "", cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    command = ["-c", code] if code else ["-m", "foldline"]
    return subprocess.run(
        [sys.executable, *command, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(SOURCES), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _failing(error: BaseException) -> Callable[[list[str]], int]:
    def run(_: list[str]) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (
            KeyError("what was said"),
            1,
            "foldline: error: unexpected KeyError: set FOLDLINE_DEBUG=1",
        ),
        (SummarizerError("no answer"), 1, "foldline: error: no answer"),
        (
            PermissionError(13, "Permission denied", "shut/c.db"),
            2,
            "foldline: error: cannot use shut/c.db: Permission denied",
        ),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 0, ""),
    ],
    ids=["unexpected", "external", "place", "interrupt", "pipe"],
)
def test_every_end_has_its_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    line: str,
) -> None:
    """An error of the outside or of ours is 1, an interrupt 130, a reader that left 0."""
    monkeypatch.setattr(main_module, "_run", _failing(error))
    monkeypatch.setattr(main_module, "_drop_output", lambda: None)

    ended = main([])

    said = capsys.readouterr()
    assert (ended, said.out) == (code, "")
    assert said.err.startswith(line)
    assert said.err.count("\n") == bool(line)
    assert "what was said" not in said.err


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("formats >&-", 0, ""),
        ("reduce none.json >&- ", 2, "foldline: error: cannot read none.json"),
        ("reduce - <&-", 2, "foldline: error: "),
    ],
)
def test_a_closed_stream_is_no_fault(tmp_path: Path, command: str, code: int, told: str) -> None:
    """A command without an output or an input ends like one that nobody reads."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m foldline {command}', sys.executable],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )

    assert done.returncode == code
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == bool(told)


def test_a_traceback_is_there_for_the_asking(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `FOLDLINE_DEBUG=1` the line follows a traceback."""
    monkeypatch.setattr(main_module, "_run", _failing(KeyError("inside")))
    monkeypatch.setenv("FOLDLINE_DEBUG", "1")

    assert main([]) == 1

    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback")
    assert lines[-1].startswith("foldline: error: unexpected KeyError")


def test_help_is_what_comes_without_a_command(run: Run) -> None:
    """The command alone lists its commands, and succeeds."""
    outcome = run()

    assert outcome.code == 0
    assert all(name in outcome.out for name in ("demo", "reduce", "plan", "replay", "formats"))


@pytest.mark.parametrize("name", [one.__name__ for one in COMMANDS])
def test_every_command_has_help_and_json(run: Run, name: str) -> None:
    """Each command has a help text and the option `--json`."""
    outcome = run(name, "--help")

    assert outcome.code == 0
    assert "--json" in outcome.out


def test_the_version_is_told(run: Run) -> None:
    """`--version` prints one line."""
    outcome = run("--version")

    assert (outcome.code, outcome.out.count("\n")) == (0, 1)
    assert outcome.out.startswith("foldline")


def test_the_start_is_light(tmp_path: Path) -> None:
    """Neither the package nor the command's start loads what only commands need."""
    code = (
        "import sys, foldline, foldline.apps.cli.main; "
        "print({name.partition('.')[0] for name in sys.modules} & {'rich', 'typer', 'click'}, "
        "[name for name in sys.modules if name.startswith('foldline.replay')])"
    )

    assert _process(code=code, cwd=tmp_path).stdout == "set() []\n"


def test_a_missing_extra_is_one_line(tmp_path: Path) -> None:
    """Without typer the command says what to install."""
    code = (
        "import sys; sys.modules['typer'] = None; "
        "from foldline.apps.cli.main import main; sys.exit(main(['demo']))"
    )

    ended = _process(code=code, cwd=tmp_path)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "foldline: error: typer is not installed: pip install 'foldline[cli]'\n"
    )


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    """A pipe that is closed early ends the command without a word."""
    process = subprocess.Popen(
        [sys.executable, "-m", "foldline", "formats", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()

    assert (process.wait(), b"rror" in said) == (0, False)


def test_a_plain_terminal_is_enough(tmp_path: Path, chat: Path) -> None:
    """
    Piped output holds no escape sequence, and characters that the encoding lacks end nothing.
    """
    ended = _process(
        "reduce", str(chat), cwd=tmp_path, TERM="xterm-256color", PYTHONIOENCODING="ascii"
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "\x1b" not in ended.stdout


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """If the output cannot be written the exit code is 1, and one line says why."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full to fail on")

    with full.open("w") as output:
        ended = subprocess.run(
            [sys.executable, "-m", "foldline", "formats"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ended.returncode == 1
    assert ended.stderr == ("foldline: error: cannot write the output: No space left on device\n")
