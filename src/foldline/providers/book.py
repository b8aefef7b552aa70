"""
The book of models: what is known of a model by its name.

genai-prices is asked first if it is installed, since it is updated more often. The table here is
of 2026-11-22; its sources are the model pages of the vendors (developers.openai.com,
platform.claude.com, ai.google.dev, docs.mistral.ai, api-docs.deepseek.com, docs.x.ai,
console.groq.com) and genai-prices 0.2.3. An entry is a prefix of names, so that it covers dated
snapshots; the longest one counts, and a model that is newer than the table has the window of its
family.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from genai_prices.types import ModelInfo


# How many tokens a request and its answer may have together.
_NAMES_BY_WINDOW = (
    (8_192, "gpt-4 llama3 llama-3"),
    (16_385, "gpt-3.5-turbo gpt-35-turbo"),
    (32_768, "gpt-4-32k qwen3 mixtral mistral-7b mistral-saba"),
    (128_000, "gpt-4-turbo gpt-4-0125 gpt-4-1106 gpt-4-vision gpt-4.5 gpt-4o"),
    (128_000, "chatgpt-4o-latest gpt-5-chat gpt-5.1-chat gpt-5.2-chat gpt-5.3 gpt-audio"),
    (128_000, "o1-mini o1-preview nova-micro mistral mistral-large-2411 mistral-medium-3.1"),
    (128_000, "mistral-nemo magistral ministral pixtral deepseek glm command-r command-a"),
    (128_000, "gemma-3 llama-3.1 llama-3.2 llama-3.3 phi-4-mini"),
    (131_072, "gpt-oss llama-4 grok grok-3 kimi-k2-instruct moonshot-v1-128k qwen3-32b"),
    (131_072, "qwen-plus"),
    (200_000, "claude o1 o3 o4-mini codex-mini sonar-pro"),
    (256_000, "grok-4 grok-code grok-build codestral devstral mistral-large-2512"),
    (256_000, "mistral-medium-3.5 mistral-large-latest mistral-medium-latest"),
    (256_000, "mistral-small-latest mistral-small-2603"),
    (262_144, "kimi gemma-4 qwen3-coder qwen3-max"),
    (300_000, "nova nova-lite nova-pro"),
    (400_000, "gpt-5 gpt-5.3-codex gpt-5.4-mini gpt-5.4-nano"),
    (500_000, "grok-4.5 grok-4.6 grok-4.7"),
    (1_000_000, "gpt-4.1 gpt-5.4 gpt-5.5 gpt-5.6 gpt-6 gemini muse mistral-large-4 nova-2"),
    (1_000_000, "nova-premier claude-opus-4.6 claude-opus-4.7 claude-opus-4.8 claude-opus-5"),
    (1_000_000, "claude-sonnet-4.6 claude-sonnet-5 claude-haiku-5 claude-fable claude-mythos"),
    (1_000_000, "deepseek-v4 deepseek-flash glm-5.2 glm-5.3 kimi-k3 grok-4.20 grok-4.3"),
    (1_000_000, "grok-4-fast grok-4.1-fast"),
)
_BOOK: Mapping[str, int] = {
    name.replace(".", "-"): window for window, names in _NAMES_BY_WINDOW for name in names.split()
}

MARKED_MODELS = r"gpt-(?:5[.-][6-9]|[6-9])(?!\d)"
"""The pattern of the names of OpenAI's models that match a cached prefix only at a mark: gpt-5.6 and later."""


def names_in(names: Iterable[str]) -> str:
    """Return the pattern of one of *names* after a vendor or path; a dot may be a hyphen."""
    longest = sorted((name.replace("-", "[-.]") for name in names), key=len, reverse=True)
    return "(?:^|[/:.])({})(?![a-z0-9/])".format("|".join(longest))


# What serves a model itself decides how much of it fits: by the name of the server, also as LiteLLM
# writes it, or by a tag of Ollama's, such as `qwen3:8b`.
_LOCAL = re.compile(
    r"(?:.*[:/])?(?:ollama|ollama_chat|lmstudio|lm_studio|vllm|hosted_vllm|llamacpp|llamafile)[:/]"
    r"|.*:(?:latest|(?:\d+x)?\d[\d.]*[bm](?!.*-cloud)(?:-.*)?)\Z"
).match


# A server of one's own is asked in OpenAI's Chat form, and none of OpenAI's models has a name like it.
_FOREIGN = re.compile(r"openai-chat:(?!gpt-\d|o\d|chatgpt|codex|ft:)").match


def is_own(name: str) -> bool:
    """Whether a server of one's own has the model, as far as the name says: its tokens have no price."""
    name = name.strip().lower()
    return bool(_LOCAL(name) or _FOREIGN(name))


def parted(name: str) -> tuple[str, str]:
    """Return the vendor, which may be empty, and the model of a name; no model if it runs locally."""
    name = name.strip().lower()
    vendor, model = name.split(":", 1) if ":" in name else ("", name)
    return (vendor, "") if _LOCAL(name) else (vendor, model)


def window_of_model(name: str) -> int | None:
    """
    Return the context window of a model in tokens; None if it is not known.

    Args:
        name: `vendor:model` or the name of a model alone, as a vendor, Bedrock, Azure, OpenRouter
            or a gateway writes it.
    """
    vendor, model = parted(name)
    if not model:
        return None
    known = listed_model(model, vendor)
    window = None if known is None else known.context_window
    return window or _written(model) or _written(name.strip().lower())


def assumed_window(name: str) -> int | None:
    """Return the window that a model of this name has at its vendor, wherever it runs; None if unknown."""
    return _written(name.strip().lower())


@cache
def _name() -> re.Pattern[str]:
    # Made when a name is first looked up: it takes longer than all other patterns together.
    return re.compile(names_in(_BOOK))


def _written(name: str) -> int | None:
    found = _name().search(name)
    return _BOOK[found[1].replace(".", "-")] if found else None


def listed_model(model: str, vendor: str) -> "ModelInfo | None":
    """Return what genai-prices knows of *model*; None if it does not, or is not installed."""
    with suppress(ImportError, LookupError):
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415

        _, listed = get_snapshot().find_provider_model(
            model, provider=None, provider_id=vendor or None, provider_api_url=None
        )
        return listed
    return None
