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


def taking(annotation: object) -> ToolFunction:
    def function(n) -> None:  # type: ignore[no-untyped-def]
        pass

    function.__annotations__ = {"n": annotation}
    return function


@dataclass(frozen=True)
class Place:
    """A place."""

    x: float
    others: "list[Place]" = field(default_factory=list["Place"])


class Book(Struct):
    """A book."""

    amounts: dict[str, tuple[Decimal, ...]]


def bounded(n: Annotated[int, Meta(ge=1, le=9)] = 3, *, other: str = "") -> None:
    pass


def nothing() -> None:
    pass


def with_context(n: int, call: ToolContext) -> None:
    pass


CHOICE = Literal["a", "b"]
WHOLE, ANYTHING = taking(int), taking(object)


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (int, '"3"', 3),
        (int, "3.0", 3),
        (int, "9" * 40, int("9" * 40)),
        (float, '"2.5"', 2.5),
        (bool, '"true"', True),
        (bool, "0", False),
        (Place, '{"x": "1", "others": [{"x": 2}]}', Place(1.0, [Place(2.0)])),
        (int | str, "3", 3),
        (str, r'"\u0000 \" \ud83d\ude82"', '\0 " 🚂'),
        (list[int], '["1", 2, 3.0]', [1, 2, 3]),
    ],
)
def test_what_is_meant_is_taken(annotation: object, text: str, value: object) -> None:
    """A value of a harmless other kind is brought into the kind of its parameter."""
    read_value = read(taking(annotation), f'{{"n": {text}}}')["n"]

    assert read_value == value
    assert type(read_value) is type(value)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "3.5"),
        (int, '"three"'),
        (int, "true"),
        (int, "null"),
        (int, "9" * 5000),
        (int, "1e400"),
        (float, '"nan"'),
        (float, '"inf"'),
        (Decimal, '"NaN"'),
        (Place, '{"x": "nan"}'),
        (Place, '{"x": 1, "others": [{"x": "inf"}]}'),
        (Book, '{"amounts": {"a": ["NaN"]}}'),
        (str, "3"),
        (bool, "2"),
        (bool, '"yes"'),
        (list[int], "1"),
        (CHOICE, '"c"'),
        (Annotated[int, Meta(ge=1, le=9)], "0"),
    ],
)
def test_what_is_something_else_is_refused(annotation: object, text: str) -> None:
    """The error names the parameter and quotes what is allowed for it."""
    told = refusal(taking(annotation), f'{{"n": {text}}}')

    assert "`$.n" in told
    assert 'The schema of n is {"' in told


@pytest.mark.parametrize(
    ("function", "text", "told"),
    [
        (WHOLE, "{}", "Object missing required field `n`. The arguments are n"),
        (WHOLE, '{"n": 1, "m": 2}', "Object contains unknown field `m`. The arguments are n"),
        (
            bounded,
            '{"m": 2}',
            "unknown field `m`. The arguments are n (optional), other (optional)",
        ),
        (nothing, '{"m": 2}', "unknown field `m`. It takes no arguments"),
        (with_context, '{"n": 1, "call": {}}', "unknown field `call`. The arguments are n"),
        (WHOLE, "[]", "Expected `object`, got `array`. The arguments are n"),
        (WHOLE, "3", "Expected `object`, got `int`"),
        (taking(CHOICE), '{"n": "c"}', """The schema of n is {"enum":["a","b"],"type":"string"}"""),
        (bounded, '{"n": 0}', "Expected `int` >= 1 - at `$.n`"),
        (taking(list[int]), '{"n": [1, "x"]}', "Expected `int`, got `str` - at `$.n[1]`"),
        (ANYTHING, '{"n": NaN}', "the arguments are not valid JSON: invalid character"),
        (ANYTHING, '{"n": 1}}', "the arguments are not valid JSON: trailing characters"),
        (ANYTHING, '{"n": 1', "the arguments are not valid JSON: Input data was truncated"),
        (ANYTHING, '{"n": "\\ud800"}', "the arguments are not valid JSON"),
        (ANYTHING, '{"n": "\ud800"}', "half of a surrogate pair"),
        (ANYTHING, '{"n": ' + "[" * 100_000, "the arguments are nested too deeply"),
        (ANYTHING, '{"n": ' * 100_000, "the arguments are nested too deeply"),
        (ANYTHING, "\0", "the arguments are not valid JSON"),
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
    assert read(WHOLE, '{"n": 1, "n": 2}') == {"n": 2}


def test_the_context_is_filled_in() -> None:
    """The function gets the call beside what the model gave."""
    assert read(with_context, '{"n": 1}') == {"n": 1, "call": CONTEXT}


def test_a_refusal_is_short() -> None:
    """A long value is not sent back to who wrote it."""
    assert len(refusal(taking(CHOICE), f'{{"n": "{"x" * 100_000}"}}')) < 2_000


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
