"""The process and the event loop in which a store was opened; it works in no others."""

import asyncio
import os
from typing import TypeVar

from foldline.errors import StoreError


_Link = TypeVar("_Link")


def opened(link: _Link | None) -> _Link:
    """Return what an open store has; raise StoreError for None."""
    if link is None:
        raise StoreError(
            "the store is not open: use it inside `async with`, or between `open()` and `close()`"
        )
    return link


class Home:
    """The process, and for some stores the event loop, in which a store was opened."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        # A forked process has no threads, and shares sockets and the list of them with its parent.
        self._process = os.getpid()
        self._loop = loop

    @property
    def is_same_process(self) -> bool:
        """Whether this is the process."""
        return os.getpid() == self._process

    @property
    def is_lost(self) -> bool:
        """Whether it cannot be closed from here, so that it is left alone."""
        return not self.is_same_process or (self._loop is not None and self._loop.is_closed())

    def check(self) -> None:
        """Raise StoreError in any other process or event loop."""
        if os.getpid() != self._process:
            message = "the store was opened in another process: open one of your own after the fork"
            raise StoreError(message)
        if self._loop is not None and asyncio.get_running_loop() is not self._loop:
            raise StoreError(
                "the store was opened in another event loop: open one of your own in this loop"
            )
