"""Where every error becomes one line."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from foldline.apps.cli import main as main_module
from foldline.apps.cli.main import main
from foldline.apps.cli.program import COMMANDS, PROGRAM, THREAD_COMMANDS
from foldline.errors import SummarizerError
from tests.apps.conftest import Run


SOURCES = Path(main_module.__file__).parents[3]


def _failing(error: BaseException) -> Callable[[list[str]], int]:
    def run(_: list[str]) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyError("what was said"), 1, "foldline: error: unexpected KeyError: set FOLDLINE_DEBUG"),
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


def test_a_closed_stream_is_no_fault(tmp_path: Path) -> None:
    """A process whose standard output is closed ends like one that nobody reads."""
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -m foldline formats >&-', sys.executable],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_input_is_misuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command without an input, for which Python has None, finds it empty."""
    monkeypatch.setattr(sys, "stdin", None)

    assert main(["reduce", "-"]) == 2
    sys.stdin.close()


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


@pytest.mark.parametrize(
    ("group", "names"),
    [((), COMMANDS), (("threads",), THREAD_COMMANDS)],
    ids=["all", "threads"],
)
def test_help_is_what_comes_without_a_command(
    run: Run, group: tuple[str, ...], names: Iterable[str]
) -> None:
    """The command alone, and `foldline threads`, list their commands, and succeed."""
    outcome = run(*group)

    assert outcome.code == 0
    assert all(name in outcome.out for name in names)


@pytest.mark.parametrize("name", [*COMMANDS, *(f"threads {one}" for one in THREAD_COMMANDS)])
def test_a_list_shows_how_the_help_of_a_command_begins(name: str) -> None:
    """What is declared of a command, so that it need not be loaded, is what it says of itself."""
    group, _, own = name.rpartition(" ")
    program: Any = PROGRAM
    declared = (program.commands["threads"] if group else program).commands[own]

    assert declared.help == declared.load().help.partition("\n\n")[0]


def test_the_version_is_told(run: Run) -> None:
    """`--version` prints one line."""
    outcome = run("--version")

    assert (outcome.code, outcome.out.count("\n")) == (0, 1)
    assert outcome.out.startswith("foldline")


def _loaded(code: str, folder: Path) -> set[str]:
    """Return the names of the modules that a process has loaded once it has run *code*."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules, file=sys.stderr)"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["threads", "--help"]])
def test_a_list_of_commands_loads_none(tmp_path: Path, arguments: list[str]) -> None:
    """Help and version load typer, and nothing of the package but the command line and errors."""
    loaded = _loaded(f"from foldline.apps.cli.main import main; main({arguments})", tmp_path)

    own = {name for name in loaded if name.partition(".")[0] == "foldline"}
    assert "typer" in loaded
    assert loaded.isdisjoint({"rich", "msgspec", "asyncio", "sqlite3"})
    assert own == {
        "foldline",
        "foldline.apps",
        "foldline.apps.cli",
        "foldline.apps.cli.main",
        "foldline.apps.cli.program",
        "foldline.errors",
    }


def test_the_start_is_light(tmp_path: Path) -> None:
    """Neither the package nor the command's start loads what only commands need."""
    loaded = _loaded("import foldline, foldline.apps.cli.main", tmp_path)

    assert loaded.isdisjoint({"rich", "typer", "click"})
    assert not [name for name in loaded if name.startswith("foldline.replay")]


def test_a_missing_extra_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without typer the command says what to install."""
    monkeypatch.delitem(sys.modules, "foldline.apps.cli.program")
    monkeypatch.setitem(sys.modules, "typer", None)

    ended = run("demo")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "foldline: error: typer is not installed: pip install 'foldline[cli]'\n"


def test_a_reader_that_leaves_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe that is closed early ends the command without a word."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as output:
        monkeypatch.setattr(sys, "stdout", output)
        code = main(["formats", "--json"])

    assert (code, capsys.readouterr().err) == (0, "")


def test_a_plain_terminal_is_enough(chat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Piped output has no escape sequence, and takes characters that the encoding lacks."""
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    monkeypatch.setenv("TERM", "xterm-256color")

    assert main(["reduce", str(chat)]) == 0
    assert b"\x1b" not in printed.getvalue()
    assert b"?" in printed.getvalue()


def test_a_full_disk_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the output cannot be written the exit code is 1, and one line says why."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full to fail on")

    with full.open("w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        code = main(["formats"])

    assert code == 1
    assert capsys.readouterr().err == (
        "foldline: error: cannot write the output: No space left on device\n"
    )
