"""Random bytes for the ids of commits."""

import os
from collections import deque
from typing import Final

from foldline.threads.change import COMMIT_ID_SIZE


_AT_ONCE: Final = 512


class RandomBytes:
    """
    Random bytes of the system; those of the size of a commit's id are asked for many at once.

    The system call lets another thread run, so that a loop that commits often would stop for the
    writer of its store at each. Two threads or processes never get the same ones.
    """

    def __init__(self) -> None:
        self._process = 0
        # Only what is one step in every thread is done to it.
        self._pieces: deque[bytes] = deque()

    def __call__(self, size: int) -> bytes:
        """Return *size* bytes."""
        if size != COMMIT_ID_SIZE:
            return os.urandom(size)
        process = os.getpid()
        if process != self._process:
            # What a fork has copied is left to the parent.
            self._pieces.clear()
            self._process = process
        while True:
            try:
                return self._pieces.popleft()
            except IndexError:
                drawn = os.urandom(COMMIT_ID_SIZE * _AT_ONCE)
                self._pieces.extend(
                    drawn[at : at + COMMIT_ID_SIZE] for at in range(0, len(drawn), COMMIT_ID_SIZE)
                )
