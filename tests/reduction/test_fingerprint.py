"""What makes a reduction usable under another configuration."""

import msgspec
import pytest

from foldline.reduction.config import HistoryReductionConfig, ProviderConfig, fingerprint


BASE = HistoryReductionConfig(enabled=True, strategy="summarizing")


def provider(name: str, key: str | None = None) -> ProviderConfig:
    return ProviderConfig(provider_key="openai", model_name=name, api_key=key)


@pytest.mark.parametrize(
    "changes",
    [
        {"strategy": "message_counting"},
        {"counting_unit": "messages"},
        {"use_single_summary": False},
        {"custom_summarization_prompt": "in French"},
        {"summarizer_provider": provider("small")},
    ],
)
def test_what_shapes_a_summary_changes_it(changes: dict[str, object]) -> None:
    """Strategy, unit, layering, prompt and provider make another fingerprint."""
    assert fingerprint(BASE) != fingerprint(msgspec.structs.replace(BASE, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"target_count": 3},
        {"summarization_threshold": 9},
        {"behavior": "circuit_breaker"},
        {"enabled": False},
        {"custom_summarization_prompt": ""},
    ],
)
def test_what_only_decides_when_does_not(changes: dict[str, object]) -> None:
    """Target, threshold and behavior leave it as it is; an empty prompt is the built-in one."""
    assert fingerprint(BASE) == fingerprint(msgspec.structs.replace(BASE, **changes))


def test_the_names_of_summarizers_count_and_keys_do_not() -> None:
    """Who writes is part of the shape; the key that pays for it is not."""
    one = msgspec.structs.replace(BASE, summarizer_provider=provider("m", "key-1"))
    two = msgspec.structs.replace(BASE, summarizer_provider=provider("m", "key-2"))

    assert fingerprint(BASE, ["a"]) != fingerprint(BASE, ["b"])
    assert fingerprint(one) == fingerprint(two)


def test_message_counting_knows_no_summarizer() -> None:
    """Where nothing is written, prompt and summarizer do not matter."""
    counting = HistoryReductionConfig(enabled=True)
    other = msgspec.structs.replace(counting, custom_summarization_prompt="x")

    assert fingerprint(counting, ["a"]) == fingerprint(other, ["b"])
    assert len(fingerprint(counting)) == 16
