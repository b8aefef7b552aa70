"""An agent as JSON or TOML describes it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from foldline.agent.options import AgentOptions
from foldline.reduction.config import HistoryReductionConfig, ProviderConfig
from foldline.reduction.config_reader import (
    as_fields,
    config_from_mapping,
    convert_fields,
    provider_from_mapping,
    read_fields,
    read_json,
    read_toml,
)


__all__ = [
    "AgentConfig",
    "agent_config_from_json",
    "agent_config_from_mapping",
    "agent_config_from_toml",
]


_OLD_NAMES = MappingProxyType(
    {"instructions": "system_instructions", "maxagenticiterations": "max_iterations"}
)
_OLD_OPTIONS = MappingProxyType({"maxagenticiterations": "max_iterations"})


class AgentConfig(Struct, frozen=True, kw_only=True):
    """What `Agent.from_config` builds an agent from."""

    name: str = "agent"
    """The name of the agent."""

    system_instructions: str = ""
    """What stands in front of every view."""

    provider: ProviderConfig | None = None
    """Who answers."""

    history_reduction: HistoryReductionConfig = HistoryReductionConfig()
    """How and when to reduce."""

    options: AgentOptions = AgentOptions()
    """What bounds a turn."""


def agent_config_from_json(text: str | bytes) -> AgentConfig:
    """
    Read the description of an agent from a JSON object.

    Keys may be written in snake_case, camelCase or PascalCase.

    Raises:
        ConfigError: A key is unknown (the nearest known one is named) or a value is not allowed.
        FormatError: *text* is not JSON.
    """
    return agent_config_from_mapping(read_json(text))


def agent_config_from_toml(text: str) -> AgentConfig:
    """
    Read the description of an agent from TOML.

    Raises:
        ConfigError: *text* is not TOML, a key is unknown (the nearest known one is named) or a
            value is not allowed.
    """
    return agent_config_from_mapping(read_toml(text))


def agent_config_from_mapping(data: Mapping[str, Any]) -> AgentConfig:
    """
    Read the description of an agent from a mapping, as `agent_config_from_json` does.

    Raises:
        ConfigError: A key is unknown (the nearest known one is named) or a value is not allowed.
    """
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
