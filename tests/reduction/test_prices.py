"""What one request costs."""

import pytest

from foldline.errors import ConfigError
from foldline.reduction.config_reader import config_from_mapping
from foldline.reduction.prices import MILLION, Prices, PriceTier


CACHED = Prices(input=3, output=15, cached_read=0.3, cache_write=3.75, minimum_prefix=1_000)


@pytest.mark.parametrize(
    ("prices", "tokens", "cached", "output", "dollars"),
    [
        (Prices(input=3, output=15), 10_000, 9_000, 100, 10_000 * 3 + 100 * 15),
        (CACHED, 10_000, 9_000, 0, 9_000 * 0.3 + 1_000 * 3.75),
        (CACHED, 10_000, 999, 0, 10_000 * 3.75),
        (CACHED, 999, 0, 10, 999 * 3 + 150),
    ],
    ids=["no cache", "cached", "a prefix too short to be cached", "a request too short"],
)
def test_the_cost_of_a_request(
    prices: Prices, tokens: int, cached: int, output: int, dollars: float
) -> None:
    """Cached tokens, written ones and those of the answer have a price each."""
    cost = prices.request(tokens, cached=cached, output=output)

    assert cost == pytest.approx(dollars / MILLION)


def test_no_more_is_served_than_is_sent() -> None:
    """A request that is shorter than what the cache has costs no less than reading it."""
    prices = Prices(input=3, output=15, cached_read=0.3, minimum_prefix=0)

    assert prices.request(100, cached=5_000) == prices.request(100, cached=100)


def test_a_prompt_that_is_sent_once_is_not_written_to_the_cache() -> None:
    """It costs the plain price of input, by its tier."""
    tiers = (PriceTier(above=20_000, input=6, output=20),)
    prices = Prices(input=3, output=15, cached_read=0.3, cache_write=3.75, tiers=tiers)

    assert prices.alone(10_000, output=100) == pytest.approx((30_000 + 1_500) / MILLION)
    assert prices.alone(20_001) == pytest.approx(6 * 20_001 / MILLION)


def test_a_large_request_costs_by_its_tier() -> None:
    """All of its tokens do, not those above the limit alone."""
    tiers = (
        PriceTier(above=100, input=6, output=20),
        PriceTier(above=200, input=9, output=30, cached_read=1),
    )
    prices = Prices(input=3, output=15, cached_read=0.3, minimum_prefix=0, tiers=tiers)

    assert prices.request(100) == pytest.approx(300 / MILLION)
    assert prices.request(101, cached=100) == pytest.approx(606 / MILLION)
    assert prices.request(201, cached=200, output=1) == pytest.approx((200 + 9 + 30) / MILLION)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"input": -1, "output": 1}, "input must be a number of US dollars of at least 0, got -1"),
        ({"input": 1, "output": float("nan")}, "output must be a number of US dollars"),
        ({"input": 1, "output": 1, "cached_read": True}, "cached_read must be a number"),
        ({"input": 1, "output": 1, "lifetime": 0}, "lifetime must be a number of seconds above 0"),
        (
            {"input": 1, "output": 1, "lifetime": float("inf")},
            "lifetime must be a number of seconds",
        ),
        ({"input": 1, "output": 1, "minimum_prefix": 1.5}, "minimum_prefix must be a whole number"),
        ({"input": 3, "output": 15, "cache_write": 0}, "so at least input, 3, got 0: leave it out"),
    ],
)
def test_a_wrong_price_is_named(fields: dict[str, object], error: str) -> None:
    """The field, what is expected, and the value."""
    with pytest.raises(ConfigError, match=error):
        Prices(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tiers", "error"),
    [
        ([{"above": 9, "input": -6, "output": 1}], "tiers.input must be a number of US dollars"),
        ([{"above": -5, "input": 6, "output": 1}], "tiers.above must be a whole number"),
        ([{"above": 9, "inputs": 6, "output": 1}], r"prices.tiers\[0\]: unknown key 'inputs'"),
        (
            [{"above": 9, "input": 6, "output": 1}, {"above": 5, "input": 6, "output": 1}],
            r"tiers must be in order of `above`, smallest first, got \[9, 5\]",
        ),
        ({"above": 9}, "prices.tiers must be a list of objects, got dict"),
    ],
)
def test_a_wrong_tier_is_named(tiers: object, error: str) -> None:
    """A price that would silently be another one is refused."""
    with pytest.raises(ConfigError, match=error):
        config_from_mapping({"prices": {"input": 3, "output": 15, "tiers": tiers}})


def test_a_tier_of_another_kind_is_refused() -> None:
    """In Python as in a file."""
    with pytest.raises(ConfigError, match=r"tiers\[0\] must be a PriceTier, got dict"):
        Prices(input=3, output=15, tiers=({"above": 9},))  # type: ignore[arg-type]


def test_prices_are_read_with_their_tiers() -> None:
    """From the mapping that JSON or TOML gives, in any spelling of the keys."""
    data = {
        "Prices": {
            "Input": 3,
            "output": 15,
            "cachedRead": 0.3,
            "tiers": [{"above": 200_000, "input": 6, "output": 22.5, "cacheWrite": 7}],
        }
    }

    prices = config_from_mapping(data).prices

    assert prices is not None
    assert prices.tiers == (PriceTier(above=200_000, input=6, output=22.5, cache_write=7),)
    assert prices.at(300_000).output == 22.5


def test_a_key_that_no_price_has_is_refused() -> None:
    """The nearest known one is named."""
    with pytest.raises(ConfigError, match="unknown key 'inputs'; the nearest known one is 'input'"):
        config_from_mapping({"prices": {"inputs": 3, "output": 15}})
    with pytest.raises(ConfigError, match="prices must be an object with fields, got int"):
        config_from_mapping({"prices": 3})
    with pytest.raises(ConfigError, match="PriceTier: Missing required argument 'above'"):
        config_from_mapping({"prices": {"input": 3, "output": 15, "tiers": [{}]}})
    assert config_from_mapping({"prices": CACHED}).prices is CACHED
