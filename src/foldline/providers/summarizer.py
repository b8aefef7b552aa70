"""What writes summaries, and what that costs."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from foldline.history.messages import Usage
from foldline.reduction.request import SummaryRequest


__all__ = ["Summarizer", "metered", "spend"]


_METER: ContextVar[list[Usage] | None] = ContextVar("foldline_spending", default=None)


@runtime_checkable
class Summarizer(Protocol):
    """
    Turns a prefix of a history into text: a model, or the offline digest.

    A request may come more than once: a failure, or a text that breaks the contract of a summary,
    is followed by another attempt.
    """

    @property
    def name(self) -> str:
        """The identity of the summarizer; a reduction made under another name is not reused."""
        ...

    async def summarize(self, request: SummaryRequest) -> str:
        """
        Return a text that represents the request's earlier summaries and messages.

        Raises:
            Exception: Any failure; the reducer tries again, then the next in its chain.
        """
        ...


def spend(usage: Usage | None) -> None:
    """
    Record what a vendor counted for one call of a summarizer; without a meter nothing happens.

    A custom summarizer may call it too, also for a call whose text is useless.
    """
    meter = _METER.get()
    if meter is not None and usage is not None:
        meter.append(usage)


@contextmanager
def metered() -> Generator[list[Usage], None, None]:
    """Give a list that `spend` fills while the context lasts, in this task and those it starts."""
    meter: list[Usage] = []
    token = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(token)
