"""Where a store was opened: the only place where it works."""

import asyncio
import os

from foldline.errors import StoreError


__all__ = ["Home"]


class Home:
    """
    The process, and the event loop if that counts, in which a store was opened.

    A fork takes no threads along, and shares sockets and the event loop's list of them.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Be this process, and *loop* if the store belongs to one."""
        self._process = os.getpid()
        self._loop = loop

    @property
    def is_same_process(self) -> bool:
        """Whether this is the process."""
        return os.getpid() == self._process

    @property
    def is_lost(self) -> bool:
        """Whether nothing here can close what was opened there, so that it is left to itself."""
        return not self.is_same_process or (self._loop is not None and self._loop.is_closed())

    def check(self) -> None:
        """
        Check that this is the place.

        Raises:
            StoreError: It is another one.
        """
        if os.getpid() != self._process:
            message = "the store was opened in another process: open one of your own after the fork"
            raise StoreError(message)
        if self._loop is not None and asyncio.get_running_loop() is not self._loop:
            message = (
                "the store was opened in another event loop: open one of your own in this loop"
            )
            raise StoreError(message)
