"""What pydantic's `Field` says of a parameter holds, as it does in other libraries."""

from decimal import Decimal
from typing import Annotated, Any, Optional

import pytest
from msgspec import Meta
from pydantic import Field, PositiveInt, conint, constr

from foldline import tool
from foldline.agent.tools.signature import ToolContext
from foldline.errors import FormatError


INTEGER, NULL = {"type": "integer"}, {"type": "null"}
CONTEXT = ToolContext(call_id="c", name="t")

CASES: list[tuple[Any, dict[str, object], str, str]] = [
    (Annotated[int, Field(ge=1, lt=4)], {**INTEGER, "minimum": 1, "exclusiveMaximum": 4}, "3", "4"),
    (PositiveInt, {**INTEGER, "exclusiveMinimum": 0}, "1", "0"),
    (conint(multiple_of=5), {**INTEGER, "multipleOf": 5}, "10", "9"),
    (constr(pattern="^a"), {"type": "string", "pattern": "^a"}, '"ab"', '"b"'),
    (
        Annotated[Optional[int], Field(le=9)],  # noqa: UP045 - as people write it
        {"anyOf": [{**INTEGER, "maximum": 9}, NULL]},
        "null",
        "10",
    ),
    (
        Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1, max_length=2)],
        {"type": "array", "items": {**INTEGER, "minimum": 1}, "minItems": 1, "maxItems": 2},
        "[1]",
        "[0]",
    ),
    (Annotated[int, Meta(ge=1), "n"], {**INTEGER, "minimum": 1, "description": "n"}, "1", "0"),
]


@pytest.mark.parametrize(("hint", "schema", "right", "wrong"), CASES)
def test_limits_are_told_and_checked(
    hint: Any, schema: dict[str, object], right: str, wrong: str
) -> None:
    """The model reads them in the schema, and what is beyond them does not reach the function."""

    def given(value: Any) -> None: ...

    given.__annotations__["value"] = hint
    made = tool(given)
    told = made.parameters["properties"]["value"]
    made.reader.read(f'{{"value": {right}}}', CONTEXT, schema=made.parameters)

    assert told == schema
    with pytest.raises(FormatError, match="Expected"):
        made.reader.read(f'{{"value": {wrong}}}', CONTEXT, schema=made.parameters)


def test_what_cannot_be_checked_is_left_to_the_function() -> None:
    """A limit on an amount of money makes no error, and of several kinds those that can be are bound."""

    def pay(amount: Annotated[Decimal, Field(gt=0)], to: Annotated[int | str, Field(ge=1)]) -> None:
        """Pay."""

    amount, to = tool(pay).parameters["properties"].values()

    assert amount == {"type": "string", "format": "decimal"}
    assert to == {"anyOf": [{**INTEGER, "minimum": 1}, {"type": "string"}]}


def test_a_field_may_stand_in_the_place_of_a_default() -> None:
    """It describes, bounds and has the default, if there is one; the function never gets it."""

    def find(
        word: str = Field(description="what to find"),
        most: int = Field(5, ge=1),
        names: list[str] = Field(default_factory=list),  # noqa: B008 - what is tested
        whole: bool = False,
    ) -> None: ...

    made = tool(find)
    properties = made.parameters["properties"]

    assert made.parameters["required"] == ["word"]
    assert properties["word"] == {"type": "string", "description": "what to find"}
    assert properties["most"] == {"type": "integer", "minimum": 1, "default": 5}

    first, second = (
        made.reader.read('{"word": "a"}', CONTEXT, schema=made.parameters) for _ in range(2)
    )
    assert first == second == {"word": "a", "most": 5, "names": []}
    assert first["names"] is not second["names"]
