"""
The prefix meter: how much of the request before a request begins with.

Vendors' prompt caches serve what a request has in common with an earlier one from its first token
on. So messages are compared whole, by digest, from the front; the first that differs ends it.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import takewhile

from msgspec import Struct

from foldline.history.digest import EMPTY_DIGEST, chain_digest, message_digest
from foldline.history.messages import Message


class PrefixReading(Struct, frozen=True, kw_only=True):
    """What one request has in common with the one before."""

    tokens: int
    kept: int
    """The tokens of the messages that it begins with, as the request before did."""

    prior: int
    """The tokens of the request before; 0 for the first one."""

    broke: bool
    """Whether the request before is not the beginning of this one."""

    @property
    def fresh(self) -> int:
        """The tokens that no cache can serve."""
        return self.tokens - self.kept

    @property
    def resent(self) -> int:
        """The tokens that the request before had at the same place, and a cache does not serve."""
        return min(self.prior, self.tokens) - self.kept if self.broke else 0


class PrefixMark(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of a request, to recognize it at the beginning of another one."""

    count: int = 0
    """How many messages it has."""

    tokens: int = 0
    """Their tokens."""

    digest: bytes = EMPTY_DIGEST
    """The chained digest of all of them, system messages included."""

    system: bytes = EMPTY_DIGEST
    """That of the system messages which it begins with."""


class PrefixMeter:
    """Reads a sequence of requests, one after the other; only new messages are hashed."""

    def __init__(self, size: Callable[[Message], int], *, marks: bool = True) -> None:
        """Measure messages with *size*, in tokens; without *marks* none is hashed for the mark."""
        self._size, self._marks = size, marks
        self._request: Sequence[Message] = ()
        self.mark = PrefixMark()
        """The mark of the last request."""

    def follow(self, mark: PrefixMark, request: Sequence[Message]) -> None:
        """Go on with *request* after *mark*; if it begins otherwise, from its system messages."""
        known: Sequence[Message] = request[: mark.count]
        if _chained(known) != mark.digest:
            known = _front(request)
            if _chained(known) != mark.system:
                known = ()
        self._request, self.mark = known, mark

    def read(self, request: Sequence[Message]) -> PrefixReading:
        """Return what *request* has in common with the one that was read before it."""
        before, prior = self._request, self.mark
        kept = 0
        for one, other in zip(before, request, strict=False):
            if one is not other and message_digest(one) != message_digest(other):
                break
            kept += 1
        broke = kept < prior.count
        digest, system = EMPTY_DIGEST if broke else prior.digest, prior.system
        if self._marks:
            digest = reduce(chain_digest, request[0 if broke else kept :], digest)
            system = system if kept and not broke else front_digest(request)
        self._request = request
        # Nothing is counted again but what a break has left of the request before.
        held = sum(map(self._size, request[:kept])) if broke else prior.tokens
        tokens = held + sum(map(self._size, request[kept:]))
        self.mark = PrefixMark(count=len(request), tokens=tokens, digest=digest, system=system)
        return PrefixReading(tokens=tokens, kept=held, prior=prior.tokens, broke=broke)


def front_digest(request: Iterable[Message]) -> bytes:
    """Return the chained digest of the system messages that *request* begins with."""
    return _chained(_front(request))


def _front(request: Iterable[Message]) -> list[Message]:
    return list(takewhile(lambda message: message.role == "system", request))


def _chained(messages: Iterable[Message]) -> bytes:
    return reduce(chain_digest, messages, EMPTY_DIGEST)
