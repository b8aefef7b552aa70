"""How fast a vendor may be asked: so many requests, and so many tokens, in any minute."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from types import MappingProxyType, UnionType
from typing import Final, Never

from msgspec import Struct

from foldline.checks import expect, expect_whole
from foldline.errors import ConfigError


NO_LIMITS: Mapping[str, Never] = MappingProxyType({})
"""What limits no vendor."""

_MINUTE: Final = 60.0


class RateLimit(Struct, frozen=True, kw_only=True):
    """How much a vendor may be asked in any 60 seconds."""

    requests: int | None = None
    """The most requests; None for no limit."""

    tokens: int | None = None
    """The most tokens, read and written; None for no limit. What alone is more goes by itself."""

    def __post_init__(self) -> None:
        expect_whole("requests", self.requests, 1, optional=True)
        expect_whole("tokens", self.tokens, 1, optional=True)
        if self.requests is None and self.tokens is None:
            raise ConfigError("a rate limit needs requests or tokens, got neither")

    def share(self, parts: int) -> "RateLimit":
        """Return what each of so many *parts* may ask, at least one of what is limited."""
        shares = (one and max(1, one // parts) for one in (self.requests, self.tokens))
        return RateLimit(**dict(zip(("requests", "tokens"), shares, strict=True)))


class Spent(Struct, frozen=True, kw_only=True):
    """What was asked at one time, in seconds."""

    at: float
    requests: int
    tokens: int


class Pace:
    """Lets work through as fast as a limit allows, in the order in which it came."""

    def __init__(
        self,
        limit: RateLimit,
        *,
        timer: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Keep within *limit*; *timer* gives the time in seconds, and *sleep* waits so many."""
        self._limit = limit
        self._timer, self._sleep = timer, sleep
        self._spent: deque[Spent] = deque()
        self._turn = asyncio.Lock()

    async def take(self, tokens: int) -> Spent:
        """Wait until one request of about so many *tokens* fits; it counts from then on."""
        async with self._turn:
            while (seconds := self._wait(tokens)) > 0:
                await self._sleep(seconds)
            return self.add(1, tokens)

    def add(self, requests: int, tokens: int) -> Spent:
        """Count what was asked without waiting for it."""
        spent = Spent(at=self._timer(), requests=requests, tokens=tokens)
        self._spent.append(spent)
        return spent

    def settle(self, spent: Spent, requests: int, tokens: int) -> None:
        """Count what was really asked in the place of *spent*, which `take` has returned."""
        if spent in self._spent:
            place = self._spent.index(spent)
            self._spent[place] = Spent(at=spent.at, requests=requests, tokens=tokens)

    def _wait(self, tokens: int) -> float:
        """Return after how many seconds more may fit; none if it fits now."""
        now, spent, limit = self._timer(), self._spent, self._limit
        while spent and spent[0].at <= now - _MINUTE:
            spent.popleft()
        requests = sum(one.requests for one in spent)
        known = sum(one.tokens for one in spent)
        is_full = limit.requests is not None and requests + 1 > limit.requests
        if limit.tokens is not None and known and known + tokens > limit.tokens:
            is_full = True
        return spent[0].at + _MINUTE - now if is_full and spent else 0.0


def check_limits(limits: Mapping[str, object], kind: type | UnionType) -> None:
    """Raise ConfigError unless *limits* has one of *kind* for each vendor."""
    expect("limits", limits, Mapping)
    for vendor, one in limits.items():
        expect(f"limits[{vendor!r}]", one, kind)
