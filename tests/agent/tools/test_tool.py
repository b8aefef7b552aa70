"""Tools: how they are made, what is checked, and what the model is told."""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest

from foldline.agent.agent import Agent
from foldline.agent.tools.tool import Tool, as_tool, tool, tools_by_name
from foldline.errors import ConfigError
from foldline.history.codec import encode_json
from foldline.providers.model import ToolDefinition
from foldline.testing.model import ScriptedModel


def look_up(city: str, *, days: int = 3) -> str:
    """
    Look up the weather.

    Args:
        city: Where.
    """
    return f"{city} {days}"


class Radio:
    """Plays."""

    def __call__(self, title: str) -> str:
        return title

    def play(self, title: str) -> str:
        """Play it."""
        return title


async def later(title: str) -> str:
    """Say it later."""
    return title


def counting(n: int) -> Iterator[int]:
    """Count."""
    yield n


async def counting_later(n: int) -> AsyncIterator[int]:
    """Count."""
    yield n


class Counter:
    """Counts."""

    def __call__(self, n: int) -> Iterator[int]:
        yield n

    async def count(self, n: int) -> AsyncIterator[int]:
        """Count."""
        yield n


def test_a_function_becomes_a_tool() -> None:
    """Name, description and schema are read off the function."""
    assert tool(look_up).definition == ToolDefinition(
        name="look_up",
        description="Look up the weather.",
        parameters={
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where."},
                "days": {"type": "integer", "default": 3},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    )


def test_a_decorator_makes_a_tool() -> None:
    """With or without options, and what it makes can still be called."""

    @tool
    def plain(n: int) -> int:
        """Count."""
        return n

    @tool(policy="idempotent", timeout=10, max_result_chars=9, name="other", description="Else.")
    def told(n: int) -> int:
        """Count."""
        return n

    assert (plain.name, plain.description, plain.policy, plain.timeout) == (
        "plain",
        "Count.",
        "at_most_once",
        None,
    )
    assert (told.name, told.description, told.policy, told.timeout, told.max_result_chars) == (
        "other",
        "Else.",
        "idempotent",
        10,
        9,
    )
    assert plain(3) == told(n=3) == 3


@pytest.mark.parametrize(
    ("function", "name", "is_async"),
    [
        (look_up, "look_up", False),
        (partial(look_up, days=1), "look_up", False),
        (Radio(), "Radio", False),
        (Radio().play, "play", False),
        (later, "later", True),
        (partial(later, "a"), "later", True),
    ],
)
def test_everything_that_is_called_has_a_name(function: Any, name: str, is_async: bool) -> None:
    """A partial is called as what it binds, an object as its class."""
    made = as_tool(function)

    assert (made.name, made.is_async) == (name, is_async)


def test_a_tool_can_be_made_by_hand() -> None:
    """With a schema from elsewhere, or none; either can be written as JSON."""
    made = Tool(name="t", function=look_up)

    assert made.definition.parameters == {"type": "object", "properties": {}}
    assert encode_json(made.definition)
    assert encode_json(tool(look_up).definition)


@pytest.mark.parametrize("name", ["", "a" * 65, "a b", "a.b", "é", "a\n", "<lambda>"])
def test_a_name_that_no_vendor_takes_is_refused(name: str) -> None:
    """A name has 1 to 64 plain characters."""
    with pytest.raises(
        ConfigError, match=r"name must be 1 to 64 of A-Z.*: `tool\(function, name=…\)` sets it$"
    ):
        tool(look_up, name=name)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"policy": "twice"}, "policy must be 'at_most_once' or .*, got 'twice'"),
        ({"timeout": 0}, "timeout must be .*, got 0"),
        ({"timeout": float("nan")}, "timeout must be .*, got nan"),
        ({"timeout": "9"}, "timeout must be .*, got '9'"),
        ({"max_result_chars": 0}, "max_result_chars"),
    ],
)
def test_options_are_checked(options: dict[str, Any], said: str) -> None:
    """An option that cannot be meant is refused when the tool is made."""
    with pytest.raises(ConfigError, match=said):
        tool(look_up, **options)


@pytest.mark.parametrize("given", [7, "look_up", Radio, None])
def test_what_cannot_be_called_is_no_tool(given: Any) -> None:
    """The error says what was given."""
    with pytest.raises(ConfigError, match=r"callable object, got .*: `Tool\(name=…, param"):
        tools_by_name([given])


@pytest.mark.parametrize(
    "make", [tool, as_tool, lambda function: Tool(name="t", function=function)]
)
@pytest.mark.parametrize(
    "function",
    [counting, counting_later, partial(counting, 3), Counter(), Counter().count],
    ids=["def", "async def", "partial", "object", "method"],
)
def test_what_yields_is_no_tool(make: Any, function: Any) -> None:
    """A call of it would run nothing, and the error says what to pass instead."""
    with pytest.raises(ConfigError, match=r"^tool '\w+' must be a function .*, got a generator$"):
        make(function)


@pytest.mark.parametrize(
    "given",
    [look_up, tool(look_up), None, 7, "look_up", {"look_up": look_up}],
    ids=lambda given: type(given).__name__,
)
def test_tools_are_given_as_a_list(given: Any) -> None:
    """A tool alone is refused in one line, and so is what is no tool at all."""
    with pytest.raises(ConfigError, match=rf"^tools must be a list, got {type(given).__name__}$"):
        Agent(ScriptedModel([]), tools=given)


def test_two_tools_cannot_share_a_name() -> None:
    """The model could not tell them apart."""
    with pytest.raises(ConfigError, match="two tools are named 'look_up'"):
        tools_by_name([look_up, tool(later, name="look_up")])
