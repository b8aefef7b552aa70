"""What models cost, by name."""

import sys
from datetime import date

import pytest
from genai_prices.data_snapshot import get_snapshot

from foldline.providers import price_list
from foldline.providers.price_list import PRICES_OF, prices_of_model


VENDORS = {"openai", "anthropic", "x-ai", "mistral", "deepseek", "moonshotai"}


@pytest.fixture(params=["listed", "table"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Look prices up in genai-prices, or in the table alone, as if that were not installed."""
    if request.param == "table":
        monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    return str(request.param)


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize(
    ("name", "prices", "least"),
    [
        ("openai:gpt-5", (1.25, 10.0, 0.125, None), 1_024),
        ("gpt-5-2025-08-07", (1.25, 10.0, 0.125, None), 1_024),
        ("azure:gpt-4o-mini", (0.15, 0.6, 0.075, None), 1_024),
        ("anthropic:claude-sonnet-4-6", (3.0, 15.0, 0.3, 3.75), 1_024),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", (5.0, 25.0, 0.5, 6.25), 4_096),
        ("mistral:mistral-large-latest", (0.5, 1.5, 0.05, None), 1_024),
    ],
)
def test_prices_by_name(name: str, prices: tuple[float | None, ...], least: int) -> None:
    """The table and genai-prices give the same, for a vendor's name and a gateway's."""
    found = prices_of_model(name)

    assert found is not None
    assert (found.input, found.output, found.cached_read, found.cache_write) == prices
    assert found.minimum_prefix == least


@pytest.mark.usefixtures("source")
def test_dearer_requests_have_a_tier() -> None:
    """A long request of some models costs more for each token."""
    found = prices_of_model("anthropic:claude-sonnet-4-5")

    assert found is not None
    assert found.at(200_000).input == 3.0
    assert found.at(200_001).input == 6.0
    assert found.at(200_001).cache_write == 7.5


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("name", ["ollama:llama3", "my-model", "openai:my-finetune"])
def test_what_is_not_known_has_no_price(name: str) -> None:
    """A model of one's own, or on one's own machine, has none."""
    assert prices_of_model(name) is None


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize(
    ("name", "lifetime"),
    [
        ("openai:gpt-5.6-sol", 1_800.0),
        ("azure:gpt-6.1-terra", 1_800.0),
        ("openai:gpt-5.5", 86_400.0),
        ("gpt-5-2025-08-07", 3_600.0),
        ("openai:gpt-5.4-pro", 3_600.0),
        ("openai:gpt-4.1", 3_600.0),
        ("openai:gpt-5.4-mini", 300.0),
        ("openai:gpt-5-nano", 300.0),
        ("openai:gpt-4o", 300.0),
        ("deepseek:deepseek-v4-flash", 7_200.0),
        ("anthropic:claude-sonnet-4-6", 300.0),
        ("google-gla:gemini-2.5-flash", 300.0),
    ],
)
def test_a_prefix_is_kept_as_long_as_the_vendor_says(name: str, lifetime: float) -> None:
    """If a cache were taken to be lost too early, every pause would make a fold look cheap."""
    found = prices_of_model(name)

    assert found is not None
    assert found.lifetime == lifetime


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("claude-opus-4-6", 4_096),
        ("claude-opus-4-7", 2_048),
        ("claude-opus-4-8", 1_024),
        ("claude-opus-5-5", 512),
        ("claude-fable-5-1", 512),
        ("gemini-2.5-flash", 2_048),
        ("google-gla:gemini-3.8-flash", 4_096),
        ("gemini-4-argon", 4_096),
    ],
)
@pytest.mark.usefixtures("source")
def test_a_prefix_needs_as_many_tokens_as_the_vendor_says(name: str, least: int) -> None:
    """Models of one family differ."""
    found = prices_of_model(name)

    assert found is not None
    assert found.minimum_prefix == least


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("gpt-6.2-sol", 0.1),
        ("openai:gpt-6.2-astra", 0.4),
        ("gemini-4-neon", 0.15),
        ("gemini-4-carbon", 0.1),
    ],
)
@pytest.mark.usefixtures("source")
def test_a_model_that_genai_prices_lacks_has_the_prices_of_the_table(
    name: str, read: float
) -> None:
    """Without them a new model would be folded by the ceiling alone."""
    found = prices_of_model(name)

    assert found is not None
    assert found.cached_read == read


@pytest.mark.parametrize("name", ["gemini-2.5-pro", "gemini-3.6-flash"])
def test_a_listed_charge_for_storage_is_no_price_of_writing(name: str) -> None:
    """OpenRouter lists it below the price of reading: a fold that writes again would seem to save money."""
    found = prices_of_model(f"openrouter:google/{name}")

    assert found is not None
    assert found.write == found.input / 1_000_000
    assert [tier.cache_write for tier in found.tiers] == [None] * len(found.tiers)


def test_a_listed_model_without_a_price_of_tokens_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some models are listed with a price for each picture alone."""

    class Picture:
        """A listed model."""

        input_mtok = output_mtok = cache_read_mtok = cache_write_mtok = None

        def get_prices(self, when: object) -> "Picture":
            """Return itself: it has no prices."""
            return self

    monkeypatch.setattr(price_list, "listed_model", lambda *given: Picture())

    assert prices_of_model("openai:dall-e-3") is None


def test_prices_do_not_depend_on_the_hour() -> None:
    """DeepSeek charges twice as much at some hours; the prices at noon are used all day."""
    found = prices_of_model("deepseek:deepseek-v4-pro", PRICES_OF)

    assert found is not None
    assert (found.input, found.output) == (0.66, 1.98)


def test_prices_are_those_of_the_day() -> None:
    """A model whose price changed has the old one before that day."""
    before = prices_of_model("deepseek:deepseek-v4-pro", date(2026, 8, 16))

    assert before is not None
    assert before.input == 0.435


def test_the_table_has_the_prices_that_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """For every model of the vendors in it, or none: a wrong price would fold at a wrong time."""
    listed = {
        model.id: prices_of_model(f"{vendor.id}:{model.id}", PRICES_OF)
        for vendor in get_snapshot().providers
        if vendor.id in VENDORS
        for model in vendor.models
    }
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    found = {name: prices_of_model(name) for name in listed}
    known = {name: prices for name, prices in found.items() if prices is not None}

    assert len(known) > 70
    assert {name: prices for name, prices in known.items() if prices != listed[name]} == {}
