"""Many threads of foldline: `python -m bench.peers.foldline_crowd FOLDER NUMBER`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from bench.peers.child import serve
from bench.peers.crowd import LAST, Crowd, Text
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread


class Threads:
    """One thread for each conversation, in a store that flushes each commit."""

    def __init__(self, folder: Path) -> None:
        """Keep them in *folder*."""
        self._store = SQLiteStore(folder / "foldline.db")
        self._threads: list[ConversationThread] = []

    async def start(self, number: int) -> None:
        """Make *number* conversations."""
        await self._store.open()
        self._threads = [await self._store.thread(f"t{place}") for place in range(number)]

    async def append(self, place: int, texts: Sequence[Text]) -> None:
        """Append *texts* to one of them."""
        messages = [
            Message.user(text) if role == "user" else Message.assistant(text)
            for role, text in texts
        ]
        await self._threads[place].add_messages(messages)

    async def last(self, place: int) -> Sequence[Message]:
        """Return its newest messages."""
        return await self._threads[place].get_messages(last=LAST)

    async def stop(self) -> None:
        """Release everything."""
        await self._store.close()


if __name__ == "__main__":
    serve(Crowd(Threads(Path(sys.argv[1])), int(sys.argv[2])).calls())
