"""Many threads of foldline: `python -m bench.peers.foldline_crowd FOLDER NUMBER`."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.messages import message_of
from bench.peers.child import serve
from bench.peers.crowd import LAST, TOGETHER, Crowd
from bench.workload import Text
from foldline.history.messages import Message
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread


class Threads:
    """One thread for each conversation, in a store with the options that it has by itself."""

    def __init__(self, store: ThreadStore) -> None:
        """Keep them in *store*."""
        self._store = store
        self._threads: list[ConversationThread] = []

    async def start(self, number: int) -> None:
        """Make *number* conversations."""
        await self._store.open()
        for first in range(0, number, TOGETHER):
            places = range(first, min(first + TOGETHER, number))
            made = await asyncio.gather(*(self._store.thread(f"t{place}") for place in places))
            self._threads.extend(made)

    async def append(self, place: int, texts: Sequence[Text]) -> None:
        """Append *texts* to one of them."""
        await self._threads[place].add_messages([*map(message_of, texts)])

    async def last(self, place: int) -> Sequence[Message]:
        """Return its newest messages."""
        return await self._threads[place].get_messages(last=LAST)

    async def stop(self) -> None:
        """Release everything."""
        await self._store.close()


if __name__ == "__main__":
    store = SQLiteStore(Path(sys.argv[1]) / "foldline.db")
    serve(Crowd(Threads(store), int(sys.argv[2])))
