"""How much SQLite may do in the thread of the caller."""

import asyncio
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Final


if sys.platform == "linux":
    from resource import RUSAGE_THREAD, getrusage

    def _waits() -> int:
        """Return how often this thread has waited for something, a processor left out."""
        return getrusage(RUSAGE_THREAD).ru_nvcsw

else:
    # Whatever took long has waited.
    _waits = count().__next__

# So long a call came from the disk, not from memory, if it has waited; once it may have been chance.
_LONG: Final = 0.002
_MOST_LONG: Final = 2
_REST: Final = 1.0
# A call in place lets no other task run, so all tasks together make no more in a turn of the loop.
_MOST_CALLS: Final = 32
_MOST_SECONDS: Final = 0.001
# A turn that takes longer was in a loop that has ended.
_TURN: Final = 0.1


class Pace:
    """
    Says when calls in place rest, and when the event loop is due; they are made one at a time.

    What tasks do in one turn of the loop counts together: none is made once the turn is over, so that
    those of a crowd are left to a thread, which makes them in one go.
    A disk that was slow twice in a row is left alone for a second. A busy machine is not: there a
    call takes long without having waited.
    """

    def __init__(
        self, *, clock: Callable[[], float] = time.perf_counter, waits: Callable[[], int] = _waits
    ) -> None:
        """Take seconds from *clock*; *waits* returns how often the calling thread has waited."""
        self._clock = clock
        self._waits = waits
        self._started = self._ended = 0.0
        self._waited = 0
        # How many calls there were in this turn of the event loop, and what they took.
        self._calls = 0
        self._seconds = 0.0
        self._long = 0
        self._rests_until = 0.0
        self.is_turn_over = False
        """Whether the event loop should run other tasks now, since calls in place do not suspend."""

    def begin(self) -> bool:
        """Whether a call may be made now; if so, `end` comes after it."""
        started = self._started = self._clock()
        if self.is_turn_over and started < self._ended + _TURN:
            return False
        if started < self._rests_until:
            return False
        if self._long:
            self._waited = self._waits()
        return True

    def end(self) -> None:
        """Note what the call took."""
        now = self._ended = self._clock()
        seconds = now - self._started
        self._calls += 1
        self._seconds += seconds
        if seconds <= _LONG:
            self._long = 0
        elif not self._long or self._waits() > self._waited:
            self._long += 1
            if self._long == _MOST_LONG:
                self._long = 0
                self._rests_until = now + _REST
        self.is_turn_over = self._calls >= _MOST_CALLS or self._seconds >= _MOST_SECONDS

    async def next_turn(self) -> None:
        """Let other tasks run, and begin another turn of the loop."""
        asyncio.get_running_loop().call_soon(self.begin_turn)
        await asyncio.sleep(0)

    def begin_turn(self) -> None:
        """Begin another turn of the event loop."""
        self._calls, self._seconds, self.is_turn_over = 0, 0.0, False
