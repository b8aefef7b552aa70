"""
Many SQLite sessions of the OpenAI Agents SDK: `python -m bench.peers.openai_crowd FOLDER NUMBER`.

Runs in an environment of its own (`bench/peers/requirements.txt`) and is asked line by line.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents import SQLiteSession  # type: ignore[import-not-found]

from bench.peers.child import serve
from bench.peers.crowd import LAST, Crowd
from bench.workload import Text


class Sessions:
    """One session for each conversation, all of them in one file."""

    def __init__(self, folder: Path) -> None:
        """Keep them in *folder*."""
        self._path = folder / "openai.db"
        self._sessions: list[Any] = []

    async def start(self, number: int) -> None:
        """Make *number* conversations."""
        self._sessions = [SQLiteSession(f"t{place}", self._path) for place in range(number)]

    async def append(self, place: int, texts: Sequence[Text]) -> None:
        """Append *texts* to one of them."""
        items = [{"role": role, "content": text} for role, text in texts]
        await self._sessions[place].add_items(items)

    async def last(self, place: int) -> Sequence[Any]:
        """Return its newest messages."""
        found: list[Any] = await self._sessions[place].get_items(limit=LAST)
        return found

    async def stop(self) -> None:
        """Release everything."""
        for session in self._sessions:
            session.close()


if __name__ == "__main__":
    serve(Crowd(Sessions(Path(sys.argv[1])), int(sys.argv[2])))
