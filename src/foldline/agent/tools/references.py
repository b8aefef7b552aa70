"""The definitions of a JSON schema, put where they are used."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct


__all__ = ["REFERENCE", "JsonSchema", "References"]


JsonSchema: TypeAlias = dict[str, Any]
"""A JSON schema, or a part of one."""

REFERENCE: Final = "#/$defs/"
"""How a reference to a definition begins."""


class References(Struct, frozen=True, kw_only=True):
    """What the references of a schema stand for."""

    definitions: Mapping[str, JsonSchema]
    """The definitions, those that stood inside of others too."""

    recursive: frozenset[str]
    """The names of those that hold themselves; they cannot be put where they are used."""

    @classmethod
    def of(
        cls, schemas: Iterable[JsonSchema], definitions: Mapping[str, JsonSchema]
    ) -> "References":
        """Find the references of *schemas* and of *definitions*."""
        found = dict(definitions)
        for schema in (*schemas, *definitions.values()):
            found.update(_inner(schema))
        return cls(
            definitions=found,
            recursive=frozenset(key for key in found if key in _reached(found[key], found)),
        )

    def inlined(self, value: Any) -> Any:
        """Return the part *value* of a schema with definitions in the place of references."""
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
        """Return the definitions that *schema*, inlined, still refers to."""
        reached = _reached(schema, self.definitions)
        return {key: self.inlined(self.definitions[key]) for key in sorted(reached)}


def _target(value: Mapping[str, object]) -> str | None:
    reference = value.get("$ref")
    return reference.removeprefix(REFERENCE) if isinstance(reference, str) else None


def _parts(value: Any) -> Iterator[JsonSchema]:
    """Give every object inside of *value*, itself included."""
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
