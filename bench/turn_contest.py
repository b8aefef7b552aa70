"""
What the process of each contestant answers: what a turn took, and what it wrote.

A turn begins with nothing in memory but the open store, as in a service that holds no conversation:
what was said before is read, the model answers at once, and the turn ends when all is on the disk.
"""

import asyncio
import gc
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from bench import measure
from bench.peers.child import serve
from bench.peers.timed import awaited
from bench.turn_work import MESSAGES, Said, Talk
from tests.faults.operation import Kind, Operation
from tests.faults.vfs import hooked


class Reply(NamedTuple):
    """What a model answers at once."""

    text: str
    """The answer, or the query of a call."""

    call_id: str = ""
    """The id of the call that it makes instead of answering."""


class Script:
    """What the model and the tool of a contestant say, and how much the model was sent."""

    def __init__(self, talk: Talk) -> None:
        """Go on with *talk*."""
        self._talk = talk
        self._replies: deque[Reply] = deque()
        self.seen = 0
        """How many messages the last request had, instructions left out."""

    def begin(self, kind: str) -> str:
        """Return what the user says; the turn is to be `plain` or with a `tool`."""
        if kind == "tool":
            self._replies.append(Reply(self._talk.query(), self._talk.call_id()))
        self._replies.append(Reply(self._talk.answer()))
        return self._talk.user()

    def reply(self, seen: int) -> Reply:
        """Return what the model answers to a request of *seen* messages."""
        self.seen = seen
        return self._replies.popleft()

    def result(self) -> str:
        """Return what the tool answers."""
        return self._talk.result()

    def check(self) -> None:
        """See that everything was said."""
        assert not self._replies


class Disk:
    """What was written and flushed."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.bytes = self.flushes = 0

    def __call__(self, operation: Operation) -> int:
        """Let SQLite do *operation*, and count it."""
        if operation.kind is Kind.WRITE:
            self.bytes += operation.size
        elif operation.kind is Kind.SYNC:
            self.flushes += 1
        return operation.perform()


class Contestant(Protocol):
    """One conversation in one folder, and an agent for it."""

    async def open(self, folder: Path, script: Script, disk: Disk, /, *, mode: str) -> None:
        """
        Get ready to have turns, before anything of the conversation is read.

        Args:
            folder: Where the conversation is kept.
            script: What the model and the tool say.
            disk: Is notified of what is written without SQLite.
            mode: What the model is sent: the `whole` history, its `newest` messages, or these behind a
                `summary` of the others.
        """
        ...

    async def grow(self, said: Sequence[Said]) -> None:
        """Store *said*, in bulk, and the first reduction that a long conversation has behind it."""
        ...

    async def turn(self, text: str) -> None:
        """Have a turn that begins with *text*."""
        ...

    async def count(self) -> int:
        """Return how many messages are stored."""
        ...

    async def close(self) -> None:
        """Release everything."""
        ...


class Arena:
    """A contestant that begins each round with the same conversation, in files of its own."""

    def __init__(self, make: Callable[[], Contestant], folder: Path) -> None:
        """Work in *folder*."""
        self._make = make
        self._folder = Path(tempfile.mkdtemp(dir=folder))
        self._runner = asyncio.Runner()
        self._grown: dict[tuple[int, str], Path] = {}

    def timed(self, size: int, kind: str, mode: str, times: int) -> dict[str, float]:
        """Return what one of *times* turns of *kind* took behind *size* messages, with *mode*."""
        return self._runner.run(self._timed(size, kind, mode, times))

    async def _timed(self, size: int, kind: str, mode: str, times: int) -> dict[str, float]:
        async with self._begun(size, mode, Disk()) as (contestant, script):
            await have_turns(contestant, script, kind, 1)
            gc.collect()
            turn = partial(have_turns, contestant, script, kind, 1)
            cpu, wall = await awaited(turn, times=times)
            await check_count(contestant, size + (1 + times) * MESSAGES[kind])
        return {"cpu_ms": cpu * 1e3, "wall_ms": wall * 1e3, "seen": script.seen}

    def counted(self, size: int, kind: str, mode: str, times: int) -> dict[str, float]:
        """Return what one of *times* turns of *kind* wrote and flushed behind *size* messages."""
        return self._runner.run(self._counted(size, kind, mode, times))

    async def _counted(self, size: int, kind: str, mode: str, times: int) -> dict[str, float]:
        disk = Disk()
        await self._template(size, mode)
        with hooked(disk):
            async with self._begun(size, mode, disk) as (contestant, script):
                await have_turns(contestant, script, kind, 1)
                disk.bytes = disk.flushes = 0
                await have_turns(contestant, script, kind, times)
                return {"flushes": disk.flushes / times, "written_kb": disk.bytes / times / 1e3}

    @asynccontextmanager
    async def _begun(
        self, size: int, mode: str, disk: Disk
    ) -> AsyncGenerator[tuple[Contestant, Script], None]:
        template = await self._template(size, mode)
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        shutil.copytree(template, folder, dirs_exist_ok=True)
        contestant, script = self._make(), Script(Talk(seed=size, first_call=size))
        await contestant.open(folder, script, disk, mode=mode)
        try:
            yield contestant, script
        finally:
            await contestant.close()
            shutil.rmtree(folder)

    def close(self) -> None:
        """End; the folder is left to who gave it."""
        self._runner.close()

    async def _template(self, size: int, mode: str) -> Path:
        """Return a folder with a conversation of *size* messages, which nobody has open."""
        if (size, mode) not in self._grown:
            folder = Path(tempfile.mkdtemp(dir=self._folder))
            talk, contestant = Talk(), self._make()
            await contestant.open(folder, Script(talk), Disk(), mode=mode)
            await contestant.grow(talk.take(size))
            await contestant.close()
            self._grown[size, mode] = folder
        return self._grown[size, mode]


async def have_turns(contestant: Contestant, script: Script, kind: str, times: int) -> None:
    """Let *contestant* have *times* turns of *kind*."""
    for _ in range(times):
        await contestant.turn(script.begin(kind))
        script.check()


async def check_count(contestant: Contestant, count: int) -> None:
    """
    See that *contestant* keeps *count* messages, all that was ever said.

    Raises:
        RuntimeError: It keeps more or fewer.
    """
    found = await contestant.count()
    if found != count:
        message = f"{type(contestant).__name__} keeps {found} messages of {count}"
        raise RuntimeError(message)


def take_part(make: Callable[[], Contestant]) -> None:
    """Answer for the contestant that *make* makes, in the folder that the command line names."""
    measure.pin()
    arena = Arena(make, Path(sys.argv[1]))
    serve(arena)
    arena.close()
