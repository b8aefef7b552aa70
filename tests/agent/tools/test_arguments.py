"""Arguments: what is taken for what, what is refused, and what the model is told then."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from foldline.agent.tools.signature import ToolContext, ToolFunction
from foldline.agent.tools.tool import Tool, tool
from foldline.errors import FormatError


CONTEXT = ToolContext(call_id="c", name="t")


def read(function: ToolFunction | Tool, text: str) -> dict[str, object]:
    one = function if isinstance(function, Tool) else tool(function, name="t")
    return one.reader.read(text, CONTEXT, schema=one.parameters)


def refusal(function: ToolFunction, text: str) -> str:
    with pytest.raises(FormatError) as raised:
        read(function, text)
    return str(raised.value)


def whole(n: int) -> None:
    pass


def part(n: float) -> None:
    pass


def exact(n: Decimal) -> None:
    pass


@dataclass(frozen=True)
class Place:
    """A place."""

    x: float
    others: "list[Place]" = field(default_factory=list["Place"])


class Book(Struct):
    """A book."""

    amounts: dict[str, tuple[Decimal, ...]]


def placed(n: Place) -> None:
    pass


def kept(n: Book) -> None:
    pass


def said(n: str) -> None:
    pass


def truth(n: bool) -> None:
    pass


def maybe(n: int | None) -> None:
    pass


def either(n: int | str) -> None:
    pass


def several(n: list[int]) -> None:
    pass


def chosen(n: Literal["a", "b"]) -> None:
    pass


def bounded(n: Annotated[int, Meta(ge=1, le=9)] = 3, *, other: str = "") -> None:
    pass


def anything(n: object = None) -> None:
    pass


def nothing() -> None:
    pass


def with_context(n: int, call: ToolContext) -> None:
    pass


@pytest.mark.parametrize(
    ("function", "text", "value"),
    [
        (whole, "3", 3),
        (whole, '"3"', 3),
        (whole, "3.0", 3),
        (whole, "9" * 40, int("9" * 40)),
        (part, "3", 3.0),
        (part, '"2.5"', 2.5),
        (truth, "true", True),
        (truth, '"true"', True),
        (truth, "0", False),
        (exact, '"1.50"', Decimal("1.50")),
        (placed, '{"x": "1", "others": [{"x": 2}]}', Place(1.0, [Place(2.0)])),
        (maybe, "null", None),
        (either, "3", 3),
        (either, '"3"', "3"),
        (said, r'"\u0000 \" \ud83d\ude82"', '\0 " 🚂'),
        (several, '["1", 2, 3.0]', [1, 2, 3]),
        (anything, '{"a": [null]}', {"a": [None]}),
    ],
)
def test_what_is_meant_is_taken(function: ToolFunction, text: str, value: object) -> None:
    """A value in its own kind is kept; in a harmless other one it is brought into it."""
    read_value = read(function, f'{{"n": {text}}}')["n"]

    assert read_value == value
    assert type(read_value) is type(value)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (whole, "3.5"),
        (whole, '"three"'),
        (whole, "true"),
        (whole, "null"),
        (whole, "9" * 5000),
        (whole, "1e400"),
        (part, '"nan"'),
        (part, '"inf"'),
        (exact, '"NaN"'),
        (placed, '{"x": "nan"}'),
        (placed, '{"x": 1, "others": [{"x": "inf"}]}'),
        (kept, '{"amounts": {"a": ["NaN"]}}'),
        (said, "3"),
        (truth, "2"),
        (truth, '"yes"'),
        (several, "1"),
        (chosen, '"c"'),
        (bounded, "0"),
    ],
)
def test_what_is_something_else_is_refused(function: ToolFunction, text: str) -> None:
    """The error names the parameter and quotes what is allowed for it."""
    told = refusal(function, f'{{"n": {text}}}')

    assert "`$.n" in told
    assert 'The schema of n is {"' in told


@pytest.mark.parametrize(
    ("function", "text", "told"),
    [
        (whole, "{}", "Object missing required field `n`. The arguments are n"),
        (whole, '{"n": 1, "m": 2}', "Object contains unknown field `m`. The arguments are n"),
        (
            bounded,
            '{"m": 2}',
            "unknown field `m`. The arguments are n (optional), other (optional)",
        ),
        (nothing, '{"m": 2}', "unknown field `m`. It takes no arguments"),
        (with_context, '{"n": 1, "call": {}}', "unknown field `call`. The arguments are n"),
        (whole, "[]", "Expected `object`, got `array`. The arguments are n"),
        (whole, "3", "Expected `object`, got `int`"),
        (chosen, '{"n": "c"}', """The schema of n is {"enum":["a","b"],"type":"string"}"""),
        (bounded, '{"n": 0}', "Expected `int` >= 1 - at `$.n`"),
        (several, '{"n": [1, "x"]}', "Expected `int`, got `str` - at `$.n[1]`"),
        (anything, '{"n": NaN}', "the arguments are not valid JSON: invalid character"),
        (anything, '{"n": 1}}', "the arguments are not valid JSON: trailing characters"),
        (anything, '{"n": 1', "the arguments are not valid JSON: Input data was truncated"),
        (anything, '{"n": "\\ud800"}', "the arguments are not valid JSON"),
        (anything, '{"n": "\ud800"}', "half of a surrogate pair"),
        (anything, '{"n": ' + "[" * 100_000, "the arguments are nested too deeply"),
        (anything, '{"n": ' * 100_000, "the arguments are nested too deeply"),
        (anything, "\0", "the arguments are not valid JSON"),
    ],
)
def test_a_refusal_says_what_is_wrong(function: ToolFunction, text: str, told: str) -> None:
    """Whatever the model wrote, it reads what to do otherwise."""
    assert told in refusal(function, text)


@pytest.mark.parametrize("text", ["", " ", "\n", "{}", " { } "])
def test_no_text_is_an_empty_object(text: str) -> None:
    """What some models write where there is nothing to give is taken."""
    assert read(nothing, text) == {}
    assert read(bounded, text) == {}


def test_the_last_of_two_keys_counts() -> None:
    """As every reader of JSON has it."""
    assert read(whole, '{"n": 1, "n": 2}') == {"n": 2}


def test_the_context_is_filled_in() -> None:
    """The function gets the call beside what the model gave."""
    assert read(with_context, '{"n": 1}') == {"n": 1, "call": CONTEXT}


def test_a_refusal_is_short() -> None:
    """A long value is not sent back to who wrote it."""
    assert len(refusal(chosen, f'{{"n": "{"x" * 100_000}"}}')) < 2_000


BY_HAND = Tool(name="t", function=nothing)


def test_a_tool_by_hand_takes_any_object() -> None:
    """Without a shape of its own a tool gets what the model gave, by name."""
    assert read(BY_HAND, '{"a": 1, "b": [null]}') == {"a": 1, "b": [None]}
    assert read(BY_HAND, "") == {}


@pytest.mark.parametrize("text", ["[]", "3", "{", '{"a": NaN}', "[" * 100_000, "\ud800"])
def test_a_tool_by_hand_takes_objects_alone(text: str) -> None:
    """What is no object cannot be given by name."""
    with pytest.raises(FormatError, match=r"the arguments (are|must be)"):
        read(BY_HAND, text)
