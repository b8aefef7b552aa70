"""What the tests of many folds share, light enough for the processes that are killed."""

import asyncio
import sys
from datetime import UTC, datetime
from typing import Any

from foldline.agent.reducer import HistoryReducer
from foldline.agent.refold import FoldStep, refold
from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.store import SQLiteStore


NOW = datetime(2026, 2, 1, tzinfo=UTC)
"""When every reduction was made."""

CONFIG = HistoryReductionConfig(target_count=4, summarization_threshold=2)
"""The configuration that threads are folded for."""

EARLIER = HistoryReductionConfig(
    target_count=3, summarization_threshold=1, use_single_summary=False
)
"""The one that they were folded with before."""


def said(exchanges: int) -> list[Message]:
    """Return a conversation with so many questions and answers."""
    found: list[Message] = []
    for number in range(exchanges):
        found.append(Message.user(f"what is in src/part_{number}.py? " + "why " * 20))
        found.append(Message.assistant(f"the function number {number}. " + "so " * 20))
    return found


def reducer(config: HistoryReductionConfig = CONFIG, **options: Any) -> HistoryReducer:
    """Return a reducer whose reductions all have one time."""
    return HistoryReducer(config, clock=lambda: NOW, **options)


async def filled(store: ThreadStore, count: int) -> None:
    """Make threads, of which every third is short, and fold the others with another configuration."""
    before = reducer(EARLIER)
    for number in range(count):
        thread = await store.thread(f"t{number:05d}")
        await thread.add_messages(said(3 if number % 3 == 2 else 8))
    await refold(store, before)


async def run(path: str) -> None:
    """Fold the threads in the file at *path*, and tell of each."""

    def tell(step: FoldStep) -> None:
        sys.stdout.write(f"{step.outcome} {step.key.id}\n")
        sys.stdout.flush()

    async with SQLiteStore(path, durability="relaxed") as store:
        await refold(store, reducer(), on_step=tell)


async def stored(store: ThreadStore) -> dict[str, tuple[int, list[bytes]]]:
    """Return how often each thread was folded, and every reduction of it."""
    return {
        thread.id: (
            thread.head.folds,
            [one.to_json() for one in await thread.reductions()],
        )
        async for thread in store.threads()
    }


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1]))
