"""How a configuration is checked, and what its limits are."""

from typing import Any

import msgspec
import pytest

from foldline.errors import ConfigError
from foldline.reduction.config import (
    AgentRunConfig,
    HistoryReductionConfig,
    Limits,
    config_of_run,
)
from foldline.reduction.fingerprint import fingerprint
from foldline.reduction.provider import ProviderConfig


TOKENS: dict[str, object] = {"counting_unit": "tokens"}
WINDOW = TOKENS | {"context_window_size": 10_000, "token_budget_trigger_percentage": 0.8}
BASE = HistoryReductionConfig(counting_unit="exchanges")
IDLE = {"counting_unit": "messages", "enabled": False}


def provider(name: str, key: str | None = None) -> ProviderConfig:
    return ProviderConfig(provider_key="openai", model_name=name, api_key=key)


def test_the_default_is_to_summarize_below_a_ceiling() -> None:
    """It is on, counts tokens, and the ceiling alone says when to fold."""
    config = HistoryReductionConfig()

    assert config.enabled
    assert (config.strategy, config.unit, config.limits) == ("summarizing", "tokens", None)
    assert config.clear_tool_results
    assert (config.quote_user_messages, config.largest_message) == (600, 0.25)


def test_the_documented_defaults_are_those_of_the_original() -> None:
    """Nothing is reduced until asked, and 20 exchanges plus 5 is the measure."""
    config = HistoryReductionConfig.documented()

    assert not config.enabled
    assert config.strategy == "message_counting"
    assert config.behavior == "continue"
    assert config.counting_unit == "exchanges"
    assert config.limits == Limits(20, 5)
    assert Limits(20, 5).ceiling == 25
    assert config.use_single_summary
    assert (config.trigger, config.retention) == ("count", "full")
    assert (config.quote_user_messages, config.largest_message) == (0, None)
    assert (config.clear_tool_results, config.ceiling) == (False, 1.0)
    assert (config.custom_summarization_prompt, config.summarizer_provider) == (None, None)
    assert (config.max_token_budget, config.context_window_size) == (None, None)
    assert config.token_budget_preserve_percentage == 0.3


@pytest.mark.parametrize(
    ("changes", "limits"),
    [
        ({"counting_unit": "messages"}, (20, 5)),
        (TOKENS, (4000, 1000)),
        (TOKENS | {"target_token_budget": 300}, (300, 1000)),
        (WINDOW, (3000, 5000)),
    ],
)
def test_documented_limits_are_in_the_unit(
    changes: dict[str, object], limits: tuple[int, int]
) -> None:
    """With tokens 4,000 plus 1,000 is the measure, unless shares of a window are given."""
    config = HistoryReductionConfig.documented(enabled=True, **changes)

    assert config.limits == Limits(*limits)


