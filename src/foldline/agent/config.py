"""The options of an agent, and an agent as JSON or TOML describes it."""

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from foldline.agent.reducer import DEFAULT_TIMEOUT
from foldline.checks import expect, expect_seconds, expect_whole
from foldline.errors import ConfigError
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.config_reader import (
    as_fields,
    config_from_mapping,
    convert_fields,
    provider_from_mapping,
    read_fields,
    read_json,
    read_toml,
)
from foldline.reduction.provider import ProviderConfig


_LOG = logging.getLogger("foldline")

_OLD_NAMES = MappingProxyType(
    {"instructions": "system_instructions", "maxagenticiterations": "max_iterations"}
)
_OLD_OPTIONS = MappingProxyType({"maxagenticiterations": "max_iterations"})


class AgentOptions(Struct, frozen=True, kw_only=True):
    """
    Limits of a turn, and how its tools run.

    Raises:
        ConfigError: A value is wrong; the message names the field and what is expected.
    """

    max_iterations: int = 25
    """The maximum number of model calls in one turn."""

    max_consecutive_failures: int = 3
    """The maximum number of model calls in a row whose tool calls all fail."""

    max_identical_calls: int = 3
    """The turn ends when a tool is called this many times in a row with the same arguments; the last
    of these calls does not run."""

    max_duration: float | None = None
    """After how many seconds a turn makes no further model call; None for no limit."""

    max_overflow_folds: int = 3
    """How often a model call is retried with a smaller view if the vendor refuses it as too long."""

    parallel_tool_calls: bool = True
    """Whether the tool calls of one response run at the same time."""

    terminate_on_unknown_tools: bool = False
    """Whether a call of an unknown tool ends the turn; otherwise the model gets an error."""

    summarizer_timeout: float = DEFAULT_TIMEOUT
    """How many seconds summarizers may take for one fold; then the digest writes the summary."""

    summary_budget: int | None = None
    """
    The most tokens of a summary; None is 1,500, or an eighth of the ceiling if less.

    A summary is always shorter than what it replaces.
    """

    settings: Mapping[str, object] = {}
    """Further settings of each request, such as `temperature`, as the vendor names them."""

    def __post_init__(self) -> None:
        expect_whole("max_iterations", self.max_iterations, 1)
        expect_whole("max_consecutive_failures", self.max_consecutive_failures, 1)
        expect_whole("max_identical_calls", self.max_identical_calls, 2)
        expect_whole("max_overflow_folds", self.max_overflow_folds, 0)
        expect("parallel_tool_calls", self.parallel_tool_calls, bool)
        expect("terminate_on_unknown_tools", self.terminate_on_unknown_tools, bool)
        expect_whole("summary_budget", self.summary_budget, 1, optional=True)
        expect("settings", self.settings, Mapping)
        for name, value in self.settings.items():
            if isinstance(value, type):
                message = f"settings[{name!r}] must be what JSON can say, such as a schema, got the class {value.__name__}"
                raise ConfigError(message)
        if self.max_duration is not None:
            expect_seconds("max_duration", self.max_duration)
        expect_seconds("summarizer_timeout", self.summarizer_timeout)


class AgentConfig(Struct, frozen=True, kw_only=True):
    """What `Agent.from_config` builds an agent from."""

    name: str = "agent"
    """The name of the agent."""

    system_instructions: str = ""
    """The system prompt: sent before every view, not stored with a thread."""

    provider: ProviderConfig | None = None
    """The model."""

    history_reduction: HistoryReductionConfig = HistoryReductionConfig()
    """How and when to reduce."""

    options: AgentOptions = AgentOptions()
    """Limits of a turn."""


def agent_config_from_json(text: str | bytes) -> AgentConfig:
    """
    Read the description of an agent from a JSON object.

    Keys may be written in snake_case, camelCase or PascalCase.

    Raises:
        ConfigError: A key is unknown (the nearest known one is named) or a value is wrong.
        FormatError: *text* is not JSON.
    """
    return agent_config_from_mapping(read_json(text))


def agent_config_from_toml(text: str) -> AgentConfig:
    """Read the description of an agent from TOML; see `agent_config_from_json`."""
    return agent_config_from_mapping(read_toml(text))


def agent_config_from_mapping(data: Mapping[str, Any]) -> AgentConfig:
    """Read the description of an agent from a mapping; see `agent_config_from_json`."""
    fields = read_fields(as_fields(data, "an agent"), AgentConfig, "agent", old_names=_OLD_NAMES)
    if fields.get("provider") is not None:
        fields["provider"] = provider_from_mapping(fields["provider"], "provider")
    if "history_reduction" in fields:
        section = as_fields(fields["history_reduction"], "history_reduction")
        fields["history_reduction"] = config_from_mapping(section)
    section = as_fields(fields.get("options", {}), "options")
    options = read_fields(section, AgentOptions, "options", old_names=_OLD_OPTIONS)
    if "max_iterations" in fields:
        options.setdefault("max_iterations", fields.pop("max_iterations"))
    fields["options"] = convert_fields(options, AgentOptions)
    return convert_fields(fields, AgentConfig)


def warn_of_vendor_edits(settings: Mapping[str, object]) -> None:
    """
    Warn if *settings* let the vendor cut, clear or compact what foldline folds already.

    Source: developers.openai.com, "Compaction", and the field `truncation` of the Responses API;
    platform.claude.com, "Context editing"; read on 2026-11-22. pydantic-ai puts a vendor's name in
    front of both.
    """
    names = [name for name, value in settings.items() if _edits(name, value)]
    if names:
        text = (
            "the settings (%s) let the vendor edit a conversation that foldline folds, so the model "
            "may see less than the view: leave them out, or set enabled=False"
        )
        _LOG.warning(text, ", ".join(names))


def _edits(name: str, value: object) -> bool:
    if name.endswith("truncation"):
        return value == "auto"
    return name.endswith("context_management") and bool(value)
