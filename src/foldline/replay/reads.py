"""What summarizers were given to read, message by message."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from foldline.history.messages import Message
from foldline.providers.summarizer import Summarizer
from foldline.reduction.request import SummaryRequest


__all__ = ["ReadingLog", "spans"]


class ReadingLog:
    """A summarizer that passes every request on to another and notes which messages it holds."""

    def __init__(self, summarizer: Summarizer) -> None:
        """Note what *summarizer* reads; its name stays, so that its summaries stay valid."""
        self._summarizer = summarizer
        self._positions: dict[int, int] = {}
        self._messages: list[Message] = []
        self._counts: Counter[int] = Counter()
        self._news: list[int] = []

    @property
    def name(self) -> str:
        """The name of the summarizer that is asked."""
        return self._summarizer.name

    async def summarize(self, request: SummaryRequest) -> str:
        """Note the messages of *request* and pass it on."""
        positions = [self._positions[id(message)] for message in request.messages]
        self._counts.update(positions)
        self._news.extend(positions)
        return await self._summarizer.summarize(request)

    def follow(self, message: Message) -> None:
        """Know *message*, the next one of the history, by its position."""
        if message.role != "system":
            # Kept alive, so that its identity is not given to another object.
            self._positions[id(message)] = len(self._messages)
            self._messages.append(message)

    def take(self) -> tuple[int, ...]:
        """Return the positions that were read since this was asked last."""
        news, self._news = self._news, []
        return tuple(news)

    @property
    def most(self) -> int:
        """How often the message was read that was read most often."""
        return max(self._counts.values(), default=0)


def spans(positions: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return *positions* as ranges from a first one up to but not including a last one."""
    ordered = sorted(set(positions))
    if not ordered:
        return ()
    edges = [(one + 1, other) for one, other in pairwise(ordered) if other > one + 1]
    starts = [ordered[0], *(start for _, start in edges)]
    ends = [*(end for end, _ in edges), ordered[-1] + 1]
    return tuple(zip(starts, ends, strict=True))