@pytest.mark.parametrize(
    ("fields", "unit"),
    [
        ({}, "tokens"),
        ({"target_count": 3}, "exchanges"),
        ({"summarization_threshold": 3}, "exchanges"),
        ({"target_count": 3, "counting_unit": "messages"}, "messages"),
        ({"target_token_budget": 300}, "tokens"),
    ],
)
def test_a_count_is_of_exchanges_if_no_unit_is_named(fields: dict[str, object], unit: str) -> None:
    """What is set says what is counted."""
    assert HistoryReductionConfig(**fields).unit == unit  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({"target_count": 7, "summarization_threshold": None}, (7, 5)),
        ({"target_count": 7, "summarization_threshold": 0}, (7, 0)),
        ({"summarization_threshold": 7}, (20, 7)),
        (IDLE | {"max_token_budget": 10}, (20, 5)),
        (WINDOW | IDLE, (20, 5)),
        ({"max_token_budget": 10}, (2, 8)),
        ({"max_token_budget": 1}, (1, 0)),
        ({"target_token_budget": 300}, (300, 1000)),
        (TOKENS | {"target_token_budget": 300, "token_budget_threshold": 50}, (300, 50)),
        (TOKENS | {"target_token_budget": 300, "max_token_budget": 1000}, (300, 700)),
        (WINDOW | {"token_budget_preserve_percentage": 0.25}, (2_500, 5_500)),
        (WINDOW | {"max_token_budget": 2_000}, (2_000, 0)),
    ],
)
def test_limits_are_in_the_unit(fields: dict[str, object], limits: tuple[int, int]) -> None:
    """Token fields count with tokens only; a maximum or the shares of a window replace a budget."""
    assert HistoryReductionConfig(**fields).limits == Limits(*limits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"enabled": "false"}, "enabled must be a bool, got str"),
        ({"use_single_summary": 1}, "use_single_summary must be a bool, got int"),
        (
            {"custom_summarization_prompt": 3},
            "custom_summarization_prompt must be a str or None, got int",
        ),
        (
            {"summarizer_provider": "openai"},
            "summarizer_provider must be a ProviderConfig or None, got str",
        ),
        (
            {"strategy": "shrink"},
            "strategy must be 'summarizing' or 'clearing' or 'message_counting', got 'shrink'",
        ),
        ({"behavior": "stop"}, "behavior must be 'continue' or 'circuit_breaker', got 'stop'"),
        ({"counting_unit": "words"}, "counting_unit must be 'messages' or 'exchanges' or 'tokens'"),
        ({"trigger": "tokens"}, "trigger must be 'count' or 'balance', got 'tokens'"),
        ({"retention": "half"}, "retention must be 'full' or 'reduced', got 'half'"),
        ({"target_count": 0}, "target_count must be a whole number of at least 1 or None, got 0"),
        (
            {"target_count": -10},
            "target_count must be a whole number of at least 1 or None, got -10",
        ),
        (
            {"target_count": True},
            "target_count must be a whole number of at least 1 or None, got True",
        ),
        (
            {"target_count": 2.5},
            "target_count must be a whole number of at least 1 or None, got 2.5",
        ),
        (
            {"summarization_threshold": -1},
            "summarization_threshold must be a whole number of at least 0 or None, got -1",
        ),
        ({"target_token_budget": 0}, "target_token_budget must be"),
        ({"token_budget_threshold": -1}, "token_budget_threshold must be"),
        (
            {"target_token_budget": 4000, "max_token_budget": 10},
            "max_token_budget=10 must be at least target_token_budget=4000",
        ),
        ({"context_window_size": 0}, "context_window_size must be"),
        ({"reserve": -1}, "reserve must be a whole number of at least 0 or None, got -1"),
        ({"quote_user_messages": -1}, "quote_user_messages must be a whole number of at least 0"),
        ({"quote_user_messages": None}, "quote_user_messages must be a whole number of at least 0"),
        ({"largest_message": 1.5}, "largest_message must be above 0 and at most 1, got 1.5"),
        ({"clear_tool_results": 1}, "clear_tool_results must be a bool, got int"),
        ({"tool_rules": ["bash"]}, "tool_rules must be a Mapping, got list"),
        (
            {"tool_rules": {"bash": "drop"}},
            "tool_rules['bash'] must be 'keep' or 'clear' or 'never_summarize', got 'drop'",
        ),
        *(
            (
                {"ceiling": value},
                f"least 16 tokens, got {value!r}",
            )
            for value in (0, -0.5, "big", True, float("nan"))
        ),
        (TOKENS | {"token_budget_trigger_percentage": 0.8}, "needs context_window_size"),
        (
            WINDOW | {"token_budget_preserve_percentage": 0.9},
            "must be at most token_budget_trigger_percentage=0.8",
        ),
        (
            {"token_budget_trigger_percentage": 1.5},
            "token_budget_trigger_percentage must be above 0 and at most 1, got 1.5",
        ),
        (
            {"token_budget_preserve_percentage": 0},
            "token_budget_preserve_percentage must be above 0",
        ),
        (
            {"token_budget_preserve_percentage": "a"},
            "token_budget_preserve_percentage must be above 0",
        ),
    ],
)
def test_a_value_that_is_not_allowed_is_named(fields: dict[str, object], said: str) -> None:
    """The error names the field, the value and what is allowed."""
    with pytest.raises(ConfigError) as caught:
        HistoryReductionConfig(**fields)  # type: ignore[arg-type]

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        *(
            (
                {"counting_unit": "messages", "context_window_size": 10_000, name: value},
                f"{name}={value} has no effect with counting_unit='messages'",
            )
            for name, value in (
                ("max_token_budget", 9000),
                ("target_token_budget", 9),
                ("token_budget_threshold", 9),
                ("token_budget_trigger_percentage", 0.8),
            )
        ),
        (
            TOKENS | {"target_count": 3},
            "target_count=3 has no effect with counting_unit='tokens'",
        ),
        (
            TOKENS | {"summarization_threshold": 0},
            "summarization_threshold=0 has no effect with counting_unit='tokens'",
        ),
        (
            WINDOW | {"target_token_budget": 300},
            "target_token_budget=300 has no effect with token_budget_trigger_percentage",
        ),
        (
            WINDOW | {"token_budget_threshold": 300},
            "token_budget_threshold=300 has no effect with token_budget_trigger_percentage",
        ),
        (
            {"token_budget_preserve_percentage": 0.4},
            "token_budget_preserve_percentage=0.4 has no effect with no token_budget_trigger",
        ),
        (
            {"token_budget_threshold": 4},
            "token_budget_threshold=4 has no effect with no target_token_budget",
        ),
        (
            {"strategy": "clearing", "custom_summarization_prompt": "x"},
            "custom_summarization_prompt='x' has no effect with strategy='clearing'",
        ),
        (
            {"strategy": "message_counting", "summarizer_provider": provider("m")},
            "has no effect with strategy='message_counting'",
        ),
        (
            {"strategy": "message_counting", "use_single_summary": False},
            "use_single_summary=False has no effect with strategy='message_counting'",
        ),
        (
            {"strategy": "clearing", "clear_tool_results": False},
            "clear_tool_results=False has no effect with strategy='clearing'",
        ),
    ],
)
def test_a_field_without_effect_is_refused(fields: dict[str, object], said: str) -> None:
    """A field that is set away from its default says something; if it cannot, that is an error."""
    with pytest.raises(ConfigError) as caught:
        HistoryReductionConfig(**fields)  # type: ignore[arg-type]

    assert said in str(caught.value)
    # What is off may keep the fields of what it was.
    HistoryReductionConfig(enabled=False, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("history_reduction_behavior_override", "stop", "'continue' or"),
        *(("skip_history_reduction", value, "a bool, got") for value in ("no", 1, None)),
        ("trigger_history_reduction", "no", "a bool, got"),
    ],
)
def test_options_of_a_run_are_checked(field: str, value: object, told: str) -> None:
    """A behavior that does not exist is refused, and a str that would otherwise count as yes."""
    with pytest.raises(ConfigError, match=f"{field} must be {told}"):
        AgentRunConfig(**{field: value})  # type: ignore[arg-type]


