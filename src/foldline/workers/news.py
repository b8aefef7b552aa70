"""Who waits for what in this process, and the channel of PostgreSQL that wakes them."""

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from procrastinate import PsycopgConnector
from procrastinate.exceptions import AppNotOpen, ConnectorException

from foldline.threads.key import ThreadKey
from foldline.workers.post import post_key
from foldline.workers.queue import check_cancelled


_LOG = logging.getLogger("foldline")
_PAUSE: Final = 0.5


class News:
    """Says, and hears, of which turn there is something new to read; it only saves time."""

    def __init__(self, connector: PsycopgConnector, channel: str) -> None:
        self._connector = connector
        self._channel = channel
        self._waiting: dict[str, list[asyncio.Event]] = {}
        self._listening: asyncio.Task[None] | None = None
        self._telling: set[asyncio.Task[None]] = set()

    def tell(self, key: ThreadKey, turn_id: str) -> None:
        """Wake those who wait for a turn, in all processes; nobody waits until that is done."""
        task = asyncio.create_task(self._tell(post_key(key, turn_id).id))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, name: str) -> None:
        with suppress(ConnectorException):
            await self._connector.execute_query_async(
                "SELECT pg_notify(%(channel)s, %(name)s)", channel=self._channel, name=name
            )

    @contextmanager
    def waiting(self, key: ThreadKey, turn_id: str) -> Generator[asyncio.Event]:
        """Give an event that is set when there may be something new to read of a turn."""
        if self._listening is None or self._listening.done():
            self._listening = asyncio.create_task(self._listen())
        name, event = post_key(key, turn_id).id, asyncio.Event()
        self._waiting.setdefault(name, []).append(event)
        try:
            yield event
        finally:
            self._waiting[name].remove(event)
            if not self._waiting[name]:
                del self._waiting[name]

    async def _listen(self) -> None:
        while True:
            try:
                await self._connector.listen_notify(self._hear, [self._channel])
            except AppNotOpen:
                # The store tells those who wait.
                return
            except ConnectorException as error:
                check_cancelled()
                _LOG.debug("nobody is woken (%s)", type(error.__cause__).__name__)
            await asyncio.sleep(_PAUSE)

    async def _hear(self, *, channel: str, payload: str) -> None:
        del channel
        for event in self._waiting.get(payload, ()):
            event.set()

    async def close(self) -> None:
        """Stop listening."""
        listening, self._listening = self._listening, None
        while listening is not None and not listening.done():
            # Before Python 3.12 a cancellation that comes with a notification is lost in the driver.
            listening.cancel()
            await asyncio.wait([listening], timeout=_PAUSE)
        if self._telling:
            await asyncio.wait(self._telling)
