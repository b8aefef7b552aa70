"""A tool as a model sees it."""

from collections.abc import Mapping

from msgspec import Struct


__all__ = ["ToolDefinition"]


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """What a model is told about a tool."""

    name: str
    """The name that the model calls it by: 1 to 64 of `A-Z a-z 0-9 _ -`."""

    description: str = ""
    """What it does and when to use it."""

    parameters: Mapping[str, object]
    """The JSON schema of its arguments: an object."""
