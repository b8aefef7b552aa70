"""Those who want to run a turn in this process, one behind the other."""

import asyncio
from contextlib import suppress
from threading import Lock

from foldline.threads.key import ThreadKey


# How many seconds pass between two looks at whether those in front are still there.
_PAUSE = 0.5


class Waiter:
    """One task in a line."""

    def __init__(self, key: ThreadKey, line: list["Waiter"]) -> None:
        self.key = key
        self._line = line
        self._event = asyncio.Event()
        self.loop = asyncio.get_running_loop()

    @property
    def is_first(self) -> bool:
        """Whether it is the first of those whose loops run, so that they can use their places."""
        line = self._line
        return line[0] is self or next(one for one in tuple(line) if one.loop.is_running()) is self

    async def becomes_first(self, seconds: float) -> bool:
        """Wait until it is the first, but no longer than *seconds*; whether it is."""
        until = self.loop.time() + seconds
        while True:
            self.clear()
            left = until - self.loop.time()
            if self.is_first or left <= 0:
                return self.is_first
            await self.wait(min(left, _PAUSE))

    def clear(self) -> None:
        """Forget what has happened: look at the thread after that."""
        self._event.clear()

    async def wait(self, seconds: float) -> None:
        """Wait until a turn has ended or somebody has left, but no longer than *seconds*."""
        await pause(self._event, seconds)

    def wake(self) -> None:
        """End the waiting, from whichever thread."""
        # Nobody waits in a loop that is closed.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._event.set)


class Waiters:
    """The lines, by the thread that they are for."""

    def __init__(self) -> None:
        self._lines: dict[ThreadKey, list[Waiter]] = {}
        self._lock = Lock()

    def join(self, key: ThreadKey) -> Waiter:
        """Return the last one in the line for the thread *key*, until it leaves."""
        with self._lock:
            line = self._lines.setdefault(key, [])
            one = Waiter(key, line)
            line.append(one)
        return one

    def leave(self, one: Waiter) -> None:
        """Take *one* out of its line, and let the next one look."""
        with self._lock:
            line = self._lines[one.key]
            line.remove(one)
            if not line:
                del self._lines[one.key]
        if line:
            self.wake(one.key)

    def wake(self, key: ThreadKey) -> None:
        """Tell the first one in the line for the thread *key* to look again; the others look at times."""
        for one in tuple(self._lines.get(key, ())):
            if one.loop.is_running():
                one.wake()
                return


async def pause(event: asyncio.Event, seconds: float) -> None:
    """Wait until *event* is set, but no longer than *seconds*."""
    # `wait_for` loses a cancellation that comes together with the event, before Python 3.12.
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
