"""A workload in a forked child, and what the child told before it ended."""

import gc
import json
import os
import select
import signal
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from msgspec import Struct


_THREADS = Path("/proc/self/task")
_PATIENCE = 1.0


class ForkError(Exception):
    """A child could not be forked safely, or did not end as it has to."""


class Story(Struct, frozen=True):
    """What a child told and how it ended."""

    acks: tuple[str, ...]
    killed_at: str | None


class Teller:
    """
    The child's end of the pipe. Each call is one write, so a killed child leaves no half line.
    """

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def ack(self, text: str) -> None:
        """Report to the parent that *text* was acknowledged."""
        self._tell("ack", text)

    def die(self, last_words: str) -> NoReturn:
        """Tell the parent *last_words* and end at once, as a power switch would."""
        self._tell("killed", last_words)
        os.kill(os.getpid(), signal.SIGKILL)
        # The signal is pending for every thread; none may do anything more.
        while True:
            signal.pause()

    def finish(self, error: BaseException | None) -> None:
        """Tell the parent that the workload came to its end, or what stopped it."""
        if error is None:
            self._tell("done", "")
        else:
            report = "".join(traceback.format_exception(error))
            self._tell("failed", report[-select.PIPE_BUF // 8 :])

    def _tell(self, kind: str, text: str) -> None:
        line = json.dumps([kind, text]).encode() + b"\n"
        if len(line) > select.PIPE_BUF:
            message = f"{kind} of {len(line)} bytes; a pipe takes {select.PIPE_BUF} at once"
            raise ForkError(message)
        os.write(self._pipe, line)


class Child:
    """A running child; it has to be waited for or ended."""

    def __init__(self, process: int, pipe: int, deadline: float) -> None:
        self._process = process
        self._pipe = pipe
        self._deadline = deadline

    def wait(self) -> Story:
        """Return what the child reported, or raise ForkError if it did not end as it has to."""
        told = self._read()
        _, status = os.waitpid(self._process, 0)
        lines: list[list[str]] = [json.loads(line) for line in told.splitlines()]
        acks = tuple(text for kind, text in lines if kind == "ack")
        kind, text = lines[-1] if lines else ("nothing", "")
        code = os.waitstatus_to_exitcode(status)
        if (kind, code) == ("done", 0):
            return Story(acks, None)
        killed = [text for kind, text in lines if kind == "killed"]
        if killed and code == -signal.SIGKILL:
            return Story(acks, killed[0])
        message = f"the child ended with code {code}; it told {kind} last\n{text}"
        raise ForkError(message)

    def end(self) -> None:
        """End the child wherever it stands."""
        os.kill(self._process, signal.SIGKILL)
        os.close(self._pipe)
        os.waitpid(self._process, 0)

    def _read(self) -> bytes:
        told = bytearray()
        limit = time.monotonic() + self._deadline
        while True:
            left = max(0.0, limit - time.monotonic())
            if not select.select([self._pipe], [], [], left)[0]:
                self.end()
                message = "the child hung and was ended"
                raise ForkError(message)
            block = os.read(self._pipe, 1 << 16)
            if not block:
                os.close(self._pipe)
                return bytes(told)
            told += block


def fork(live: Callable[[Teller], None], *, deadline: float = 20.0) -> Child:
    """
    Start a child that calls *live* and never returns into the program, whatever happens in it.

    ForkError is raised if the process has other threads, whose locks the child would inherit.
    """
    _require_one_thread()
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.close(reading)
        _live(live, Teller(writing))
    os.close(writing)
    return Child(process, reading, deadline)


def _live(live: Callable[[Teller], None], teller: Teller) -> NoReturn:
    # The finalizers of what the parent left behind must not run here.
    gc.disable()
    try:
        live(teller)
    except BaseException as error:  # noqa: BLE001 # the parent is told about every error
        teller.finish(error)
        os._exit(1)
    else:
        teller.finish(None)
        os._exit(0)
    finally:
        os._exit(2)


def _require_one_thread() -> None:
    limit = time.monotonic() + _PATIENCE
    while _threads() > 1:
        # The system may need a moment to forget a thread that was joined.
        if threading.active_count() > 1 or time.monotonic() > limit:
            names = ", ".join(thread.name for thread in threading.enumerate())
            message = f"{_threads()} threads run in the process: {names}"
            raise ForkError(message)
        time.sleep(0.001)


def _threads() -> int:
    return sum(1 for _ in _THREADS.iterdir()) if _THREADS.is_dir() else threading.active_count()
