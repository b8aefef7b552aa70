"""
What a vendor charges for the tokens of a model, and what one request costs.

Sizes are tokens and amounts are US dollars. A price is for a million tokens, as vendors print it.
"""

from msgspec import Struct
from msgspec.structs import replace

from foldline.checks import expect, expect_amount, expect_seconds, expect_whole
from foldline.errors import ConfigError


MILLION = 1_000_000
"""The tokens that a price is for."""


_YEAR = 366 * 86_400.0


class PriceTier(Struct, frozen=True, kw_only=True):
    """The prices of every token of a request of more than *above* input tokens."""

    above: int
    """The input tokens up to which the prices below hold."""

    input: float
    """As in `Prices`."""

    output: float
    """As in `Prices`."""

    cached_read: float | None = None
    """As in `Prices`."""

    cache_write: float | None = None
    """As in `Prices`."""

    def __post_init__(self) -> None:
        expect_whole("tiers.above", self.above, 1)
        _check(self, "tiers.")


class Prices(Struct, frozen=True, kw_only=True):
    """
    What a model costs, in US dollars for a million tokens.

    Raises:
        ConfigError: A price is negative or no number, or the tiers are not in order of their size; the
            message names the field and the value.
    """

    input: float
    """Tokens read that no cache serves."""

    output: float
    """Tokens written."""

    cached_read: float | None = None
    """Tokens that the vendor's prompt cache serves; None is the price of *input*: no cache."""

    cache_write: float | None = None
    """Tokens read that the vendor puts into its cache, in all; None is the price of *input*, and less
    is refused."""

    lifetime: float = 300.0
    """How many seconds a prefix stays in the cache after it was last used."""

    minimum_prefix: int = 1_024
    """How many tokens a prefix needs so that it is cached."""

    tiers: tuple[PriceTier, ...] = ()
    """Other prices of larger requests, smallest first."""

    def __post_init__(self) -> None:
        _check(self)
        for place, tier in enumerate(self.tiers):
            expect(f"tiers[{place}]", tier, PriceTier)
        sizes = [tier.above for tier in self.tiers]
        if sizes != sorted(set(sizes)):
            raise ConfigError(f"tiers must be in order of `above`, smallest first, got {sizes}")
        expect_seconds("lifetime", self.lifetime, most=_YEAR)
        expect_whole("minimum_prefix", self.minimum_prefix, 0)

    @property
    def read(self) -> float:
        """The price of one token that the cache serves."""
        return (self.input if self.cached_read is None else self.cached_read) / MILLION

    @property
    def write(self) -> float:
        """The price of one token that it does not serve."""
        return (self.input if self.cache_write is None else self.cache_write) / MILLION

    def at(self, tokens: int) -> "Prices":
        """Return the prices of a request of so many input tokens."""
        for tier in reversed(self.tiers):
            if tokens > tier.above:
                return replace(
                    self,
                    input=tier.input,
                    output=tier.output,
                    cached_read=tier.cached_read,
                    cache_write=tier.cache_write,
                    tiers=(),
                )
        return self

    def request(self, tokens: int, *, cached: int = 0, output: int = 0) -> float:
        """
        Return what one call costs, in dollars.

        Args:
            tokens: All input tokens.
            cached: Those of them that a request before has put into the cache, if it still has them.
            output: The tokens of the answer.
        """
        prices = self.at(tokens)
        served = min(cached, tokens) if cached >= prices.minimum_prefix else 0
        fresh = prices.write if tokens >= prices.minimum_prefix else prices.input / MILLION
        amount = served * prices.read + (tokens - served) * fresh
        return amount + output * prices.output / MILLION

    def alone(self, tokens: int, *, output: int = 0) -> float:
        """Return what a prompt costs that is sent once, so that nothing of it is cached."""
        prices = self.at(tokens)
        return (tokens * prices.input + output * prices.output) / MILLION


def _check(prices: PriceTier | Prices, prefix: str = "") -> None:
    for name in ("input", "output", "cached_read", "cache_write"):
        price: object = getattr(prices, name)
        if price is not None or name in {"input", "output"}:
            expect_amount(f"{prefix}{name}", price)
    if prices.cache_write is not None and prices.cache_write < prices.input:
        raise ConfigError(
            f"{prefix}cache_write is all that such a token costs, so at least input, "
            f"{prices.input:g}, got {prices.cache_write:g}: leave it out if writing is free"
        )
