"""What the parameters of a function are, as its annotations and its docstring say."""

import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, time
from functools import partial
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, TypeAlias, Union, cast

from msgspec import UNSET, Meta, Struct

from foldline.agent.tools.docstring import read_docstring
from foldline.errors import ConfigError


__all__ = [
    "Parameter",
    "Signature",
    "ToolContext",
    "ToolFunction",
    "read_signature",
    "without_partial",
]


ToolFunction: TypeAlias = Callable[..., object]
"""What a tool runs: a function, a method, a partial or an object that is called; async or not."""

_REFUSED: Mapping[object, str] = MappingProxyType(
    {
        inspect.Parameter.POSITIONAL_ONLY: "positional-only",
        inspect.Parameter.VAR_POSITIONAL: "*args",
        inspect.Parameter.VAR_KEYWORD: "**kwargs",
    }
)
_INSTEAD: Mapping[object, Any] = MappingProxyType(
    {
        object: Any,
        Iterable: Sequence,
        # msgspec says of these that they are a text, but not how the text has to look.
        datetime: Annotated[datetime, Meta(extra_json_schema={"format": "date-time"})],
        time: Annotated[time, Meta(extra_json_schema={"format": "time"})],
    }
)


class ToolContext(Struct, frozen=True, kw_only=True):
    """
    The call that a tool answers.

    A parameter with this annotation is filled in by the agent; the model does not see it.
    """

    call_id: str
    """The id of the call."""

    name: str
    """The name that the tool was called by."""

    idempotency_key: str = ""
    """The same whenever this call runs again: what it does twice under one key should count once."""

    thread_id: str = ""
    """The thread of the conversation."""

    tenant: str = ""
    """The tenant of the thread."""

    run_id: str = ""
    """The run that calls."""

    iteration: int = 0
    """The number of the model call that the call is from."""

    attempt: int = 1
    """How often this call has started, including this time: more than 1 after a crash."""


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter that the model gives."""

    name: str
    """Its name."""

    annotation: Any
    """What it may be; `Any` where the function does not say."""

    default: object = UNSET
    """What it is where the model gives nothing; UNSET where the model must."""

    description: str = ""
    """What the model is told about it."""


class Signature(Struct, frozen=True, kw_only=True):
    """What a function wants and what it says of itself."""

    parameters: tuple[Parameter, ...]
    """What the model gives, in order."""

    contexts: tuple[str, ...]
    """The names of the parameters that the agent fills in with the `ToolContext`."""

    description: str
    """What the docstring says before its first section."""


def without_partial(function: ToolFunction) -> ToolFunction:
    """Return the function or method behind *function*, in which no argument is bound."""
    plain: object = function
    while isinstance(plain, partial):
        plain = cast("partial[object]", plain).func
    if not inspect.isroutine(plain):
        plain = getattr(plain, "__call__", plain)  # noqa: B004 - the method itself is wanted
    return cast("ToolFunction", plain)


def read_signature(function: ToolFunction, *, name: str) -> Signature:
    """
    Read the parameters of *function*, which is to be the tool *name*.

    What a `partial` has bound by name is not a parameter: the model can neither see nor change it.

    Raises:
        ConfigError: It is no function, has a parameter that cannot be given by name, or an
            annotation that names nothing.
    """
    _check(function, name)
    plain = without_partial(function)
    hints = _hints(plain, name)
    told = read_docstring(_docstring(plain))
    wanted = [(one, hints.get(one.name, Any)) for one in _parameters(function, name)]
    return Signature(
        parameters=tuple(
            Parameter(
                name=one.name,
                annotation=_readable(hint),
                default=UNSET if one.default is inspect.Parameter.empty else one.default,
                description=_own_description(hint) or told.parameters.get(one.name, ""),
            )
            for one, hint in wanted
            if not _is_context(hint)
        ),
        contexts=tuple(one.name for one, hint in wanted if _is_context(hint)),
        description=told.description,
    )


def _check(function: object, name: str) -> None:
    if isinstance(function, type) or not callable(function):
        what = function.__name__ if isinstance(function, type) else type(function).__name__
        message = f"tool {name!r} is made of {what}: pass a function, a method or a callable object"
        raise ConfigError(message)


def _parameters(function: ToolFunction, name: str) -> Iterator[inspect.Parameter]:
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        message = f"tool {name!r} has no signature that can be read: {error}"
        raise ConfigError(message) from error
    bound = _bound(function)
    for place, one in enumerate(found.values()):
        if one.kind in _REFUSED:
            kind = _REFUSED[one.kind]
            message = f"parameter {one.name!r} of tool {name!r} is {kind}: give it a plain name"
            raise ConfigError(message)
        if not place and one.name in {"self", "cls"} and one.annotation is one.empty:
            message = f"tool {name!r} is a method of no object: pass it as it hangs on an instance"
            raise ConfigError(message)
        if one.name not in bound:
            yield one


def _bound(function: ToolFunction) -> frozenset[str]:
    if isinstance(function, partial):
        return frozenset(cast("partial[object]", function).keywords)
    return frozenset()


def _hints(plain: ToolFunction, name: str) -> Mapping[str, object]:
    target: object = getattr(plain, "__func__", plain)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        message = f"an annotation of tool {name!r} names nothing at the top of its module: {error}"
        raise ConfigError(message) from error


def _docstring(plain: ToolFunction) -> str:
    said = plain.__doc__ or ""
    if not said and getattr(plain, "__name__", "") == "__call__":
        # An object that is called may say at its class what it does.
        said = type(cast("object", getattr(plain, "__self__", None))).__doc__ or ""
    return said


def _is_context(hint: object) -> bool:
    if typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    inner = typing.get_args(hint) if typing.get_origin(hint) in {Union, UnionType} else (hint,)
    return ToolContext in inner and all(one in {ToolContext, NoneType} for one in inner)


def _own_description(hint: object) -> str:
    """Return what an `Annotated` says in words: as a text, as `Meta` or as another's field."""
    if typing.get_origin(hint) is not Annotated:
        return ""
    for extra in typing.get_args(hint)[1:]:
        said = extra if isinstance(extra, str) else getattr(extra, "description", None)
        if isinstance(said, str) and said:
            return said
    return ""


def _readable(hint: Any) -> Any:
    """
    Return *hint* with what msgspec reads, or describes better, in the place of what it does not.
    """
    if isinstance(hint, type) and hint in _INSTEAD:
        return _INSTEAD[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return Annotated[(_readable(inner[0]), *inner[1:])]
    if origin is None or origin is typing.Literal or not inner:
        return hint
    changed = tuple(map(_readable, inner))
    if origin in {Union, UnionType}:
        return Union[changed]  # noqa: UP007 - the kinds are not known
    return _INSTEAD.get(origin, origin)[changed]
