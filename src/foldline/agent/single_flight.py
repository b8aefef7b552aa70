"""One at a time: whoever wants to do what somebody else is doing already waits for it first."""

import asyncio
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


__all__ = ["SingleFlight"]


class SingleFlight:
    """
    Lets one task through at a time for each key; the next one goes when it comes out.

    Tasks of different event loops do not wait for each other. A key that nobody waits for and
    nobody has passed with is forgotten.
    """

    def __init__(self) -> None:
        """Know no key yet."""
        self._locks: WeakValueDictionary[
            tuple[asyncio.AbstractEventLoop, Hashable], asyncio.Lock
        ] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def alone(self, key: Hashable) -> AsyncGenerator[None, None]:
        """Wait until no other task of this loop is inside with *key*, and be the one."""
        place = (asyncio.get_running_loop(), key)
        lock = self._locks.get(place)
        if lock is None:
            lock = self._locks.setdefault(place, asyncio.Lock())
        async with lock:
            yield
