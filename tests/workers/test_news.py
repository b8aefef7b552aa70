"""Who waits for news of a turn, and how waiting ends."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from procrastinate import PsycopgConnector
from procrastinate.connector import Notify

from foldline.threads.key import ThreadKey
from foldline.workers.news import News


class ForgetfulConnector(PsycopgConnector):
    """A driver that loses its first cancellation, as one does that comes with a notification."""

    def __init__(self) -> None:
        super().__init__()
        self.listens = asyncio.Event()

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        del on_notification, channels
        self.listens.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()


async def test_closing_ends_the_listening() -> None:
    """A notification that comes while a program closes its workers keeps nobody listening."""
    connector = ForgetfulConnector()
    news = News(connector, "foldline")
    with news.waiting(ThreadKey("default", "t"), "turn"):
        await connector.listens.wait()
    listening = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait_for(news.close(), 30)

    assert [one.done() for one in listening] == [True]


async def test_workers_that_are_not_open_hear_nothing() -> None:
    """Who waits is told so by the store, and nothing more is raised where nobody looks."""
    news = News(PsycopgConnector(), "foldline")
    with news.waiting(ThreadKey("default", "t"), "turn"):
        listening = asyncio.all_tasks() - {asyncio.current_task()}
        done, _ = await asyncio.wait(listening, timeout=30)

    assert [one.exception() for one in done] == [None]
