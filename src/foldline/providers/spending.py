"""What summarizers spend, told to whoever asked for the summary."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from foldline.history.messages import Usage


__all__ = ["metered", "spend"]


_METER: ContextVar[list[Usage] | None] = ContextVar("foldline_spending", default=None)


def spend(usage: Usage | None) -> None:
    """
    Note what a vendor counted for one call of a summarizer; without a meter nothing happens.

    A summarizer of one's own may call it too, also for a call whose text is of no use.
    """
    meter = _METER.get()
    if meter is not None and usage is not None:
        meter.append(usage)


@contextmanager
def metered() -> Generator[list[Usage], None, None]:
    """
    Give the list that `spend` fills as long as the context lasts, in this task and those it starts.
    """
    meter: list[Usage] = []
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)
