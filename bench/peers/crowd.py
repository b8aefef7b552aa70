"""Many conversations in one process: what each contestant's process answers."""

import asyncio
import resource
import threading
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from bench import workload
from bench.workload import Text


BEFORE = 40
LAST = 20
TOGETHER = 100


class Conversations(Protocol):
    """A store with many conversations."""

    async def start(self, number: int) -> None:
        """Make *number* conversations."""
        ...

    async def append(self, place: int, texts: Sequence[Text]) -> None:
        """Append *texts* to one of them."""
        ...

    async def last(self, place: int) -> Sequence[Any]:
        """Return its newest messages."""
        ...

    async def stop(self) -> None:
        """Release everything."""
        ...


class Crowd:
    """Conversations that all have a turn at once."""

    def __init__(self, conversations: Conversations, number: int) -> None:
        """Bring *number* conversations to 40 messages each."""
        _allow_many_files()
        self._conversations = conversations
        self._number = number
        self._texts = workload.texts(4_000, seed=5)
        self._rounds = count()
        self._runner = asyncio.Runner()
        self._runner.run(self._start())

    async def _start(self) -> None:
        await self._conversations.start(self._number)
        texts = workload.texts(BEFORE)
        for first in range(0, self._number, TOGETHER):
            places = range(first, min(first + TOGETHER, self._number))
            await asyncio.gather(*(self._conversations.append(one, texts) for one in places))

    def turns(self) -> dict[str, Any]:
        """Let every conversation append a turn and read its newest messages, all at once."""
        return self._runner.run(self._turns(next(self._rounds)))

    async def _turns(self, number: int) -> dict[str, Any]:
        cpu, wall = time.process_time(), time.perf_counter()
        calls = (self._turn(place, number, wall) for place in range(self._number))
        ended = await asyncio.gather(*calls, return_exceptions=True)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        taken = sorted(one for one in ended if isinstance(one, float))
        errors = self._number - len(taken)
        turns = max(1, len(taken))
        return {
            "turns_s": turns / wall,
            "cpu_us": cpu / turns * 1e6,
            "p99_s": taken[len(taken) * 99 // 100] if taken else 0.0,
            "errors": errors,
            "threads": threading.active_count(),
            "files": _open_files(),
            "peak_mb": _peak(),
        }

    async def _turn(self, place: int, number: int, began: float) -> float:
        at = 2 * (place + number * self._number) % len(self._texts)
        await self._conversations.append(place, self._texts[at : at + 2])
        found = await self._conversations.last(place)
        assert len(found) == LAST
        return time.perf_counter() - began

    def stop(self) -> None:
        """Release everything."""
        self._runner.run(self._conversations.stop())
        self._runner.close()


def _allow_many_files() -> None:
    # A session of the peer holds ten files.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _peak() -> float:
    """
    Return the most megabytes that were held, those of the parent before the start not counted.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    fields = dict(line.split(":", 1) for line in status.read_text("utf-8").splitlines())
    return int(fields["VmHWM"].split()[0]) / 1024


def _open_files() -> int | None:
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        return None
