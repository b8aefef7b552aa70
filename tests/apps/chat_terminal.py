"""The command on a terminal of its own, as a person has it."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


_PATIENCE = 90.0
_PIECE = 65_536
# Ctrl-C that falls between a prompt and the reading behind it is heard with the next key alone
# (CPython's `input`), as a person finds out by pressing it again.
_AGAIN = 5.0
_ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>])")
# What is typed as Ctrl-C goes to the process whose terminal it is.
_START = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from foldline.apps.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
_INTERRUPT = b"\x03"


class Terminal:
    """A process whose input and output are a terminal."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self._own, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "200", "FOLDLINE_DEBUG": "1"},
            start_new_session=True,
        )
        os.close(theirs)
        self.raw = ""
        """Everything that it has printed."""
        self._seen = 0

    @property
    def shown(self) -> str:
        """Everything that it has printed, without colours."""
        return _ESCAPE.sub("", self.raw)

    def expect(self, text: str) -> str:
        """Wait until *text* is printed after the last one waited for, and return what came."""
        deadline = time.monotonic() + _PATIENCE
        while (at := self.shown.find(text, self._seen)) < 0:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} was not printed, but: {self.shown[self._seen :]}"
            assert self._read(left), f"it ended without {text!r}: {self.shown[self._seen :]}"
        came = self.shown[self._seen : at + len(text)]
        self._seen = at + len(text)
        return came

    def type(self, line: str) -> None:
        os.write(self._own, line.encode() + b"\r")

    def interrupt(self) -> None:
        os.write(self._own, _INTERRUPT)

    def leave(self) -> int:
        """Type Ctrl-C at a prompt until it ends, and return the exit code."""
        presses = int(_PATIENCE / _AGAIN)
        for _ in range(presses):
            self.interrupt()
            if self._is_ended(time.monotonic() + _AGAIN):
                return self.process.wait(_PATIENCE)
        message = f"{presses} times Ctrl-C do not end it: {self.shown[self._seen :]}"
        raise AssertionError(message)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        """Return the exit code, once it has ended."""
        is_ended = self._is_ended(time.monotonic() + _PATIENCE)
        assert is_ended, f"it does not end: {self.shown[self._seen :]}"
        return self.process.wait(_PATIENCE)

    def _is_ended(self, deadline: float) -> bool:
        """Read on until it ends, or until *deadline*; whether it has ended."""
        while self._read(deadline - time.monotonic()):
            if time.monotonic() >= deadline:
                return False
        return True

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._own)

    def _read(self, patience: float) -> bool:
        """Read what is there; False at the end."""
        ready, _, _ = select.select([self._own], [], [], max(0.0, patience))
        if not ready:
            return True
        try:
            data = os.read(self._own, _PIECE)
        except OSError:
            # So Linux tells the end of a terminal.
            return False
        self.raw += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


@contextmanager
def on_terminal(folder: Path, *arguments: str | Path) -> Generator[Terminal]:
    """Start the command with *arguments* in *folder* for as long as the context lasts."""
    terminal = Terminal([str(argument) for argument in arguments], folder)
    try:
        yield terminal
    finally:
        terminal.close()
