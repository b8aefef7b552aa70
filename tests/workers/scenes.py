"""Agents, stores and workers of the tests."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

from foldline.agent.agent import Agent
from foldline.history.messages import Message
from foldline.testing.model import ModelStep, ScriptedModel
from foldline.threads.store import ThreadStore
from foldline.workers.workers import Workers


__all__ = ["agent_of", "listening", "said", "working"]


def agent_of(*steps: ModelStep, repeat: ModelStep | None = None) -> tuple[Agent, ScriptedModel]:
    """Return an agent that says *steps*, and its model."""
    model = ScriptedModel(steps, repeat=repeat)
    return Agent(model), model


async def said(store: ThreadStore, thread_id: str) -> list[tuple[str, str]]:
    """Return who said what on a thread."""
    found = await store.find(thread_id)
    messages: Sequence[Message] = [] if found is None else await found.get_messages()
    return [(one.role, one.text) for one in messages]


@asynccontextmanager
async def working(workers: Workers, *, concurrency: int = 4) -> AsyncGenerator[Workers]:
    """Run *workers* in this process, as long as the context lasts."""
    async with workers:
        task = asyncio.create_task(workers.run(concurrency=concurrency, patience=0.1))
        try:
            yield workers
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def listening(text: str) -> AsyncGenerator[asyncio.Event]:
    """Give an event that is set when *text* is logged."""
    heard = asyncio.Event()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if text in record.getMessage():
                heard.set()

    logger, listener = logging.getLogger("foldline"), Listener()
    logger.addHandler(listener)
    try:
        yield heard
    finally:
        logger.removeHandler(listener)
