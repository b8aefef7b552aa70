"""How long a server is waited for: a time limit that a busy event loop does not use up."""

import asyncio
from collections.abc import Callable
from typing import Final, Self


__all__ = ["PARTS", "Patience"]


PARTS: Final = 8
"""
In how many parts a time limit is waited for.

While the event loop is busy with other things no more than one of them passes, and an answer that has
come meanwhile is read in the next.
"""


class Patience:
    """A context with a time limit: a function is called if it is still open then."""

    def __init__(self, seconds: float, give_up: Callable[[], None]) -> None:
        self.is_over = False
        self._give_up = give_up
        self._loop = asyncio.get_running_loop()
        self._part = seconds / PARTS
        self._left = PARTS

    def __enter__(self) -> Self:
        self._timer = self._loop.call_later(self._part, self._pass)
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _pass(self) -> None:
        self._left -= 1
        if self._left:
            self._timer = self._loop.call_later(self._part, self._pass)
        else:
            self.is_over = True
            self._give_up()
