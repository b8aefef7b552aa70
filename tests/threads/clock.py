"""Clocks of the tests."""

from datetime import datetime, timedelta
from time import monotonic

from tests.threads.canaries import NOW


DAY = timedelta(days=1)


def hasty() -> float:
    """Return the seconds of a clock that goes so fast that every lease has run out when it is read."""
    return 1e9 * monotonic()


class Clock:
    """Tells the time that it was set to."""

    def __init__(self) -> None:
        """Begin with the time of all tests."""
        self.now = NOW

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now


class Hourly(Clock):
    """A clock that moves on one hour at each question."""

    def __call__(self) -> datetime:
        """Return the time, an hour later than before."""
        self.now += timedelta(hours=1)
        return self.now
