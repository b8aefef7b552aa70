"""
Processes that are killed at a chosen file operation of SQLite.

What the process wrote stays, flushed or not: the system outlives it. Power cuts are in `power`.
"""

import shutil
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from tests.faults.fork import Child, ForkError, Teller, fork
from tests.faults.operation import CHANGES, Kind, Operation
from tests.faults.scratch import scratch
from tests.faults.vfs import hooked


Workload = Callable[[Path, Callable[[str], None]], None]
"""Works on databases in a folder and acknowledges what has to be there from then on."""

_LONGEST = 100_000


class Moment(StrEnum):
    """When the process is killed."""

    BEFORE = "before"
    """Before the operation; every write, truncate, sync and delete counts."""

    TORN = "torn"
    """After the first half of a write; only writes count, for nothing else has halves."""


class Ending(Struct, frozen=True):
    """How one run of a workload ended."""

    number: int
    operation: str | None
    acks: tuple[str, ...]
    folder: Path

    @property
    def killed(self) -> bool:
        """Return whether the run was killed."""
        return self.operation is not None


class _Started(NamedTuple):
    """A run under way."""

    number: int
    folder: Path
    child: Child


class _Killer:
    """Lets operations pass until it is their turn."""

    def __init__(self, teller: Teller, number: int, moment: Moment) -> None:
        self._teller = teller
        self._number = number
        self._torn = moment is Moment.TORN
        self._kinds = frozenset({Kind.WRITE}) if self._torn else CHANGES
        # A count is taken in one step of the interpreter, so threads need no lock.
        self._count = count(1)

    def __call__(self, operation: Operation) -> int:
        if operation.kind in self._kinds and next(self._count) == self._number:
            if self._torn:
                operation.perform_half()
            self._teller.die(f"{operation.kind} {Path(operation.path).name}")
        return operation.perform()


def run(
    workload: Workload,
    folder: Path,
    *,
    number: int,
    moment: Moment = Moment.BEFORE,
    deadline: float = 20.0,
) -> Ending:
    """
    Run *workload* on *folder* in a child that is killed at operation *number*.

    Run another workload on the same folder to kill a recovery.
    """
    return _ending(_Started(number, folder, _start(workload, folder, number, moment, deadline)))


def endings(
    workload: Workload,
    *,
    moment: Moment = Moment.BEFORE,
    prepare: Callable[[Path], None] | None = None,
    step: int = 1,
    ahead: int = 2,
    deadline: float = 20.0,
) -> Iterator[Ending]:
    """
    Kill *workload* at operation 1, 2, 3 … until it comes to its end; that ending is the last one.

    Each run has a folder of its own, a copy of what *prepare* left, which is removed when the next
    ending is asked for. While one ending is looked at, the next *ahead* - 1 runs are under way:
    close connections before the next one, and start no thread that stays.
    """
    started: deque[_Started] = deque()
    with scratch() as top, ExitStack() as stack:
        template = top / "template"
        template.mkdir()
        if prepare is not None:
            prepare(template)
        stack.callback(_end, started)
        for number in range(1, _LONGEST, step):
            folder = top / str(number)
            shutil.copytree(template, folder)
            child = _start(workload, folder, number, moment, deadline)
            started.append(_Started(number, folder, child))
            if len(started) < ahead:
                continue
            ending = _ending(started.popleft())
            yield ending
            shutil.rmtree(ending.folder)
            if not ending.killed:
                return
    message = f"the workload did not end within {_LONGEST} operations"
    raise ForkError(message)


def _ending(started: _Started) -> Ending:
    story = started.child.wait()
    return Ending(started.number, story.killed_at, story.acks, started.folder)


def _end(started: deque[_Started]) -> None:
    for one in started:
        one.child.end()


def _start(workload: Workload, folder: Path, number: int, moment: Moment, deadline: float) -> Child:
    def live(teller: Teller) -> None:
        with hooked(_Killer(teller, number, moment)):
            workload(folder, teller.ack)

    return fork(live, deadline=deadline)
