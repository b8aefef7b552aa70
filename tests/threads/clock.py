"""A clock that the tests set."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from foldline.threads.store import ThreadStore
from tests.threads.canaries import NOW


DAY = timedelta(days=1)


class Clock:
    """Tells the time that it was set to."""

    def __init__(self) -> None:
        """Begin with the time of all tests."""
        self.now = NOW

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now


Story = Callable[[ThreadStore, Clock], Awaitable[None]]
