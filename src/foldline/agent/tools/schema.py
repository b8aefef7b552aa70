"""
The JSON schema of a tool's arguments, in a form that every vendor accepts.

Definitions are inlined, since not every vendor follows references; only recursive ones stay in
`$defs`. An array always has `items`, which OpenAI demands, and an enumeration always has a `type`,
which others do. Types with a schema of their own, such as pydantic models, are known by their methods.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias, cast, runtime_checkable

import msgspec
from msgspec import UNSET, Struct

from foldline.agent.tools.signature import Parameter
from foldline.errors import ConfigError


__all__ = ["JsonSchema", "foreign_value", "plain_value", "schema_of"]


JsonSchema: TypeAlias = dict[str, Any]
"""A JSON schema, or a part of one."""

_REFERENCE: Final = "#/$defs/"
_NAMED = frozenset({"properties", "patternProperties", "$defs"})
_NOISE = frozenset({"title", "discriminator"})
_VALUES = frozenset({"const", "default", "enum", "examples"})
_KINDS: Mapping[type, str] = MappingProxyType({str: "string", int: "integer", bool: "boolean"})


def schema_of(parameters: Sequence[Parameter], *, name: str) -> JsonSchema:
    """Return the schema of the arguments that the tool *name* takes."""
    schemas, definitions = _components(parameters, name)
    references = _References.of(schemas, definitions)
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
    # All parameters so far each time, so that the failing one is known and names are unique.
    for one in parameters:
        annotations.append(one.annotation)
        try:
            schemas, definitions = msgspec.json.schema_components(
                annotations, schema_hook=_foreign_schema, ref_template=_REFERENCE + "{name}"
            )
        except (TypeError, ValueError, NameError) as error:
            reason = str(error).partition("\n")[0]
            message = f"parameter {one.name!r} of tool {name!r} has no JSON schema: {reason}"
            raise ConfigError(message) from error
    return list(schemas), definitions


def _default(value: object) -> JsonSchema:
    # The model need not know a default that is not JSON.
    if value is UNSET:
        return {}
    try:
        return {"default": msgspec.json.decode(msgspec.json.encode(value))}
    except (TypeError, ValueError, RecursionError):
        return {}


def _tidy(value: Any, *, is_named: bool = False) -> Any:
    """Return the schema *value* without titles, and with `items` in every array."""
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


class _References(Struct, frozen=True, kw_only=True):
    """The definitions that a schema refers to; recursive ones cannot be inlined."""

    definitions: Mapping[str, JsonSchema]
    recursive: frozenset[str]

    @classmethod
    def of(
        cls, schemas: Iterable[JsonSchema], definitions: Mapping[str, JsonSchema]
    ) -> "_References":
        """Find the definitions in *schemas* and *definitions*."""
        found = dict(definitions)
        for schema in (*schemas, *definitions.values()):
            found.update(_inner(schema))
        return cls(
            definitions=found,
            recursive=frozenset(key for key in found if key in _reached(found[key], found)),
        )

    def inlined(self, value: Any) -> Any:
        """Return *value*, a part of a schema, with definitions in place of references."""
        if isinstance(value, list):
            items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - of any kind
            return [self.inlined(one) for one in items]
        if not isinstance(value, dict):
            return value
        schema = cast("JsonSchema", value)
        key = _target(schema)
        if key is None or key in self.recursive or key not in self.definitions:
            return {name: self.inlined(one) for name, one in schema.items() if name != "$defs"}
        beside = {name: one for name, one in schema.items() if name != "$ref"}
        return self.inlined({**self.definitions[key], **beside})

    def kept(self, schema: JsonSchema) -> JsonSchema:
        """Return the definitions that the inlined *schema* still refers to."""
        reached = _reached(schema, self.definitions)
        return {key: self.inlined(self.definitions[key]) for key in sorted(reached)}


def _target(value: Mapping[str, object]) -> str | None:
    reference = value.get("$ref")
    return reference.removeprefix(_REFERENCE) if isinstance(reference, str) else None


def _parts(value: Any) -> Iterator[JsonSchema]:
    """Yield every object in *value*, itself included."""
    inside: Iterable[Any] = ()
    if isinstance(value, dict):
        schema = cast("JsonSchema", value)
        yield schema
        inside = schema.values()
    elif isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - of any kind
        inside = items
    for one in inside:
        yield from _parts(one)


def _inner(schema: JsonSchema) -> JsonSchema:
    found: JsonSchema = {}
    for part in _parts(schema):
        found.update(part.get("$defs", {}))
    return found


def _reached(schema: JsonSchema, definitions: Mapping[str, JsonSchema]) -> set[str]:
    reached: set[str] = set()
    waiting = [schema]
    while waiting:
        targets = {_target(part) for part in _parts(waiting.pop())}
        new = {one for one in targets if one is not None and one in definitions} - reached
        reached |= new
        waiting.extend(definitions[one] for one in new)
    return reached


@runtime_checkable
class _Model(Protocol):
    def model_validate(self, value: object) -> object: ...

    def model_json_schema(self, *, ref_template: str) -> JsonSchema: ...


def _foreign_schema(kind: type) -> JsonSchema:
    if not isinstance(kind, _Model):
        message = f"{kind} has no JSON schema"
        raise TypeError(message)
    # With the full name in front, definitions of two models never collide.
    prefix = f"{kind.__module__}.{kind.__qualname__}."
    schema = dict(kind.model_json_schema(ref_template=f"{_REFERENCE}{prefix}{{model}}"))
    if "$defs" in schema:
        schema["$defs"] = {f"{prefix}{key}": one for key, one in schema["$defs"].items()}
    return schema


def foreign_value(kind: type, value: object) -> object:
    """
    Return *value*, which was read from JSON, as an instance of *kind*.

    Raises:
        ValueError: *kind* does not accept it.
    """
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
    return str(value)
