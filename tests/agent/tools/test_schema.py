"""Schemas: what a model is told about every kind of annotation, and the value that comes of it."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict, Union
from uuid import UUID

import pytest
from msgspec import Meta, Struct
from pydantic import BaseModel, Field

from foldline.agent.tools.signature import ToolContext
from foldline.agent.tools.tool import Tool, tool
from foldline.errors import ConfigError, FormatError
from tests.agent.tools.postponed import Order, place


CONTEXT = ToolContext(call_id="c", name="t")
OBJECT = {"type": "object"}
STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NULL = {"type": "null"}


class Colour(Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    """A level."""

    LOW = 1
    HIGH = 2


class Line(TypedDict):
    """A line."""

    item: str
    count: NotRequired[int]


class Point(NamedTuple):
    """A point."""

    x: int
    y: int


@dataclass(frozen=True)
class Node:
    """A node."""

    value: int
    children: "list[Node]" = field(default_factory=list["Node"])


class Query(Struct, forbid_unknown_fields=True):
    """A query."""

    title: str
    limit: int = 3


class Leaf(BaseModel):
    """A leaf."""

    size: int = Field(ge=1)


class Tree(BaseModel):
    """A tree."""

    leaves: list[Leaf]
    title: str = "oak"


class Chain(BaseModel):
    """A chain."""

    next: Optional["Chain"] = None


def tool_of(annotation: Any) -> Tool:
    def function(value):  # type: ignore[no-untyped-def]
        return value

    function.__annotations__ = {"value": annotation}
    return tool(function, name="t")


def read(one: Tool, value: object) -> object:
    text = json.dumps({"value": value})
    return one.reader.read(text, CONTEXT, schema=one.parameters)["value"]


def structured(
    kind: str, properties: Mapping[str, object], *required: str, **more: object
) -> object:
    return {
        **more,
        "description": f"A {kind}.",
        "type": "object",
        "properties": properties,
        "required": list(required),
    }


QUERY = structured(
    "query",
    {"title": STRING, "limit": {**INTEGER, "default": 3}},
    "title",
    additionalProperties=False,
)
LINE = structured("line", {"item": STRING, "count": INTEGER}, "item")
LEAF = structured("leaf", {"size": {**INTEGER, "minimum": 1}}, "size")
TREE = structured(
    "tree",
    {"leaves": {"type": "array", "items": LEAF}, "title": {**STRING, "default": "oak"}},
    "leaves",
)
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
NUMBER = "12345678-1234-5678-1234-567812345678"

CASES: list[tuple[Any, object, object, object]] = [
    (str, STRING, "a", "a"),
    (int, INTEGER, 3, 3),
    (float, {"type": "number"}, 2, 2.0),
    (bool, {"type": "boolean"}, True, True),
    (None, NULL, None, None),
    (Any, {}, {"a": [1]}, {"a": [1]}),
    (object, {}, [None], [None]),
    (Optional[int], {"anyOf": [INTEGER, NULL]}, None, None),  # noqa: UP045 - as people write it
    (Union[int, str], {"anyOf": [INTEGER, STRING]}, "3", "3"),  # noqa: UP007 - the same
    (int | str | None, {"anyOf": [INTEGER, STRING, NULL]}, 3, 3),
    (Literal["a", "b"], {**STRING, "enum": ["a", "b"]}, "b", "b"),
    (Literal[1, 2], {**INTEGER, "enum": [1, 2]}, 2, 2),
    (Literal["a", 1], {"enum": [1, "a"]}, 1, 1),
    (Colour, {**STRING, "description": "A colour.", "enum": ["blue", "red"]}, "red", Colour.RED),
    (Level, {**INTEGER, "description": "A level.", "enum": [1, 2]}, 2, Level.HIGH),
    (list, {"type": "array", "items": {}}, [1, "a"], [1, "a"]),
    (list[int], {"type": "array", "items": INTEGER}, [1], [1]),
    (dict[str, int], {**OBJECT, "additionalProperties": INTEGER}, {"a": 1}, {"a": 1}),
    (Mapping[str, int], {**OBJECT, "additionalProperties": INTEGER}, {"a": 1}, {"a": 1}),
    (Iterable[int], {"type": "array", "items": INTEGER}, [1], [1]),
    (Iterable[datetime], {"type": "array", "items": {**STRING, "format": "date-time"}}, [], []),
    (tuple[int, ...], {"type": "array", "items": INTEGER}, [1, 2], (1, 2)),
    (
        tuple[int, str, int],
        {
            "type": "array",
            "minItems": 3,
            "maxItems": 3,
            "prefixItems": [INTEGER, STRING, INTEGER],
            "items": {"anyOf": [INTEGER, STRING]},
        },
        [1, "a", 2],
        (1, "a", 2),
    ),
    (
        Point,
        {
            "description": "A point.",
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "prefixItems": [INTEGER, INTEGER],
            "items": INTEGER,
        },
        [1, 2],
        Point(1, 2),
    ),
    (set[str], {"type": "array", "items": STRING, "uniqueItems": True}, ["a", "a"], {"a"}),
    (bytes, {**STRING, "contentEncoding": "base64"}, "aGk=", b"hi"),
    (datetime, {**STRING, "format": "date-time"}, "2026-11-21T12:00:00Z", NOW),
    (
        list[Annotated[datetime, Meta(tz=True)]],
        {"type": "array", "items": {**STRING, "format": "date-time"}},
        ["2026-11-21T12:00:00Z"],
        [NOW],
    ),
    (date, {**STRING, "format": "date"}, "2026-11-21", NOW.date()),
    (time, {**STRING, "format": "time"}, "12:00:00", time(12)),
    (timedelta, {**STRING, "format": "duration"}, "PT1H", timedelta(hours=1)),
    (UUID, {**STRING, "format": "uuid"}, NUMBER, UUID(NUMBER)),
    (Decimal, {**STRING, "format": "decimal"}, "1.50", Decimal("1.50")),
    (
        Annotated[int, Meta(ge=1, le=9, description="how many")],
        {**INTEGER, "minimum": 1, "maximum": 9, "description": "how many"},
        9,
        9,
    ),
    (Annotated[str, "what"], {**STRING, "description": "what"}, "a", "a"),
    (
        Annotated[str, Meta(max_length=2, pattern="^a")],
        {**STRING, "maxLength": 2, "pattern": "^a"},
        "ab",
        "ab",
    ),
    (Line, LINE, {"item": "a"}, {"item": "a"}),
    (Query, QUERY, {"title": "a"}, Query("a")),
    (list[Query] | None, {"anyOf": [{"type": "array", "items": QUERY}, NULL]}, [], []),
    (Leaf, LEAF, {"size": 2}, Leaf(size=2)),
    (Tree, TREE, {"leaves": [{"size": 1}]}, Tree(leaves=[Leaf(size=1)])),
    (Leaf | None, {"anyOf": [LEAF, NULL]}, {"size": 2}, Leaf(size=2)),
]


IDS = [f"{place} {case[0]}" for place, case in enumerate(CASES)]


@pytest.mark.parametrize(("annotation", "schema", "given", "expected"), CASES, ids=IDS)
def test_every_annotation_has_its_schema(
    annotation: Any, schema: object, given: object, expected: object
) -> None:
    """The model is told the kind of a value, and what it gives becomes a value of that kind."""
    one = tool_of(annotation)

    assert one.parameters == {
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
        "additionalProperties": False,
    }
    assert read(one, given) == expected
    assert type(read(one, given)) is type(expected)


def test_what_holds_itself_stays_a_definition() -> None:
    """A recursive dataclass is referred to, and the reference leads somewhere."""
    one = tool_of(Node)
    made = read(one, {"value": 1, "children": [{"value": 2}]})

    assert one.parameters["properties"] == {"value": {"$ref": "#/$defs/Node"}}
    assert one.parameters["$defs"] == {
        "Node": structured(
            "node",
            {"value": INTEGER, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            "value",
        )
    }
    assert made == Node(1, [Node(2)])


def test_a_recursive_model_of_pydantic_stays_a_definition() -> None:
    """Its own definitions stand at the top, under a name that no other has."""
    one = tool_of(list[Chain])
    (name,) = one.parameters["$defs"]
    reference = {"$ref": f"#/$defs/{name}"}

    assert name.endswith("Chain.Chain")
    assert one.parameters["properties"]["value"]["items"] == reference
    assert one.parameters["$defs"][name]["properties"] == {
        "next": {"anyOf": [reference, NULL], "default": None}
    }
    assert read(one, [{"next": {}}]) == [Chain(next=Chain())]


def test_two_types_of_one_name_do_not_meet() -> None:
    """Each parameter keeps the shape of its own type."""

    def shaped(kind: type) -> type:
        return type("Same", (BaseModel,), {"__annotations__": {"value": kind}})

    def both(a: object, b: object) -> None:
        pass

    both.__annotations__ = {"a": shaped(int), "b": shaped(str)}
    properties = tool(both).parameters["properties"]

    assert properties["a"]["properties"] == {"value": INTEGER}
    assert properties["b"]["properties"] == {"value": STRING}


def test_defaults_are_told_and_are_the_functions_own() -> None:
    """A default that JSON can hold is shown; where nothing is given none is passed."""
    marker = object()

    def function(
        a: int = 3,
        b: list[str] = ["x"],  # noqa: B006 - nobody changes it
        c: object = marker,
        d: Colour = Colour.RED,
        *,
        e: str | None = None,
    ) -> None:
        pass

    one = tool(function)
    defaults = {
        name: schema.get("default", "none") for name, schema in one.parameters["properties"].items()
    }

    assert defaults == {"a": 3, "b": ["x"], "c": "none", "d": "red", "e": None}
    assert "required" not in one.parameters
    assert one.reader.read("{}", CONTEXT, schema=one.parameters) == {}


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    """There is nothing to give, and nothing else may be given."""
    one = tool(lambda: None, name="t")

    assert one.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def test_postponed_annotations_are_read() -> None:
    """With annotations that are texts a function has the same schema and gets the same values."""
    one = tool(place)
    text = '{"order": {"lines": [{"item": "tea", "count": 2}]}, "urgent": true}'
    arguments = one.reader.read(text, CONTEXT, schema=one.parameters)

    assert list(one.parameters["properties"]) == ["order", "urgent"]
    assert arguments == {
        "order": Order([{"item": "tea", "count": 2}]),
        "urgent": True,
        "call": CONTEXT,
    }
    assert one(**arguments) == "c: tea None True"


class Opaque:
    """Nothing that JSON could hold."""


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (Opaque, "parameter 'value' of tool 't' has no JSON schema"),
        (list[Opaque], "parameter 'value' of tool 't' has no JSON schema"),
        (Callable[[int], int], "parameter 'value' of tool 't' has no JSON schema"),
        (Node | Query, "parameter 'value' of tool 't' has no JSON schema"),
        (dict[str, Opaque], "parameter 'value' of tool 't' has no JSON schema"),
    ],
)
def test_what_json_cannot_hold_is_refused(annotation: Any, said: str) -> None:
    """The error comes when the tool is made, and names tool and parameter."""
    with pytest.raises(ConfigError, match=said):
        tool_of(annotation)


def test_a_name_that_cannot_be_read_is_refused() -> None:
    """Two underscores in front are more than a field can have."""

    def function(__value: int) -> None:  # noqa: PYI063 - it can be given by name
        pass

    with pytest.raises(ConfigError, match="arguments of tool 'function' cannot be read"):
        tool(function)


class Cat(BaseModel):
    """A cat."""

    kind: Literal["cat"]


class Dog(BaseModel):
    """A dog."""

    kind: Literal["dog"]


class Owner(BaseModel):
    """An owner."""

    pet: Cat | Dog = Field(discriminator="kind")


def test_a_choice_of_models_is_plain() -> None:
    """A union that pydantic marks with references is told without them."""
    pet = tool_of(Owner).parameters["properties"]["value"]["properties"]["pet"]

    assert list(pet) == ["oneOf"]
    assert [one["properties"]["kind"]["const"] for one in pet["oneOf"]] == ["cat", "dog"]


def test_a_model_of_pydantic_says_what_is_wrong() -> None:
    """Its faults come in one line with their place, without addresses and without the input."""
    with pytest.raises(FormatError) as raised:
        read(tool_of(Tree), {"leaves": [{"size": 0}, {}]})

    said = str(raised.value)

    assert "leaves.0.size: Input should be greater than or equal to 1" in said
    assert "leaves.1.size: Field required" in said
    assert "http" not in said
    assert "\n" not in said
