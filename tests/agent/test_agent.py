"""The face of the agent: what it takes, what it refuses, and the blocking twin of `run`."""

import logging

import pytest

from foldline import (
    Agent,
    ConfigError,
    HistoryReductionConfig,
    Message,
    ModelSummarizer,
    ProviderConfig,
)
from foldline.agent.config import (
    AgentOptions,
    agent_config_from_json,
    agent_config_from_mapping,
    agent_config_from_toml,
)
from foldline.errors import FormatError
from foldline.testing.model import ScriptedModel


DOCUMENTED = """
{
  "Name": "Support",
  "SystemInstructions": "Be brief.",
  "MaxAgenticIterations": 12,
  "Provider": {"ProviderKey": "openai", "ModelName": "gpt-5-mini", "ApiKey": "secret"},
  "HistoryReduction": {
    "Enabled": true,
    "Strategy": "Summarizing",
    "TargetMessageCount": 10,
    "SummarizationThreshold": 3,
    "SummarizerProvider": {"ProviderKey": "openai", "ModelName": "gpt-5-nano", "ApiKey": "other"}
  }
}
"""


def test_the_documented_json_makes_an_agent() -> None:
    """PascalCase keys of the C# original describe the agent, its provider and its reduction."""
    config = agent_config_from_json(DOCUMENTED)

    assert (config.name, config.system_instructions) == ("Support", "Be brief.")
    assert config.options.max_iterations == 12
    assert config.provider is not None
    assert config.provider.model_name == "gpt-5-mini"
    assert config.history_reduction.target_count == 10
    assert config.history_reduction.summarizer_provider is not None
    assert "secret" not in repr(config)


def test_an_agent_is_built_from_its_description() -> None:
    """The name, the instructions and the models are those of the description."""
    agent = Agent.from_config(agent_config_from_json(DOCUMENTED))

    assert (agent.name, agent.instructions) == ("Support", "Be brief.")
    assert "gpt-5-mini" in agent.model.name
    assert agent.reducer.config.target_count == 10


def test_toml_says_the_same() -> None:
    """The same description in TOML and snake_case is equal."""
    text = """
    name = "Support"
    system_instructions = "Be brief."
    [options]
    max_iterations = 12
    [provider]
    provider_key = "openai"
    model_name = "gpt-5-mini"
    api_key = "secret"
    [history_reduction]
    enabled = true
    strategy = "summarizing"
    target_count = 10
    summarization_threshold = 3
    [history_reduction.summarizer_provider]
    provider_key = "openai"
    model_name = "gpt-5-nano"
    api_key = "other"
    """

    assert agent_config_from_toml(text) == agent_config_from_json(DOCUMENTED)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"Naame": "x"}, "nearest known one is 'name'"),
        ({"options": {"max_iteration": 3}}, "nearest known one is 'max_iterations'"),
        ({"options": {"max_iterations": 0}}, "max_iterations must be .*, got 0"),
        ({"options": []}, "options must be an object with fields, got list"),
        ({"provider": "openai"}, "provider must be an object with fields, got str"),
        ({"history_reduction": {"target_count": -1}}, "target_count must be .*, got -1"),
        ({"history_reduction": 7}, "history_reduction must be an object with fields, got int"),
        ({"name": 7}, "name=7"),
        ([], "an agent must be an object with fields, got list"),
    ],
)
def test_a_wrong_description_is_refused(data: object, says: str) -> None:
    """The error names the field, the value and what is allowed."""
    with pytest.raises(ConfigError, match=says):
        agent_config_from_mapping(data)  # type: ignore[arg-type]


def test_text_that_is_no_json_is_refused() -> None:
    """It is a format error, as everywhere."""
    with pytest.raises(FormatError):
        agent_config_from_json("{")
    with pytest.raises(ConfigError, match="not TOML"):
        agent_config_from_toml("= 3")


def test_a_summarizer_reads_no_more_than_its_window() -> None:
    """What is to be summarized goes to a model with a small window in pieces."""

    class Small(ScriptedModel):
        context_window = 1000

    long = "about the weather, the trains and many other things that take some words " * 5
    summarizer = Small(repeat="Summary of the conversation so far:\nthey talked\nEnd of summary.")
    config = HistoryReductionConfig(target_count=1, summarization_threshold=1)
    agent = Agent(
        ScriptedModel(["fine"]), history_reduction=config, summarizer=ModelSummarizer(summarizer)
    )
    said = [one for n in range(9) for one in (Message.user(long), Message.assistant(f"{n} {long}"))]
    agent.run_sync([*said, Message.user("and now?")])

    assert len(summarizer.requests) > 2


def test_the_provider_of_the_configuration_summarizes() -> None:
    """The summarizer is the model that the reduction names, and not that of the agent."""
    provider = ProviderConfig(provider_key="openai", model_name="gpt-5-nano", api_key="k")
    config = HistoryReductionConfig(summarizer_provider=provider)
    one = Agent(ScriptedModel(), history_reduction=config)
    other = Agent(
        ScriptedModel(),
        history_reduction=HistoryReductionConfig(),
    )

    assert one.reducer.config_fingerprint != other.reducer.config_fingerprint


EDITS: dict[str, object] = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}


@pytest.mark.parametrize(
    "settings",
    [
        EDITS,
        {"truncation": "auto", "temperature": 0.5},
        {"context_management": [{"type": "compaction", "compact_threshold": 9}]},
        {"openai_truncation": "auto"},
    ],
)
def test_edits_of_the_vendor_give_one_warning(
    settings: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    """Settings that let the vendor edit what foldline folds are named, once."""
    on = HistoryReductionConfig()
    with caplog.at_level(logging.WARNING, logger="foldline"):
        Agent(ScriptedModel(["a"]), history_reduction=on, options=AgentOptions(settings=settings))

    (found,) = caplog.messages
    assert next(iter(settings)) in found


@pytest.mark.parametrize(
    ("settings", "enabled"),
    [({"truncation": "disabled", "context_management": []}, True), (EDITS, False)],
)
def test_no_edits_no_warning(
    settings: dict[str, object], *, enabled: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is said if the vendor edits nothing, or foldline does not."""
    config = HistoryReductionConfig(enabled=enabled)
    with caplog.at_level(logging.WARNING, logger="foldline"):
        Agent(
            ScriptedModel(["a"]), history_reduction=config, options=AgentOptions(settings=settings)
        )

    assert caplog.messages == []