def test_a_key_is_never_shown() -> None:
    """The repr of a provider hides the key, and says when there is none."""
    secret = repr(ProviderConfig(provider_key="openai", model_name="m", api_key="sk-1"))
    without = repr(ProviderConfig(provider_key="openai", model_name="m"))

    assert "sk-1" not in secret
    assert "api_key='***'" in secret
    assert "api_key=None" in without


@pytest.mark.parametrize(
    ("changes", "is_another"),
    [
        ({"strategy": "message_counting"}, True),
        ({"counting_unit": "messages"}, True),
        ({"use_single_summary": False}, True),
        ({"custom_summarization_prompt": "in French"}, True),
        ({"summarizer_provider": provider("small")}, True),
        ({"target_count": 3}, False),
        ({"summarization_threshold": 9}, False),
        ({"behavior": "circuit_breaker"}, False),
        ({"enabled": False}, False),
        ({"custom_summarization_prompt": ""}, False),
    ],
)
def test_what_shapes_a_summary_is_in_the_fingerprint(
    changes: dict[str, object], *, is_another: bool
) -> None:
    """What shapes a summary changes it; what decides when to fold, or an empty prompt, does not."""
    other = fingerprint(msgspec.structs.replace(BASE, **changes))

    assert (other != fingerprint(BASE)) is is_another


