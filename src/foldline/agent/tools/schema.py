"""
The JSON schema of a tool's arguments, in a form that every vendor accepts.

Definitions are inlined, since not every vendor follows references; only recursive ones stay in
`$defs`. An array always has `items`, which OpenAI demands, and an enumeration always has a `type`,
which others do. Types with a schema of their own, such as pydantic models, are known by their methods.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias, cast, runtime_checkable

import msgspec
from msgspec import UNSET, Struct

from foldline.agent.tools.signature import Parameter
from foldline.errors import ConfigError


JsonSchema: TypeAlias = dict[str, Any]
"""A JSON schema, or a part of one."""

_REFERENCE: Final = "#/$defs/"
_NAMED = frozenset({"properties", "patternProperties"})
_NOISE = frozenset({"title", "discriminator"})
_VALUES = frozenset({"const", "default", "enum", "examples"})
_KINDS: Mapping[type, str] = MappingProxyType({str: "string", int: "integer", bool: "boolean"})


def schema_of(parameters: Sequence[Parameter], *, name: str) -> JsonSchema:
    """Return the schema of the arguments that the tool *name* takes."""
    schemas, definitions = _components(parameters, name)
    flat = _Flat(definitions)
    properties: JsonSchema = {}
    for one, schema in zip(parameters, schemas, strict=True):
        told = {"description": one.description} if one.description else {}
        properties[one.name] = {**flat.of(schema), **told, **_default(one.default)}
    required = [one.name for one in parameters if one.default is UNSET]
    whole: JsonSchema = {"type": "object", "properties": properties}
    if required:
        whole["required"] = required
    whole["additionalProperties"] = False
    return {**whole, "$defs": flat.recursive} if flat.recursive else whole


def _components(
    parameters: Iterable[Parameter], name: str
) -> tuple[tuple[JsonSchema, ...], dict[str, JsonSchema]]:
    annotations: list[Any] = []
    schemas: tuple[JsonSchema, ...] = ()
    definitions: dict[str, JsonSchema] = {}
    foreign: dict[str, JsonSchema] = {}
    # All parameters so far each time, so that the failing one is known and names are unique.
    for one in parameters:
        annotations.append(one.annotation)
        try:
            schemas, definitions = msgspec.json.schema_components(
                annotations,
                schema_hook=partial(_foreign_schema, foreign),
                ref_template=_REFERENCE + "{name}",
            )
        except (TypeError, ValueError, NameError) as error:
            reason = str(error).partition("\n")[0]
            message = f"parameter {one.name!r} of tool {name!r} has no JSON schema: {reason}"
            raise ConfigError(message) from error
    return schemas, {**definitions, **foreign}


def _default(value: object) -> JsonSchema:
    # The model need not know a default that is not JSON.
    if value is UNSET:
        return {}
    try:
        return {"default": msgspec.json.decode(msgspec.json.encode(value))}
    except (TypeError, ValueError, RecursionError):
        return {}


class _Flat(Struct):
    """Writes schemas without titles, with `items` in every array, and with inlined definitions."""

    definitions: Mapping[str, JsonSchema]
    # Those that are still referred to.
    recursive: JsonSchema = {}

    def of(self, value: Any, inside: tuple[str, ...] = ()) -> Any:
        """Return *value*, a part of a schema that is *inside* of definitions."""
        if isinstance(value, list):
            items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - of any kind
            return [self.of(one, inside) for one in items]
        if not isinstance(value, dict):
            return value
        schema = cast("JsonSchema", value)
        key = str(schema.get("$ref", "")).removeprefix(_REFERENCE)
        if key in inside:
            self.recursive.setdefault(key, {})
        if key in self.recursive:
            return schema
        if key not in self.definitions:
            return self._tidy(schema, inside)
        whole = self.of(self.definitions[key], (*inside, key))
        if key in self.recursive:
            self.recursive[key] = whole
            return schema
        return {**whole, **{name: one for name, one in schema.items() if name != "$ref"}}

    def _tidy(self, schema: JsonSchema, inside: tuple[str, ...]) -> JsonSchema:
        tidy: JsonSchema = {}
        for name, one in schema.items():
            if name in _VALUES:
                tidy[name] = one
            elif name in _NAMED:
                tidy[name] = {key: self.of(inner, inside) for key, inner in one.items()}
            elif name not in _NOISE:
                tidy[name] = self.of(one, inside)
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


@runtime_checkable
class _Model(Protocol):
    def model_validate(self, value: object) -> object: ...

    def model_json_schema(self, *, ref_template: str) -> JsonSchema: ...


def _foreign_schema(definitions: JsonSchema, kind: type) -> JsonSchema:
    """Return the schema of *kind*, a model of another library, and note its *definitions*."""
    if not isinstance(kind, _Model):
        raise TypeError(f"{kind} has no JSON schema")
    # With the full name in front, definitions of two models never collide.
    prefix = f"{kind.__module__}.{kind.__qualname__}."
    schema = dict(kind.model_json_schema(ref_template=f"{_REFERENCE}{prefix}{{model}}"))
    for name, one in schema.pop("$defs", {}).items():
        definitions[f"{prefix}{name}"] = one
    return schema


def foreign_value(kind: type, value: object) -> object:
    """Return *value*, which was read from JSON, as an instance of *kind*."""
    try:
        # A type without a schema was refused when the tool was made.
        return cast("_Model", kind).model_validate(value)
    except ValueError as error:
        message = _faults(error)
    # Outside the handler: the error of another library shows the whole input.
    raise ValueError(message)


def _faults(error: ValueError) -> str:
    found: object = getattr(error, "errors", None)
    if not callable(found):
        return str(error)
    faults: list[str] = []
    for one in cast("Sequence[dict[str, Any]]", cast("Callable[[], object]", found)()):
        place, said = ".".join(map(str, one.get("loc", ()))), str(one.get("msg", "not allowed"))
        faults.append(f"{place}: {said}" if place else said)
    return "; ".join(faults)


def plain_value(value: object) -> object:
    """Return *value*, which JSON cannot represent, as something that it can: if need be, a string."""
    dump: object = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    # The arrays and numbers of NumPy, whose text leaves out the middle of what is long.
    items: object = getattr(value, "tolist", None)
    return items() if callable(items) and not isinstance(value, type) else str(value)
