"""
Where the command starts, and where every error becomes one line.

Nothing but the standard library and our errors is loaded before a command runs, so that a missing
extra is an error like any other.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from foldline.errors import FoldlineError, MissingExtraError, UsageError


_WELL, _FAILED, _MISUSED, _INTERRUPTED = 0, 1, 2, 130
_EXTRA = frozenset({"click", "rich", "typer"})
_STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command with *arguments*, or with those of the process, and return its exit code.

    0: all went well. 1: something outside failed, or foldline has a fault. 2: what was asked for
    or given cannot be used. 130: interrupted.
    """
    _open_streams()
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # The reader of the output has closed it; rich and typer raise SystemExit then.
        _drop_output()
        return _WELL
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a program ends with one line
        code = _reported(error)
        if isinstance(error, OSError):
            # What could not be written would be tried again at exit.
            _drop_output()
        return code
    return code


def _open_streams() -> None:
    """Point a standard stream that is closed, for which Python has None, nowhere."""
    for name, mode in _STREAMS.items():
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))


def _run(arguments: list[str]) -> int:
    try:
        program = import_module("foldline.apps.cli.program")
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA:
            raise
        raise MissingExtraError(package=package, extra="cli") from error
    code: int = program.run(arguments)
    return code


def _reported(error: Exception) -> int:
    text, code = _explained(error)
    if code == _INTERRUPTED:
        return code
    if os.environ.get("FOLDLINE_DEBUG"):
        traceback.print_exception(error)
    line = "".join(sign if sign.isprintable() else " " for sign in text)
    with suppress(OSError):
        print("foldline: error:", " ".join(line.split()), file=sys.stderr)
    return code


def _explained(error: Exception) -> tuple[str, int]:
    if isinstance(error, UsageError | MissingExtraError):
        return str(error), _MISUSED
    if isinstance(error, FoldlineError):
        return str(error), _FAILED
    if type(error).__name__ == "Abort":
        return "", _INTERRUPTED
    if isinstance(error, OSError) and error.strerror:
        return _refused(error, error.strerror)
    # Errors of the command line are classes of a private module of typer; this all of them have.
    format_message = getattr(error, "format_message", None)
    if format_message is not None:
        command = getattr(getattr(error, "ctx", None), "command_path", "foldline")
        return f"{format_message()} ({command} --help lists what there is)", _MISUSED
    name = type(error).__name__
    return f"unexpected {name}: set FOLDLINE_DEBUG=1 to see where it comes from", _FAILED


def _refused(error: OSError, reason: str) -> tuple[str, int]:
    if error.filename is None:
        return f"cannot write the output: {reason}", _FAILED
    return f"cannot use {os.fsdecode(error.filename)}: {reason}", _MISUSED


def _drop_output() -> None:
    """Point the standard output nowhere, so that flushing it at exit does not fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