def test_the_names_of_summarizers_count_and_keys_do_not() -> None:
    """Who writes is part of the shape; the key that pays for it is not."""
    one = msgspec.structs.replace(BASE, summarizer_provider=provider("m", "key-1"))
    two = msgspec.structs.replace(BASE, summarizer_provider=provider("m", "key-2"))

    assert fingerprint(BASE, ["a"]) != fingerprint(BASE, ["b"])
    assert fingerprint(one) == fingerprint(two)


def test_message_counting_knows_no_summarizer() -> None:
    """Where nothing is written, it does not matter who would write."""
    counting = HistoryReductionConfig(strategy="message_counting")

    assert fingerprint(counting, ["a"]) == fingerprint(counting, ["b"])
    assert len(fingerprint(counting)) == 16


@pytest.mark.parametrize("field", ["provider_key", "model_name", "api_key", "base_url"])
def test_a_provider_has_text_fields(field: str) -> None:
    """A field of another type is refused when the provider is made."""
    fields: Any = {"provider_key": "openai", "model_name": "gpt-5-mini", field: 3}

    with pytest.raises(ConfigError, match=f"^{field} must be a str.*, got int$"):
        ProviderConfig(**fields)


CEILING = "ceiling must be a share of the window above 0 and at most 1.0, or a whole number of at"
COUNTS: dict[str, object] = {"strategy": "message_counting"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"ceiling": 1.5}, f"{CEILING} least 16 tokens, got 1.5"),
        ({"ceiling": float("inf")}, f"{CEILING} least 16 tokens, got inf"),
        ({"ceiling": float("nan")}, f"{CEILING} least 16 tokens, got nan"),
        ({"ceiling": 15}, f"{CEILING} least 16 tokens, got 15"),
        ({"ceiling": 99.5}, f"{CEILING} least 16 tokens, got 99.5"),
        ({"ceiling": 0}, f"{CEILING} least 16 tokens, got 0"),
        ({"ceiling": -0.5}, f"{CEILING} least 16 tokens, got -0.5"),
        ({"ceiling": "big"}, f"{CEILING} least 16 tokens, got 'big'"),
        ({"ceiling": True}, f"{CEILING} least 16 tokens, got True"),
        (
            {"ceiling": 9_001, "context_window_size": 9_000},
            "ceiling must be at most context_window_size=9000, got 9001",
        ),
        (
            {"reserve": 9_000, "context_window_size": 9_000},
            "reserve must be below context_window_size=9000, got 9000",
        ),
        (
            COUNTS | {"quote_user_messages": 300},
            "quote_user_messages=300 has no effect with strategy='message_counting'",
        ),
        (
            COUNTS | {"tool_rules": {"read": "keep", "look": "never_summarize"}},
            "tool_rules['look']='never_summarize' has no effect with strategy='message_counting'",
        ),
    ],
)
def test_sizes_that_fit_nothing_and_quotes_beside_no_summary_are_refused(
    fields: dict[str, Any], said: str
) -> None:
    """The error names the field, the value and what is expected."""
    with pytest.raises(ConfigError) as caught:
        HistoryReductionConfig(**fields)

    assert str(caught.value) == said


@pytest.mark.parametrize("ceiling", [0.5, 1.0, 1, 16, 9_000.0])
def test_a_ceiling_is_a_share_or_whole_tokens(ceiling: float) -> None:
    """A whole number may be written as a float."""
    config = HistoryReductionConfig(ceiling=ceiling, context_window_size=9_000, reserve=8_999)

    assert config.ceiling == ceiling


def test_dropping_for_one_run_leaves_out_what_is_quoted() -> None:
    """Quotes and rules for them have no effect in a run that drops messages, and are no error."""
    config = HistoryReductionConfig(
        quote_user_messages=300, tool_rules={"read": "keep", "look": "never_summarize"}
    )
    run = config_of_run(
        config, AgentRunConfig(history_reduction_strategy_override="message_counting")
    )

    assert (run.quote_user_messages, run.tool_rules) == (0, {"read": "keep"})
