"""
The JSON schema of a tool's arguments, in the shape that vendors take.

Definitions stand where they are used, since not every vendor follows references; only one that
holds itself stays in `$defs`. An array always says what its items are, which OpenAI demands, and a
choice of values of which kind they are, which others do.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

import msgspec
from msgspec import UNSET

from foldline.agent.tools.foreign import foreign_schema
from foldline.agent.tools.parameters import Parameter
from foldline.agent.tools.references import REFERENCE, JsonSchema, References
from foldline.errors import ConfigError


__all__ = ["schema_of"]


_NAMED = frozenset({"properties", "patternProperties", "$defs"})
_NOISE = frozenset({"title", "discriminator"})
_VALUES = frozenset({"const", "default", "enum", "examples"})
_KINDS: Mapping[type, str] = MappingProxyType({str: "string", int: "integer", bool: "boolean"})


def schema_of(parameters: Sequence[Parameter], *, name: str) -> JsonSchema:
    """
    Return the schema of the arguments that the tool *name* takes.

    Raises:
        ConfigError: A parameter has a type that JSON cannot hold; it is named.
    """
    schemas, definitions = _components(parameters, name)
    references = References.of(schemas, definitions)
    properties: JsonSchema = {}
    for one, schema in zip(parameters, schemas, strict=True):
        told = {"description": one.description} if one.description else {}
        given = _default(one.default)
        properties[one.name] = {**_tidy(references.inlined(schema)), **told, **given}
    required = [one.name for one in parameters if one.default is UNSET]
    whole: JsonSchema = {"type": "object", "properties": properties}
    if required:
        whole["required"] = required
    whole["additionalProperties"] = False
    kept = references.kept(properties)
    return {**whole, "$defs": _tidy(kept, is_named=True)} if kept else whole


def _components(
    parameters: Iterable[Parameter], name: str
) -> tuple[list[JsonSchema], dict[str, JsonSchema]]:
    annotations: list[Any] = []
    schemas: tuple[JsonSchema, ...] = ()
    definitions: dict[str, JsonSchema] = {}
    # All of them so far each time: so the one that does not work is known, and names are unique.
    for one in parameters:
        annotations.append(one.annotation)
        try:
            schemas, definitions = msgspec.json.schema_components(
                annotations, schema_hook=foreign_schema, ref_template=REFERENCE + "{name}"
            )
        except (TypeError, ValueError, NameError) as error:
            reason = str(error).partition("\n")[0]
            message = f"parameter {one.name!r} of tool {name!r} has no JSON schema: {reason}"
            raise ConfigError(message) from error
    return list(schemas), definitions


def _default(value: object) -> JsonSchema:
    # A default that is no JSON is the function's own affair.
    if value is UNSET:
        return {}
    try:
        return {"default": msgspec.json.decode(msgspec.json.encode(value))}
    except (TypeError, ValueError, RecursionError):
        return {}


def _tidy(value: Any, *, is_named: bool = False) -> Any:
    """Return the schema *value* without noise, in which every array says what its items are."""
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - of any kind
        return [_tidy(one) for one in items]
    if not isinstance(value, dict):
        return value
    schema = cast("JsonSchema", value)
    if is_named:
        return {key: _tidy(one) for key, one in schema.items()}
    tidy: JsonSchema = {
        key: one if key in _VALUES else _tidy(one, is_named=key in _NAMED)
        for key, one in schema.items()
        if key not in _NOISE
    }
    if tidy.get("type") == "array" and not isinstance(tidy.get("items"), dict):
        tidy["items"] = _items(tidy.get("prefixItems", []))
    if "enum" in tidy and "type" not in tidy:
        tidy |= _kind(tidy["enum"])
    return tidy


def _items(first: Sequence[JsonSchema]) -> JsonSchema:
    kinds = [one for place, one in enumerate(first) if one not in first[:place]]
    return {"anyOf": kinds} if len(kinds) > 1 else (kinds or [{}])[0]


def _kind(values: Iterable[object]) -> JsonSchema:
    kinds = {_KINDS.get(type(one)) for one in values}
    return {"type": kinds.pop()} if len(kinds) == 1 and None not in kinds else {}
