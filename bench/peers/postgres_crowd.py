"""Many threads of foldline on PostgreSQL: `python -m bench.peers.postgres_crowd DSN NUMBER`."""

import asyncio
import sys
from collections.abc import Sequence

from bench.peers.child import serve
from bench.peers.crowd import LAST, Crowd, Text
from foldline.history.messages import Message
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.thread import ConversationThread


_TOGETHER = 100


class Threads:
    """One thread for each conversation, in a store with the options that it has by itself."""

    def __init__(self, dsn: str) -> None:
        """Keep them in the database at *dsn*."""
        self._store = PostgresStore(dsn)
        self._threads: list[ConversationThread] = []

    async def start(self, number: int) -> None:
        """Make *number* conversations."""
        await self._store.open()
        for first in range(0, number, _TOGETHER):
            places = range(first, min(first + _TOGETHER, number))
            made = await asyncio.gather(*(self._store.thread(f"t{place}") for place in places))
            self._threads.extend(made)

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
    serve(Crowd(Threads(sys.argv[1]), int(sys.argv[2])).calls())
