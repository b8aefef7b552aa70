"""
The prefix meter: how much of the request before a request begins with.

Vendors' prompt caches serve what a request has in common with an earlier one from its first token
on. So messages are compared whole, by digest, from the front; the first that differs ends it.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate

from msgspec import Struct

from foldline.history.digest import message_digest
from foldline.history.messages import Message


__all__ = ["PrefixMeter", "PrefixReading"]


class PrefixReading(Struct, frozen=True, kw_only=True):
    """What one request has in common with the one before."""

    tokens: int
    kept: int
    """The tokens of the messages that it begins with, as the request before did."""

    kept_messages: int
    prior: int
    """The tokens of the request before; 0 for the first one."""

    broke: bool
    """Whether the request before is not the beginning of this one."""

    @property
    def fresh(self) -> int:
        """The tokens that no cache can serve."""
        return self.tokens - self.kept


class PrefixMeter:
    """Reads a sequence of requests, one after the other."""

    def __init__(self, size: Callable[[Message], int]) -> None:
        """Measure messages with *size*, in tokens."""
        self._size = size
        self._request: Sequence[Message] = ()
        self._tokens: list[int] = [0]

    def read(self, request: Sequence[Message]) -> PrefixReading:
        """Return what *request* has in common with the one that was read before it."""
        before, sums = self._request, self._tokens
        kept = _common(before, request)
        fresh = accumulate(map(self._size, request[kept:]), initial=sums[kept])
        self._request = request
        self._tokens = [*sums[:kept], *fresh]
        return PrefixReading(
            tokens=self._tokens[-1],
            kept=sums[kept],
            kept_messages=kept,
            prior=sums[-1],
            broke=kept < len(before),
        )


def _common(before: Sequence[Message], after: Sequence[Message]) -> int:
    for index, (one, other) in enumerate(zip(before, after, strict=False)):
        if one is not other and message_digest(one) != message_digest(other):
            return index
    return min(len(before), len(after))
