"""
The price list: what the tokens of a model cost, by its name.

genai-prices is asked first if it is installed, since it is updated more often. The table here is of
the day in `PRICES_OF`; its sources are the price pages of the vendors, genai-prices 0.2.3 and the
list of LiteLLM 1.110.2. What these do not know is from the vendors' pages on prompt caching: how long
a prefix stays in a cache, and how many tokens it needs.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, cast

from foldline.checks import expect
from foldline.providers.book import MARKED_MODELS, listed_model, names_in, parted
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import Prices, PriceTier


if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelPrice, TieredPrices


_Price: TypeAlias = "Decimal | TieredPrices | None"

PRICES_OF = date(2026, 11, 22)
"""The day of the table."""

# Dollars for a million tokens: input, output, read from the cache, written to it, and the same
# above a size of the request. A dash is what the vendor does not charge apart.
_TABLE = """
gpt-4o                      2.5     10   1.25      -
gpt-4o-2024-05-13             5     15      -      -
gpt-4o-mini                0.15    0.6  0.075      -
gpt-4.1                       2      8    0.5      -
gpt-4.1-mini                0.4    1.6    0.1      -
gpt-4.1-nano                0.1    0.4  0.025      -
o1                           15     60    7.5      -
o3                            2      8    0.5      -
o3-mini                     1.1    4.4   0.55      -
o3-pro                       20     80      -      -
o4-mini                     1.1    4.4  0.275      -
gpt-5                      1.25     10  0.125      -
gpt-5-mini                 0.25      2  0.025      -
gpt-5-nano                 0.05    0.4  0.005      -
gpt-5-pro                    15    120      -      -
gpt-5.1                    1.25     10  0.125      -
gpt-5.2                    1.75     14  0.175      -
gpt-5.2-pro                  21    168      -      -
gpt-5.3                    1.75     14  0.175      -
gpt-5.3-codex              1.75     14  0.175      -
gpt-5.4                     2.5     15   0.25      -  272000      5   22.5    0.5      -
gpt-5.4-mini               0.75    4.5  0.075      -
gpt-5.4-nano                0.2   1.25   0.02      -
gpt-5.4-pro                  30    180      -      -  272000     60    270      -      -
gpt-5.5                       5     30    0.5      -  272000     10     45      1      -
gpt-5.5-pro                  30    180      -      -  272000     60    270      -      -
gpt-5.6                       4     20    0.4      5  272000      8     30    0.8     10
gpt-5.6-sol                   4     20    0.4      5  272000      8     30    0.8     10
gpt-5.6-terra                 2     12    0.2    2.5  272000      4     18    0.4      5
gpt-5.6-luna                0.2    1.2   0.02   0.25  272000    0.4    1.8   0.04    0.5
gpt-6-sol                     2     10    0.2    2.5  272000      4     15    0.4      5
gpt-6-luna                  0.1    0.5   0.01  0.125  272000    0.2   0.75   0.02   0.25
gpt-6-astra                  10     50      1   12.5  272000     20     75      2     25
gpt-6.1-sol                   2     10    0.1    2.5  272000      4     15    0.2      5
gpt-6.1-terra                 1      5   0.05   1.25  272000      2    7.5    0.1    2.5
gpt-6.2-sol                   2     10    0.1    2.5  272000      4     15    0.2      5
gpt-6.2-astra                 8     40    0.4     10  272000     16     60    0.8     20
claude-3.5-haiku            0.8      4   0.08      1
claude-3.5-sonnet             3     15    0.3   3.75
claude-3.7-sonnet             3     15    0.3   3.75
claude-sonnet-4               3     15    0.3   3.75
claude-sonnet-4.5             3     15    0.3   3.75  200000      6   22.5    0.6    7.5
claude-sonnet-4.6             3     15    0.3   3.75
claude-sonnet-5               2     10    0.2    2.5
claude-sonnet-5.5             2     10    0.1    2.5
claude-haiku-4.5              1      5    0.1   1.25
claude-haiku-5.5            0.1    0.5   0.01  0.125  100000    0.5    2.5   0.05  0.625
claude-opus-4                15     75    1.5  18.75
claude-opus-4.1              15     75    1.5  18.75
claude-opus-4.5               5     25    0.5   6.25
claude-opus-4.6               5     25    0.5   6.25
claude-opus-4.7               5     25    0.5   6.25
claude-opus-4.8               5     25    0.5   6.25
claude-opus-5                 5     25    0.5   6.25
claude-opus-5.5               4     20    0.2      5
claude-fable-5               10     50      1   12.5
claude-fable-5.1             10     50   0.25   12.5
claude-fable-5.2              8     40    0.2     10
claude-mythos-5              10     50      1   12.5
claude-mythos-5.1            10     50   0.25   12.5
claude-mythos-5.2             8     40    0.2     10
gemini-2.5-pro             1.25     10  0.125      -  200000    2.5     15   0.25      -
gemini-2.5-flash            0.3    2.5   0.03      -
gemini-2.5-flash-lite       0.1    0.4   0.01      -
gemini-2.5-flash-preview   0.15    0.6      -      -
gemini-3-pro                  2     12    0.2      -  200000      4     18    0.4      -
gemini-3.1-pro                2     12    0.2      -  200000      4     18    0.4      -
gemini-3-flash              0.5      3   0.05      -
gemini-3.1-flash-lite      0.25    1.5  0.025      -
gemini-3.5-flash            1.5      9   0.15      -
gemini-3.5-flash-lite       0.3    2.5   0.03      -
gemini-3.6-flash           0.75   3.75  0.075      -
gemini-3.7-flash           0.75   3.75  0.075      -
gemini-3.8-flash           0.75   3.75  0.075      -
gemini-4-argon                2     10    0.1      -
gemini-4-carbon               2     10    0.1      -
gemini-4-hydrogen           1.5    7.5  0.075      -
gemini-4-neon                 3     15   0.15      -
grok-3                        3     15   0.75      -
grok-3-mini                 0.3    0.5  0.075      -
grok-4                        3     15   0.75      -
grok-4-fast-reasoning       0.2    0.5   0.05      -
grok-4-1-fast-reasoning     0.2    0.5   0.05      -
grok-4.20                  1.25    2.5    0.2      -  199999    2.5      5    0.4      -
grok-4.3                   1.25    2.5    0.2      -  199999    2.5      5    0.4      -
grok-4.5                      2      6    0.3      -  199999      4     12    0.6      -
grok-4.6                      2      6    0.5      -  199999      4     12      1      -
grok-4.7                      2      6    0.5      -  199999      4     12      1      -
grok-code-fast-1            0.2    1.5   0.02      -
mistral-large-2512          0.5    1.5   0.05      -
mistral-large-latest        0.5    1.5   0.05      -
mistral-large-4             0.7    2.1   0.07      -
mistral-medium-latest       1.5    7.5   0.15      -
mistral-medium-3.5          1.5    7.5   0.15      -
mistral-small-latest       0.15    0.6  0.015      -
deepseek-chat              0.27    1.1   0.07      -
deepseek-reasoner          0.55   2.19   0.14      -
deepseek-v4-pro            0.66   1.98  0.022      -
deepseek-v4-flash          0.15    0.6  0.003      -
kimi-k2-0905                0.6    2.5   0.15      -
kimi-k2.5                   0.6      3    0.1      -
kimi-k2.6                  0.95      4   0.16      -
kimi-k3                       3     15    0.3      3
kimi-k3.1-pro                 2     10    0.2      2
"""
# The vendors' pages on caching say 1,024 tokens and five minutes where nothing else is known.
_LEAST_PREFIXES: Mapping[str, int] = {
    "claude-opus-4-5": 4_096,
    "claude-opus-4-6": 4_096,
    "claude-opus-4-7": 2_048,
    "claude-opus-5": 512,
    "claude-fable-5": 512,
    "claude-haiku-4": 4_096,
    "claude-3-5-haiku": 2_048,
    "gemini-2-5": 2_048,
    "gemini-3-flash": 1_024,
    "gemini-3": 4_096,
    "gemini-4": 4_096,
    "deepseek": 64,
}


@cache
def _by_name() -> Mapping[str, Prices]:
    # Read when a name is first looked up, as the patterns are made.
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
        lifetime=next((known for one, known in _lifetimes() if one.search(plain)), _LIFETIME),
        minimum_prefix=next(least, _LEAST_PREFIX),
        tiers=tiers,
    )


_PRICES, _LEAST_PREFIX, _LIFETIME = 4, 1_024, 300.0


# In seconds, by the first pattern that a name has. OpenAI says half an hour at least since gpt-5.6,
# and a day for gpt-5.5; before, a day or some minutes by the data controls of an organization, which
# a name does not tell: an hour loses little either way. DeepSeek says a few hours at least.
@cache
def _lifetimes() -> tuple[tuple[re.Pattern[str], float], ...]:
    return (
        (re.compile(MARKED_MODELS), 1_800.0),
        (re.compile(r"gpt-5-5(?!\d)"), 86_400.0),
        (re.compile(r"gpt-(?:4-1|5(?:-[1-4](?!\d)|(?!-[1-4](?!\d))))(?!\d|-mini|-nano)"), 3_600.0),
        (re.compile("deepseek"), 7_200.0),
    )


# After a name only a version may follow: `gpt-5-pro` is no `gpt-5`, and a wrong price is worse than none.
_VERSION = r"(?:[-@:](?:\d{4}-\d\d-\d\d|\d{3,8}|latest|preview|v\d|0))*$"
# Names that genai-prices takes for an earlier model than their vendor does.
_MEANT: Mapping[str, str] = {"mistral-large-latest": "mistral-large-2512"}
_TYPO = 0.85
_FIELDS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")


@cache
def _name() -> re.Pattern[str]:
    return re.compile(names_in(_by_name()) + _VERSION)


def prices_of_model(name: str, day: date | None = None) -> Prices | None:
    """
    Return what the tokens of a model cost; None if that is not known, or it runs on your machine.

    Args:
        name: `vendor:model` or the name of a model alone, as a vendor, Bedrock, Azure, OpenRouter
            or a gateway writes it.
        day: The day whose prices are asked for, today by default. If a vendor charges by the hour,
            these are the prices at noon UTC: a decision should not depend on the hour.
    """
    expect("day", day, date | None)
    vendor, model = parted(name)
    if not model:
        return None
    listed = listed_model(_MEANT.get(model, model), vendor)
    if listed is not None:
        return _converted(
            model,
            listed.get_prices(datetime.combine(day or datetime.now(UTC).date(), time(12), UTC)),
        )
    if "ft:" in name.lower():
        # A model that somebody has tuned has the price of no other.
        return None
    found = _name().search(model) or _name().search(name.strip().lower())
    return _by_name()[found[1].replace(".", "-")] if found else None


def prices_for(config: HistoryReductionConfig, model: str | None) -> Prices | None:
    """Return the prices of *config*, else those of the *model* with this name; None without either."""
    return config.prices or (None if model is None else prices_of_model(model))


def nearest_listed(name: str) -> str:
    """Return what to add to a message on *name*, a model without prices: one that is written nearly so."""
    from difflib import get_close_matches  # noqa: PLC0415 - a model that is unknown needs it

    written = parted(name)[1].rpartition("/")[2]
    listed = [line.split()[0] for line in _TABLE.strip().splitlines()]
    near = get_close_matches(written, listed, n=1, cutoff=_TYPO)
    return f"; the nearest known model is {near[0]!r}" if near else ""


def _converted(model: str, listed: "ModelPrice") -> Prices | None:
    """Return the prices that genai-prices has; None if they have no input or output."""
    given: list[_Price] = [getattr(listed, field) for field in _FIELDS]
    if given[0] is None or given[1] is None:
        return None
    starts = sorted(given[0].tiers, key=attrgetter("start")) if _is_tiered(given[0]) else []
    bases = _columns(given)
    tiers = [_tier(one.start, *_columns(given, one.start)) for one in starts]
    return _prices(model, bases, tuple(tiers))


def _columns(given: Sequence[_Price], start: int = 0) -> list[float | None]:
    """Return the prices in a request of more than *start* tokens."""
    read, *others, written = (_number(one, start) for one in given)
    # What is listed below the price of reading is a charge beside it, of a gateway for storage.
    return [read, *others, written if (written or 0.0) >= (read or 0.0) else None]


def _is_tiered(price: "_Price") -> "TypeGuard[TieredPrices]":
    return hasattr(price, "tiers")


def _number(price: "_Price", start: int = 0) -> float | None:
    """Return *price* in a request of more than *start* tokens."""
    if _is_tiered(price):
        above = [one.price for one in price.tiers if one.start <= start]
        return float(above[-1] if above else price.base)
    return None if price is None else float(cast("Decimal", price))
