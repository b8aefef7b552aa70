"""What an agent can do: a function, and what the model is told about it."""

import re
from collections.abc import Callable, Iterable, Mapping
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from types import MappingProxyType
from typing import Any, get_args, overload

from msgspec import Struct, field, structs

from foldline.agent.tools.answer import MAX_RESULT_CHARS
from foldline.agent.tools.arguments import ArgumentReader, reader_of
from foldline.agent.tools.parameters import ToolFunction, read_signature, without_partial
from foldline.agent.tools.schema import schema_of
from foldline.checks import expect_seconds, expect_whole
from foldline.errors import ConfigError
from foldline.providers.tool_definition import ToolDefinition
from foldline.threads.change import several
from foldline.threads.tools import ToolPolicy


__all__ = ["Tool", "as_tool", "tool", "tools_by_name"]


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ANYTHING = ArgumentReader()
_NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({"type": "object", "properties": {}})


class Tool(Struct, frozen=True, kw_only=True):
    """
    A function that the model may call.

    `tool` makes one of a typed function. One that is made by hand, with a JSON schema from
    elsewhere, gets the keys of any object by name.
    """

    name: str
    """The name that the model calls it by: 1 to 64 of `A-Z a-z 0-9 _ -`."""

    function: ToolFunction
    """What runs."""

    description: str = ""
    """What it does and when to use it."""

    parameters: Mapping[str, Any] = field(default_factory=lambda: dict(_NO_ARGUMENTS))
    """The JSON schema of its arguments: an object."""

    policy: ToolPolicy = "at_most_once"
    """What becomes of a call that a crash interrupted."""

    timeout: float | None = None
    """How many seconds a call may take; None sets no limit."""

    max_result_chars: int = MAX_RESULT_CHARS
    """How many characters of one text go back to the model; a longer one loses its middle."""

    shows_errors: bool = True
    """Whether the model reads the message of an exception, or its type alone."""

    reader: ArgumentReader = _ANYTHING
    """What makes its arguments out of JSON."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(str(self.name)):
            message = f"a tool is named {self.name!r}: allowed are 1 to 64 of A-Z a-z 0-9 _ -"
            raise ConfigError(message)
        _check_returns(self.function, self.name)
        if self.policy not in get_args(ToolPolicy):
            allowed = ", ".join(get_args(ToolPolicy))
            message = f"policy={self.policy!r} of tool {self.name!r}: allowed are {allowed}"
            raise ConfigError(message)
        if self.timeout is not None:
            expect_seconds("timeout", self.timeout)
        expect_whole("max_result_chars", self.max_result_chars, 1)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function as it is, without a model."""
        return self.function(*args, **kwargs)

    @property
    def definition(self) -> ToolDefinition:
        """What the model is told."""
        return ToolDefinition(
            name=self.name, description=self.description, parameters=self.parameters
        )

    @property
    def is_async(self) -> bool:
        """Whether the function is awaited; any other one runs in a thread of its own."""
        return iscoroutinefunction(without_partial(self.function))


def _check_returns(function: ToolFunction, name: str) -> None:
    plain = without_partial(function)
    if isgeneratorfunction(plain) or isasyncgenfunction(plain):
        message = (
            f"tool {name!r} is a generator, of which a call runs nothing: allowed is a function that "
            "returns its result and yields nothing"
        )
        raise ConfigError(message)


@overload
def tool(
    function: ToolFunction,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    policy: ToolPolicy = "at_most_once",
    timeout: float | None = None,
    max_result_chars: int = MAX_RESULT_CHARS,
    shows_errors: bool = True,
) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    policy: ToolPolicy = "at_most_once",
    timeout: float | None = None,
    max_result_chars: int = MAX_RESULT_CHARS,
    shows_errors: bool = True,
) -> Callable[[ToolFunction], Tool]: ...


def tool(
    function: ToolFunction | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    policy: ToolPolicy = "at_most_once",
    timeout: float | None = None,
    max_result_chars: int = MAX_RESULT_CHARS,
    shows_errors: bool = True,
) -> Tool | Callable[[ToolFunction], Tool]:
    """
    Make a tool of a typed function: `@tool`, `@tool(timeout=10)` or `tool(function, name="look_up")`.

    The model is told what annotations and docstring say. A parameter that is annotated with
    `ToolContext` gets the call and is not shown to the model.

    Args:
        function: What runs: a function, a method, a `partial` or an object that is called.
        name: The name of the tool; that of the function where none is given.
        description: What it does; what the docstring says before its sections where none is given.
        policy: What becomes of a call that a crash interrupted.
        timeout: How many seconds a call may take. A function that is not async cannot be stopped:
            it runs on, and the model is told so.
        max_result_chars: How many characters of one text go back to the model.
        shows_errors: Whether the model reads the message of an exception, or its type alone.

    Raises:
        ConfigError: The function cannot be a tool; the message names the tool and the parameter.
    """

    def made(function: ToolFunction) -> Tool:
        read = _made(function, name=name)
        return structs.replace(
            read,
            description=read.description if description is None else description,
            policy=policy,
            timeout=timeout,
            max_result_chars=max_result_chars,
            shows_errors=shows_errors,
        )

    return made if function is None else made(function)


def _made(function: ToolFunction, *, name: str | None = None) -> Tool:
    called = _name_of(function) if name is None else name
    signature = read_signature(function, name=called)
    return Tool(
        name=called,
        function=function,
        description=signature.description,
        parameters=schema_of(signature.parameters, name=called),
        reader=reader_of(signature, name=called),
    )


def _name_of(function: ToolFunction) -> str:
    if not callable(function):
        return type(function).__name__
    found: object = getattr(without_partial(function), "__name__", "")
    return type(function).__name__ if found == "__call__" else str(found)


def as_tool(given: Tool | ToolFunction) -> Tool:
    """
    Return *given* as a tool: a typed function becomes one with the default options.

    Raises:
        ConfigError: It cannot be one.
    """
    return given if isinstance(given, Tool) else _made(given)


def tools_by_name(given: Iterable[Tool | ToolFunction]) -> Mapping[str, Tool]:
    """
    Return the tools of *given*, tools and typed functions, by their names.

    Raises:
        ConfigError: They are no list, one of them cannot be a tool, or two have one name.
    """
    found: dict[str, Tool] = {}
    for one in map(as_tool, several("tools", given)):
        if one.name in found:
            message = f"two tools are named {one.name!r}: give one of them another name"
            raise ConfigError(message)
        found[one.name] = one
    return MappingProxyType(found)
