"""A SQLite store that is opened for one piece of work."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from foldline.threads.stores.sqlite.store import SQLiteStore


T = TypeVar("T")


def use(path: Path, work: Callable[[SQLiteStore], Awaitable[T]]) -> T:
    """Open the store at *path* and return what *work* returns."""

    async def live() -> T:
        async with SQLiteStore(path) as store:
            return await work(store)

    return asyncio.run(live())
