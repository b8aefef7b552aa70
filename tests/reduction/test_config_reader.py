"""Reading a configuration in each of its spellings."""

import pytest

from foldline.errors import ConfigError, FormatError
from foldline.reduction.config import HistoryReductionConfig, Limits
from foldline.reduction.config_reader import config_from_json, config_from_mapping, config_from_toml
from foldline.reduction.provider import ProviderConfig


ORIGINAL = """
{
    "HistoryReduction": {
        "Enabled": true,
        "Strategy": "MessageCounting",
        "Behavior": "Continue",
        "CountingUnit": "Exchanges",
        "TargetCount": 20,
        "SummarizationThreshold": 5,
        "UseSingleSummary": true,
        "CustomSummarizationPrompt": null,
        "SummarizerProvider": null
    }
}
"""


def test_the_json_of_the_original_loads_as_it_is() -> None:
    """The documented example of the C# framework is a configuration of ours."""
    assert config_from_json(ORIGINAL) == HistoryReductionConfig(
        strategy="message_counting",
        counting_unit="exchanges",
        target_count=20,
        summarization_threshold=5,
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"counting_unit": "messages", "target_count": 3, "strategy": "summarizing"}',
        '{"countingUnit": "messages", "targetCount": 3, "strategy": "Summarizing"}',
        '{"CountingUnit": "Messages", "TargetCount": 3, "Strategy": "Summarizing"}',
        '{"counting-unit": "messages", "TargetMessageCount": 3, "Strategy": "SUMMARIZING"}',
        """{"history_reduction": {"CountingUnit": "Messages", "TargetCount": 3,
        "Strategy": "Summarizing"}, "Name": "agent"}""",
    ],
)
def test_every_spelling_means_the_same(text: str) -> None:
    """snake_case, camelCase, PascalCase and the old name are one configuration."""
    wanted = HistoryReductionConfig(
        counting_unit="messages", target_count=3, strategy="summarizing"
    )

    assert config_from_json(text) == wanted


@pytest.mark.parametrize(
    ("changes", "limits"),
    [
        ({}, Limits(20, 5)),
        ({"Strategy": "Summarizing", "TargetCount": 10}, Limits(10, 5)),
        ({"Strategy": "TokenBased"}, Limits(4000, 1000)),
        (
            {
                "Strategy": "TokenBased",
                "TokenBudgetTriggerPercentage": 0.8,
                "ContextWindowSize": 10_000,
            },
            Limits(3000, 5000),
        ),
    ],
)
def test_a_file_that_names_every_field_loads(changes: dict[str, object], limits: Limits) -> None:
    """What has no effect there and is the original's default is left out, and not refused."""
    every = {
        "Enabled": True,
        "Strategy": "MessageCounting",
        "Behavior": "Continue",
        "CountingUnit": "Exchanges",
        "TargetCount": 20,
        "SummarizationThreshold": 5,
        "CustomSummarizationPrompt": "",
        "SummarizerProvider": None,
        "UseSingleSummary": True,
        "MaxTokenBudget": None,
        "TargetTokenBudget": 4000,
        "TokenBudgetThreshold": 1000,
        "TokenBudgetTriggerPercentage": None,
        "TokenBudgetPreservePercentage": 0.3,
        "ContextWindowSize": None,
    }

    assert config_from_mapping(every | changes).limits == limits


@pytest.mark.parametrize("unit", ["", '"CountingUnit": "Tokens", '])
def test_the_token_strategy_of_the_original_summarizes_by_tokens(unit: str) -> None:
    """`TokenBased` and its two budgets are our summarizing strategy with tokens as the unit."""
    text = f'{{{unit}"Strategy": "TokenBased", "TargetTokenCount": 900, "ThresholdTokenCount": 90}}'

    assert config_from_json(text) == HistoryReductionConfig(
        strategy="summarizing",
        counting_unit="tokens",
        target_token_budget=900,
        token_budget_threshold=90,
    )


