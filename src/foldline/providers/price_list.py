"""
The price list: what the tokens of a model cost, by its name.

genai-prices is asked first if it is installed, since it is updated more often. The table here is of
the day in `PRICES_OF`; its sources are the price pages of the vendors and genai-prices 0.2.3. What
genai-prices does not know is from the vendors' pages on prompt caching: how long a prefix stays in
a cache, and how many tokens it needs.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, cast

from foldline.providers.book import listed_model, names_in, parted
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import Prices, PriceTier


if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelPrice, TieredPrices


__all__ = ["PRICES_OF", "prices_for", "prices_of_model"]


_Price: TypeAlias = "Decimal | TieredPrices | None"

PRICES_OF = date(2026, 11, 22)
"""The day of the table."""

# Dollars for a million tokens: input, output, read from the cache, written to it, and the same
# above a size of the request. A dash is what the vendor does not charge apart.
_TABLE = """
gpt-4o                    2.50  10.00  1.25   -
gpt-4o-mini               0.15   0.60  0.075  -
gpt-4.1                   2.00   8.00  0.50   -
gpt-4.1-mini              0.40   1.60  0.10   -
gpt-4.1-nano              0.10   0.40  0.025  -
o3                        2.00   8.00  0.50   -
o4-mini                   1.10   4.40  0.275  -
gpt-5                     1.25  10.00  0.125  -
gpt-5-mini                0.25   2.00  0.025  -
gpt-5-nano                0.05   0.40  0.005  -
gpt-5.1                   1.25  10.00  0.125  -
gpt-5.2                   1.75  14.00  0.175  -
gpt-5.4                   2.50  15.00  0.25   -      272000   5.00  22.50  0.50  -
gpt-5.4-mini              0.75   4.50  0.075  -
gpt-5.5                   5.00  30.00  0.50   -      272000  10.00  45.00  1.00  -
gpt-5.6                   4.00  20.00  0.40   5.00   272000   8.00  30.00  0.80  10.00
claude-haiku-4.5          1.00   5.00  0.10   1.25
claude-3.5-haiku          0.80   4.00  0.08   1.00
claude-sonnet             3.00  15.00  0.30   3.75
claude-sonnet-4.5         3.00  15.00  0.30   3.75   200000   6.00  22.50  0.60  7.50
claude-sonnet-5           2.00  10.00  0.20   2.50
claude-opus               5.00  25.00  0.50   6.25
gemini-2.5-pro            1.25  10.00  0.125  -      200000   2.50  15.00  0.25  -
gemini-2.5-flash          0.30   2.50  0.03   -
gemini-2.5-flash-lite     0.10   0.40  0.01   -
gemini-3-pro              2.00  12.00  0.20   -      200000   4.00  18.00  0.40  -
gemini-3.1-pro            2.00  12.00  0.20   -      200000   4.00  18.00  0.40  -
gemini-3-flash            0.50   3.00  0.05   -
grok-4                    3.00  15.00  0.75   -
grok-4-fast               0.20   0.50  0.05   -
grok-4.5                  2.00   6.00  0.30   -      199999   4.00  12.00  0.60  -
grok-code                 0.20   1.50  0.02   -
mistral-large             2.00   6.00  -      -
mistral-medium            1.50   7.50  0.15   -
mistral-small             0.15   0.60  0.015  -
codestral                 0.30   0.90  -      -
deepseek-chat             0.27   1.10  0.07   -
deepseek-reasoner         0.55   2.19  0.14   -
kimi-k2                   0.60   2.50  0.15   -
kimi-k3                   3.00  15.00  0.30   3.00
"""
# The vendors' pages on caching say 1,024 tokens and five minutes where nothing else is known.
_LEAST_PREFIXES: Mapping[str, int] = MappingProxyType(
    {
        "claude-opus-4-1": 1_024,
        "claude-opus": 4_096,
        "claude-haiku-4": 4_096,
        "claude-3-5-haiku": 2_048,
        "gemini-2-5-pro": 4_096,
        "deepseek": 64,
    }
)


def _read_table() -> dict[str, Prices]:
    found: dict[str, Prices] = {}
    for name, *columns in map(str.split, _TABLE.strip().splitlines()):
        numbers = [None if one == "-" else float(one) for one in columns]
        tiers = () if len(numbers) == _PRICES else (_tier(*numbers[_PRICES:]),)
        found[name.replace(".", "-")] = _prices(name, numbers[:_PRICES], tiers)
    return found


def _tier(above: float | None, *numbers: float | None) -> PriceTier:
    read, written, cached_read, cache_write = numbers
    return PriceTier(
        above=int(above or 0),
        input=read or 0.0,
        output=written or 0.0,
        cached_read=cached_read,
        cache_write=cache_write,
    )


def _prices(name: str, numbers: Sequence[float | None], tiers: tuple[PriceTier, ...]) -> Prices:
    read, written, cached_read, cache_write = numbers
    plain = name.replace(".", "-")
    least = (size for known, size in _LEAST_PREFIXES.items() if known in plain)
    return Prices(
        input=read or 0.0,
        output=written or 0.0,
        cached_read=cached_read,
        cache_write=cache_write,
        minimum_prefix=next(least, _LEAST_PREFIX),
        tiers=tiers,
    )


_PRICES, _LEAST_PREFIX = 4, 1_024
_BY_NAME: Mapping[str, Prices] = MappingProxyType(_read_table())
_NAME = re.compile(names_in(_BY_NAME))
_FIELDS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")


def prices_of_model(name: str) -> Prices | None:
    """
    Return what the tokens of a model cost; None if that is not known, or it runs on your machine.

    Args:
        name: `vendor:model` or the name of a model alone, as a vendor, Bedrock, Azure, OpenRouter
            or a gateway writes it.
    """
    vendor, model = parted(name)
    if not model:
        return None
    listed = listed_model(model, vendor)
    if listed is not None:
        return _converted(model, listed.get_prices(datetime.now(UTC)))
    found = _NAME.search(model) or _NAME.search(name.strip().lower())
    return _BY_NAME[found[1].replace(".", "-")] if found else None


def prices_for(config: HistoryReductionConfig, model: str | None) -> Prices | None:
    """Return the prices of *config*, else those of the *model* with this name; None without either."""
    return config.prices or (None if model is None else prices_of_model(model))


def _converted(model: str, listed: "ModelPrice") -> Prices | None:
    """Return the prices that genai-prices has; None if they have no input or output."""
    given: list[_Price] = [getattr(listed, field) for field in _FIELDS]
    if given[0] is None or given[1] is None:
        return None
    starts = sorted(given[0].tiers, key=attrgetter("start")) if _is_tiered(given[0]) else []
    bases = [_number(one) for one in given]
    tiers = [_tier(one.start, *(_number(price, one.start) for price in given)) for one in starts]
    return _prices(model, bases, tuple(tiers))


def _is_tiered(price: "_Price") -> "TypeGuard[TieredPrices]":
    return hasattr(price, "tiers")


def _number(price: "_Price", start: int = 0) -> float | None:
    """Return *price* in a request of more than *start* tokens."""
    if _is_tiered(price):
        above = [one.price for one in price.tiers if one.start <= start]
        return float(above[-1] if above else price.base)
    return None if price is None else float(cast("Decimal", price))
