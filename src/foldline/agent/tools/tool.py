"""A function that the model may call, and its description."""

import re
from collections.abc import Callable, Iterable, Mapping
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from types import MappingProxyType
from typing import Any, TypedDict, Unpack, get_args, overload

from msgspec import Struct, field, structs

from foldline.agent.tools.answer import MAX_RESULT_CHARS
from foldline.agent.tools.arguments import ArgumentReader, reader_of
from foldline.agent.tools.schema import schema_of
from foldline.agent.tools.signature import ToolFunction, read_signature, without_partial
from foldline.checks import expect_choice, expect_seconds, expect_whole, several
from foldline.errors import ConfigError
from foldline.providers.model import ToolDefinition
from foldline.threads.tools import ToolPolicy


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ANYTHING = ArgumentReader()
_NO_ARGUMENTS: Mapping[str, Any] = MappingProxyType({"type": "object", "properties": {}})


class Tool(Struct, frozen=True, kw_only=True):
    """
    A function that the model may call.

    `tool` makes one of a typed function. One that is made by hand, with a JSON schema from
    elsewhere, gets the keys of the object as arguments.
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
    """What happens to a call that a crash interrupted."""

    timeout: float | None = None
    """How many seconds a call may take; None for no limit. A function that is not async cannot be
    stopped: it runs on, and the model reads that."""

    max_result_chars: int = MAX_RESULT_CHARS
    """How many characters of one text the model gets; a longer text loses its middle."""

    shows_errors: bool = True
    """Whether the model reads the message of an exception, or only its type."""

    reader: ArgumentReader = _ANYTHING
    """Reads its arguments."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(str(self.name)):
            message = f"name must be 1 to 64 of A-Z a-z 0-9 _ -, got {self.name!r}: `tool(function, name=…)` sets it"
            raise ConfigError(message)
        plain = without_partial(self.function)
        if isgeneratorfunction(plain) or isasyncgenfunction(plain):
            raise ConfigError(
                f"tool {self.name!r} must be a function that returns its result, got a generator"
            )
        expect_choice("policy", self.policy, get_args(ToolPolicy))
        if self.timeout is not None:
            expect_seconds("timeout", self.timeout)
        expect_whole("max_result_chars", self.max_result_chars, 1)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    @property
    def definition(self) -> ToolDefinition:
        """The tool as the model sees it."""
        return ToolDefinition(
            name=self.name, description=self.description, parameters=self.parameters
        )

    @property
    def is_async(self) -> bool:
        """Whether the function is async; any other runs in a thread of its own."""
        return iscoroutinefunction(without_partial(self.function))


class _Options(TypedDict, total=False):
    name: str | None
    description: str | None
    policy: ToolPolicy
    timeout: float | None
    max_result_chars: int
    shows_errors: bool


@overload
def tool(function: ToolFunction, /, **options: Unpack[_Options]) -> Tool: ...


@overload
def tool(**options: Unpack[_Options]) -> Callable[[ToolFunction], Tool]: ...


def tool(
    function: ToolFunction | None = None, /, **options: Unpack[_Options]
) -> Tool | Callable[[ToolFunction], Tool]:
    """
    Make a tool of a typed function: `@tool`, `@tool(timeout=10)` or `tool(function, name="look_up")`.

    The model sees what annotations and docstring say. A parameter that is annotated with `ToolContext`
    gets the call, and the model does not see it.

    Args:
        function: What runs: a function, a method, a `partial` or a callable object.
        options: Fields of the `Tool`: `name` (by default that of the function), `description` (by
            default the docstring up to its first section), `policy`, `timeout`, `max_result_chars`
            and `shows_errors`.

    Raises:
        ConfigError: The function cannot be a tool; the message names the tool and the parameter.
    """

    def made(function: ToolFunction) -> Tool:
        read = _made(function, name=options.get("name"))
        given = {key: value for key, value in options.items() if key != "name"}
        if options.get("description") is None:
            given["description"] = read.description
        return structs.replace(read, **given)

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
    """Return *given* as a tool; a typed function becomes one with the default options."""
    return given if isinstance(given, Tool) else _made(given)


def tools_by_name(given: Iterable[Tool | ToolFunction]) -> Mapping[str, Tool]:
    """Return *given*, tools and typed functions, as tools by name."""
    found: dict[str, Tool] = {}
    for one in map(as_tool, several("tools", given)):
        if one.name in found:
            raise ConfigError(f"two tools are named {one.name!r}: give one of them another name")
        found[one.name] = one
    return MappingProxyType(found)