def test_every_field_can_be_read() -> None:
    """No field of the configuration is left out by the reader."""
    fields = {
        "Enabled": False,
        "Strategy": "Clearing",
        "Behavior": "CircuitBreaker",
        "CountingUnit": "Tokens",
        "TargetCount": 9,
        "SummarizationThreshold": None,
        "CustomSummarizationPrompt": "short",
        "SummarizerProvider": {"ProviderKey": "openai", "ModelName": "m", "ApiKey": "k"},
        "UseSingleSummary": False,
        "MaxTokenBudget": 9000,
        "TargetTokenBudget": 500,
        "TokenBudgetThreshold": 50,
        "TokenBudgetTriggerPercentage": 0.9,
        "TokenBudgetPreservePercentage": 0.5,
        "ContextWindowSize": 10_000,
        "Ceiling": 0.5,
        "Reserve": 100,
        "QuoteUserMessages": 50,
        "LargestMessage": 0.5,
        "ClearToolResults": False,
        "ToolRules": {"Read_File": "never_summarize"},
        "Trigger": "count",
        "Prices": {
            "Input": 3,
            "Output": 15,
            "CachedRead": 0.3,
            "Tiers": [{"above": 200_000, "input": 6, "output": 22.5}],
        },
        "LossCost": 0.0,
        "Redact": "always",
        "Retention": "full",
    }
    config = config_from_mapping(fields)

    assert len(fields) == len(HistoryReductionConfig.__struct_fields__)
    assert config.behavior == "circuit_breaker"
    assert config.summarizer_provider == ProviderConfig(
        provider_key="openai", model_name="m", api_key="k"
    )
    assert config.limits is not None
    assert config.limits.ceiling == 9000
    assert config.tool_rules == {"Read_File": "never_summarize"}
    assert all(
        getattr(config, name) != getattr(HistoryReductionConfig(), name)
        for name in config.__struct_fields__
        if name not in {"summarization_threshold", "loss_cost", "retention"}
    )


def test_a_provider_object_is_taken_as_it_is() -> None:
    """A mapping may hold a ready provider."""
    provider = ProviderConfig(provider_key="openai", model_name="m")

    assert config_from_mapping({"summarizer_provider": provider}).summarizer_provider is provider


@pytest.mark.parametrize("table", ["", "[history_reduction]\n", "[HistoryReduction]\n"])
def test_toml_reads_with_or_without_a_table(table: str) -> None:
    """The fields may stand at the top of a TOML file or in a table of their own."""
    config = config_from_toml(f'{table}enabled = true\nTargetCount = 4\nStrategy = "summarizing"')

    assert (config.enabled, config.target_count, config.strategy) == (True, 4, "summarizing")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"Target": 3}', "unknown key 'Target'; the nearest known one is 'target_count'"),
        ('{"SumarizationThreshold": 3}', "nearest known one is 'summarization_threshold'"),
        ('{"zzz": 3}', "unknown key 'zzz'; use enabled, strategy, "),
        ('{"TargetCount": 1, "target_count": 2}', "target_count is given twice"),
        ('{"TargetMessageCount": 1, "target_count": 2}', "target_count is given twice"),
        ('{"TargetCount": "many"}', "target_count='many': expected `int | null`, got `str`"),
        (
            '{"TargetCount": -3}',
            "target_count must be a whole number of at least 1 or None, got -3",
        ),
        ('{"Enabled": "yes"}', "enabled='yes': expected `bool`"),
        ('{"Strategy": "Shrinking"}', "strategy must be 'summarizing' or"),
        ('{"Strategy": 3}', "got 3"),
        (
            '{"Strategy": "TokenBased", "CountingUnit": "Messages"}',
            "counting_unit must be 'tokens' with the strategy TokenBased, got 'messages'",
        ),
        ("[1]", "a configuration must be an object with fields, got list"),
        ('{"HistoryReduction": 1}', "a configuration must be an object with fields, got int"),
        (
            '{"SummarizerProvider": "openai"}',
            "summarizer_provider must be an object with fields, got str",
        ),
        ('{"SummarizerProvider": {"Model": "m"}}', "the nearest known one is 'model_name'"),
        ('{"SummarizerProvider": {"ProviderKey": "a"}}', "ModelName"),
        (
            '{"SummarizerProvider": {"ProviderKey": "a", "ModelName": "m", "ApiKey": 12345}}',
            "api_key=***: expected",
        ),
    ],
)
def test_what_cannot_be_read_is_named(text: str, said: str) -> None:
    """The error names the key, the value and the nearest key or what is allowed."""
    with pytest.raises(ConfigError) as caught:
        config_from_json(text)

    assert said.casefold().replace("_", "") in str(caught.value).casefold().replace("_", "")
    assert "12345" not in str(caught.value)


def test_what_is_no_document_is_refused_with_the_place() -> None:
    """What is not JSON or not TOML at all is refused as such, with the line."""
    with pytest.raises(FormatError, match="not JSON: line 1"):
        config_from_json("{enabled")
    with pytest.raises(ConfigError, match=r"not TOML: .*line 1"):
        config_from_toml("enabled = = true\n")
