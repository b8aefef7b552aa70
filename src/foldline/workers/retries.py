"""Which errors of a job are worth another try, and when it comes."""

import asyncio
from typing import Final

from msgspec import Struct

from foldline.checks import expect, expect_seconds, expect_whole
from foldline.errors import (
    ConfigError,
    ContextOverflowError,
    ModelError,
    StoreCorruptError,
    StoreError,
    StoreKeyError,
    StoreVersionError,
    SummarizerError,
    ThreadConflictError,
    TurnRunningError,
)


# Of the answers of a vendor that are no answer: too slow, in conflict, too early, too many requests.
_PASSING: Final = frozenset({408, 409, 425, 429})
_FAULT: Final = 500
_LASTING: Final = (ContextOverflowError, StoreCorruptError, StoreKeyError, StoreVersionError)
_OTHERS: Final = (StoreError, SummarizerError, ThreadConflictError, TurnRunningError, OSError)
_ENDS: Final = 8


def is_passing(error: BaseException) -> bool:
    """
    Whether the same call may succeed later.

    It may after a vendor's 429, 5xx or silence, when the store failed or was busy, and when somebody
    else was faster. Mistakes of the caller, wrong keys, damage and unknown errors stay.
    """
    if isinstance(error, _LASTING):
        return False
    if isinstance(error, ModelError):
        return error.status is None or error.status in _PASSING or error.status >= _FAULT
    return isinstance(error, _OTHERS)


def _is_error(one: object) -> bool:
    return isinstance(one, type) and issubclass(one, Exception)


class Retries(Struct, frozen=True, kw_only=True):
    """
    How often a job is tried, and how long the pauses are.

    A job that waits holds the lock of its thread: what was posted after it comes after it. So the
    pauses add up to two minutes at most by default.
    """

    most: int = 8
    """How often a job is tried in all; a worker that stopped or died with it counts too."""

    first: float = 1.0
    """The seconds before the second try; each pause is twice as long as the one before."""

    longest: float = 30.0
    """The most seconds of a pause."""

    passing: tuple[type[Exception], ...] = ()
    """Which errors pass beside those of `is_passing`: those of a model of yours, perhaps."""

    def __post_init__(self) -> None:
        expect_whole("most", self.most, 1)
        expect_seconds("first", self.first)
        expect_seconds("longest", self.longest)
        expect("passing", self.passing, tuple)
        if not all(map(_is_error, self.passing)):
            message = "passing must be a tuple of classes of exceptions, such as (MyError,)"
            raise ConfigError(message)

    @property
    def most_workers(self) -> int:
        """How many workers may stop or die with a job: some, also if an error ends it at once."""
        return max(self.most, _ENDS)

    def pause(self, error: BaseException, *, tried: int, job: int = 0) -> float | None:
        """
        Return the seconds before the next try; None if there is none.

        Args:
            error: What ended the last try; a shutdown is a cancellation.
            tried: How often the job was tried before that.
            job: Its number, so that many jobs that failed at once do not come back at once.
        """
        if isinstance(error, asyncio.CancelledError):
            return 0.0 if tried + 1 < self.most_workers else None
        if tried + 1 >= self.most or not (is_passing(error) or isinstance(error, self.passing)):
            return None
        longest = min(self.longest, self.first * 2.0**tried)
        return longest * (0.5 + job * 0.61803398875 % 0.5)
