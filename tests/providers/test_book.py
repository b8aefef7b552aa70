"""The book of models."""

import sys

import pytest

from foldline.providers.book import window_of_model


@pytest.fixture
def _no_price_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("genai_prices")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)


WINDOWS = [
    ("openai:gpt-4", 8_192),
    ("openai:gpt-4o-2024-08-06", 128_000),
    ("openai-responses:gpt-5-mini", 400_000),
    ("gateway/openai:gpt-4.1-nano", 1_000_000),
    ("ft:gpt-4o-2024-08-06:acme::id", 128_000),
    ("azure:gpt-35-turbo", 16_385),
    ("claude-sonnet-4-5-20250929", 200_000),
    ("anthropic:claude-opus-4-6", 1_000_000),
    ("Anthropic:Claude-Haiku-4-5", 200_000),
    ("bedrock:us.anthropic.claude-sonnet-4-6-v1:0", 1_000_000),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000),
    ("openrouter:anthropic/claude-opus-4.6", 1_000_000),
    ("openrouter:deepseek/deepseek-v4-pro", 1_000_000),
    ("google-vertex:claude-sonnet-4-5@20250929", 200_000),
    ("google-gla:gemini-3-pro-preview", 1_000_000),
    ("mistral:mistral-medium-3.5", 256_000),
    ("grok:grok-4.1-fast", 1_000_000),
    ("groq:openai/gpt-oss-120b", 131_072),
    ("gpt-oss:120b-cloud", 131_072),
    # Newer than the book: the window of the family.
    ("anthropic:claude-haiku-4-9", 200_000),
    ("openai:gpt-5.9", 400_000),
]


@pytest.mark.usefixtures("_no_price_list")
@pytest.mark.parametrize(("name", "window"), WINDOWS)
def test_a_window_is_found_by_name(name: str, window: int) -> None:
    """Vendors, regions, paths, dates and dots around the name of a model do not hide it."""
    assert window_of_model(name) == window


@pytest.mark.parametrize(
    "name", ["openai:nobody-knows-it", "my-deployment", "azure:prod", "gpt-4x", "", "openai:"]
)
def test_an_unknown_model_has_no_window(name: str) -> None:
    """A name that is in no list has no window, and a vendor alone is not a model."""
    assert window_of_model(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *(
            "ollama:gemma-3",
            "ollama/llama3.1",
            "hosted_vllm/qwen3-32b",
            "qwen3:8b",
            "gpt-oss:latest",
        ),
        *("openai-chat:llama3.1:8b-instruct-q4_K_M", "mixtral:8x7b", "deepseek-r1:1.5b"),
    ],
)
def test_a_local_model_has_no_window(name: str) -> None:
    """The server that runs a model decides how much it reads, not the model."""
    assert window_of_model(name) is None


def test_the_list_of_prices_comes_first() -> None:
    """What genai-prices knows wins over the book, which names only the family."""
    assert window_of_model("google:gemini-2.5-flash") == 1_048_576
