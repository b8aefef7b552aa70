"""One task at a time for the same work; others wait for it first."""

import asyncio
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


__all__ = ["SingleFlight"]


class SingleFlight:
    """
    Lets one task at a time work on each key; the others wait for it.

    Tasks of different event loops do not wait for each other. Unused keys are forgotten.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[
            tuple[asyncio.AbstractEventLoop, Hashable], asyncio.Lock
        ] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def alone(self, key: Hashable) -> AsyncGenerator[None, None]:
        """Wait until no other task of this loop works on *key*, and keep others out meanwhile."""
        place = (asyncio.get_running_loop(), key)
        lock = self._locks.get(place)
        if lock is None:
            lock = self._locks.setdefault(place, asyncio.Lock())
        async with lock:
            yield
