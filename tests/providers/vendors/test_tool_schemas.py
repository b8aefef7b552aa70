"""Which schemas are strict."""

from typing import Any

import pytest

from foldline.providers.vendors.wire_formats import is_strict


TEXT = {"type": "string"}


def closed(**properties: Any) -> dict[str, Any]:
    """Return an object that requires all of its *properties* and allows no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "schema",
    [
        closed(),
        closed(a=TEXT),
        closed(a=closed(b={"type": ["string", "null"]})),
        closed(a={"type": "array", "items": closed(b=TEXT)}),
        closed(a={"anyOf": [TEXT, {"type": "null"}]}),
        {**closed(a={"$ref": "#/$defs/b"}), "$defs": {"b": closed(c=TEXT)}},
    ],
)
def test_strict_schemas(schema: dict[str, Any]) -> None:
    """A schema is strict where every object in it is closed."""
    assert is_strict(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        TEXT,
        {"type": "object"},
        {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
        {**closed(a=TEXT), "required": []},
        {**closed(a=TEXT), "additionalProperties": TEXT},
        closed(a={**TEXT, "default": "x"}),
        closed(a={**TEXT, "pattern": "x"}),
        closed(a={"type": "object"}),
        closed(a={"type": ["object", "null"]}),
        closed(a={"type": "array", "items": {"type": "object"}}),
        closed(a={"anyOf": [{"type": "object"}]}),
        closed(a=True),
        {**closed(a=TEXT), "$defs": {"b": {"type": "object"}}},
    ],
)
def test_loose_schemas(schema: dict[str, Any]) -> None:
    """
    A schema is not strict where an object is open, a key is unknown, or it is no object at all.
    """
    assert not is_strict(schema)
