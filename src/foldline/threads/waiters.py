"""Those who wait in this process for the end of somebody's turn."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Lock

from foldline.threads.key import ThreadKey


__all__ = ["Waiter", "Waiters"]


class Waiter:
    """One task that waits."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def clear(self) -> None:
        """Forget what has happened: look at the thread after that."""
        self._event.clear()

    async def wait(self, seconds: float) -> None:
        """Wait until a turn has ended, but no longer than *seconds*."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)

    def wake(self) -> None:
        """End the waiting, from whichever thread."""
        # Nobody waits in a loop that is closed.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._event.set)


class Waiters:
    """The tasks that wait, by the thread that they wait for."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._waiting: dict[ThreadKey, list[Waiter]] = {}
        self._lock = Lock()

    @contextmanager
    def waiter(self, key: ThreadKey) -> Generator[Waiter, None, None]:
        """Give what is woken at the end of each turn on the thread *key*."""
        one = Waiter()
        with self._lock:
            self._waiting.setdefault(key, []).append(one)
        try:
            yield one
        finally:
            with self._lock:
                left = [other for other in self._waiting[key] if other is not one]
                if left:
                    self._waiting[key] = left
                else:
                    del self._waiting[key]

    def wake(self, key: ThreadKey) -> None:
        """Tell those who wait for the thread *key* that a turn has ended."""
        if self._waiting:
            with self._lock:
                waiting = self._waiting.get(key, ())
            for one in waiting:
                one.wake()
