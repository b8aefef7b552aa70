"""The tools of a request, as each vendor wants them described."""

from collections.abc import Iterable, Mapping

from foldline.history.formats.fields import Object, maybe_list, maybe_object
from foldline.history.formats.wire import is_object
from foldline.providers.tool_definition import ToolDefinition


__all__ = ["anthropic_tools", "is_strict", "openai_chat_tools", "openai_responses_tools"]


_STRICT_KEYS = frozenset(
    {
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "description",
        "enum",
        "items",
        "properties",
        "required",
        "title",
        "type",
    }
)
"""What a schema may hold for a vendor to promise arguments that fit it."""


def openai_chat_tools(tools: Iterable[ToolDefinition], *, strict: bool) -> list[Object]:
    """Write *tools* for Chat Completions; *strict* where the vendor knows strict schemas at all."""
    return [{"type": "function", "function": _chat_function(tool, strict)} for tool in tools]


def _chat_function(tool: ToolDefinition, strict: bool) -> Object:  # noqa: FBT001
    function = _described(tool) | {"parameters": dict(tool.parameters)}
    return function | ({"strict": True} if strict and is_strict(tool.parameters) else {})


def openai_responses_tools(tools: Iterable[ToolDefinition]) -> list[Object]:
    """Write *tools* for Responses, where a schema is strict unless it says that it is not."""
    return [
        {
            "type": "function",
            **_described(tool),
            "parameters": dict(tool.parameters),
            "strict": is_strict(tool.parameters),
        }
        for tool in tools
    ]


def anthropic_tools(tools: Iterable[ToolDefinition]) -> list[Object]:
    """Write *tools* for Anthropic Messages."""
    return [_described(tool) | {"input_schema": dict(tool.parameters)} for tool in tools]


def _described(tool: ToolDefinition) -> Object:
    return {"name": tool.name} | ({"description": tool.description} if tool.description else {})


def is_strict(schema: Mapping[str, object]) -> bool:
    """
    Whether OpenAI takes *schema* as strict: an object, every property required, and no others.
    """
    return schema.get("type") == "object" and _is_strict(dict(schema))


def _is_strict(schema: Object) -> bool:
    if not schema.keys() <= _STRICT_KEYS:
        return False
    properties = maybe_object(schema.get("properties"))
    kind = schema.get("type")
    if "object" in (kind if isinstance(kind, list) else [kind]) and (
        schema.get("additionalProperties") is not False
        or set(maybe_list(schema.get("required"))) != properties.keys()
    ):
        return False
    inner = [*properties.values(), *maybe_object(schema.get("$defs")).values()]
    inner += maybe_list(schema.get("anyOf"))
    inner += [schema["items"]] if "items" in schema else []
    return all(is_object(one) and _is_strict(one) for one in inner)
