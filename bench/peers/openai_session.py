"""
The OpenAI Agents SDK's SQLite session: `python -m bench.peers.openai_session FOLDER`.

Runs in an environment of its own (`bench/peers/requirements.txt`) and is asked line by line.
"""

import asyncio
import sys
from itertools import cycle, islice
from pathlib import Path

from agents import SQLiteSession  # type: ignore[import-not-found]

from bench import measure, workload
from bench.peers.child import serve
from bench.peers.timed import Took, awaited


BATCH = 2_000


class Session:
    """One conversation; it keeps no state and nothing that could be checked."""

    def __init__(self, folder: Path) -> None:
        """Keep it in *folder*."""
        self._session = SQLiteSession("t", folder / "openai.db")
        self._runner = asyncio.Runner()
        self._items = cycle(
            [{"role": role, "content": text} for role, text in workload.texts(4_000)]
        )
        self._count = 0

    async def _append(self, count: int) -> None:
        await self._session.add_items(list(islice(self._items, count)))
        self._count += count

    def grow(self, size: int) -> None:
        """Bring the conversation to *size* messages, in bulk."""
        while self._count < size:
            self._runner.run(self._append(min(BATCH, size - self._count)))

    def turns(self, times: int, warm: int) -> Took:
        """Return what one of *times* turns of two messages took."""
        self._runner.run(awaited(lambda: self._append(2), times=warm))
        return self._runner.run(awaited(lambda: self._append(2), times=times))

    def loads(self, times: int) -> Took:
        """Return what it took to read the last messages."""
        return self._runner.run(awaited(lambda: self._session.get_items(limit=20), times=times))

    def whole(self, times: int) -> Took:
        """Return what it took to read everything."""
        return self._runner.run(awaited(self._session.get_items, times=times))


if __name__ == "__main__":
    measure.pin()
    serve(Session(Path(sys.argv[1])))
