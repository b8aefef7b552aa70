"""What a function wants and says of itself: its annotations and its docstring."""

import inspect
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, time
from functools import partial
from itertools import pairwise
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, TypeAlias, Union, cast

from msgspec import UNSET, Meta, Struct

from foldline.agent.tools.limits import field_default, is_field, limited
from foldline.errors import ConfigError
from foldline.threads.read_only import ReadOnlyThread


ToolFunction: TypeAlias = Callable[..., object]
"""A function, a method, a partial or a callable object; async or not."""

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
        # msgspec calls these strings, without a format.
        datetime: Annotated[datetime, Meta(extra_json_schema={"format": "date-time"})],
        time: Annotated[time, Meta(extra_json_schema={"format": "time"})],
    }
)
_Reader: TypeAlias = Callable[[str], re.Match[str] | None]

_GOOGLE = re.compile(
    r"(?P<parameters>Args|Arguments|Params|Parameters|(?:Keyword|Other) (?:Args|Arguments|Parameters))"
    r":\s*|(?:Attributes|Examples?|Notes?|Raises|References|Returns?|See Also|Todo|Warnings?|Warns"
    r"|Yields?):\s*"
).fullmatch
_UNDERLINE = re.compile(r"-{3,}\s*").fullmatch
_NUMPY = re.compile(r"(?:Other )?Parameters\s*").fullmatch
_FIELD = re.compile(r":(?:[a-z]+)(?: [^:\n]*)?:").match
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)(?:\s*\(.*?\))?\s*:(?:\s+|$)(.*)").fullmatch
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?").fullmatch
_SPHINX_ENTRY = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword)\s[^:]*?(?<!\w)(\w++)\s*+:\s*(.*)"
).fullmatch


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

    thread: ReadOnlyThread | None = None
    """The thread itself, to be read: what the tool writes there the running turn does not expect."""

    page_tokens: int = 1_000
    """How many tokens of a long text the tool should answer with at once, as foldline estimates."""


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter that the model fills in."""

    name: str
    annotation: Any
    # UNSET if the model must give it.
    default: object = UNSET
    description: str = ""
    # What makes the default, if the function's own is a `Field` of pydantic with one.
    maker: Callable[[], object] | None = None


class Signature(Struct, frozen=True, kw_only=True):
    """The parameters and the description of a function."""

    parameters: tuple[Parameter, ...]
    # The names of the parameters that get the `ToolContext`.
    contexts: tuple[str, ...]
    # The docstring up to its first section.
    description: str


def without_partial(function: ToolFunction) -> ToolFunction:
    """Return the function or method in *function*, without bound arguments."""
    plain: object = function
    while isinstance(plain, partial):
        plain = cast("partial[object]", plain).func
    if not inspect.isroutine(plain):
        plain = getattr(plain, "__call__", plain)  # noqa: B004 - the method itself is wanted
    return cast("ToolFunction", plain)


def read_signature(function: ToolFunction, *, name: str) -> Signature:
    """Read the parameters of *function*, without those that a `partial` binds by name."""
    _check(function, name)
    plain = without_partial(function)
    hints = _hints(plain, name)
    told = read_docstring(_docstring(plain))
    wanted = [(one, _hint(one, hints)) for one in _parameters(function, name)]
    return Signature(
        parameters=tuple(
            _parameter(one, hint, told.parameters) for one, hint in wanted if not _is_context(hint)
        ),
        contexts=tuple(one.name for one, hint in wanted if _is_context(hint)),
        description=told.description,
    )


def _hint(one: inspect.Parameter, hints: Mapping[str, object]) -> Any:
    hint = hints.get(one.name, Any)
    return Annotated[hint, one.default] if is_field(one.default) else hint


def _parameter(one: inspect.Parameter, hint: Any, told: Mapping[str, str]) -> Parameter:
    maker, default = field_default(one.default), one.default
    if maker is not None:
        default = maker()
    elif is_field(default) or default is inspect.Parameter.empty:
        default = UNSET
    return Parameter(
        name=one.name,
        annotation=_readable(hint),
        default=default,
        description=_own_description(hint) or told.get(one.name, ""),
        maker=maker,
    )


def _check(function: object, name: str) -> None:
    if isinstance(function, type) or not callable(function):
        what = function.__name__ if isinstance(function, type) else type(function).__name__
        raise ConfigError(
            f"tool {name!r} must be a function, a method or a callable object, got {what}: "
            "`Tool(name=…, parameters=…, function=…)` has a JSON schema from elsewhere"
        )


def _parameters(function: ToolFunction, name: str) -> Iterator[inspect.Parameter]:
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise ConfigError(f"tool {name!r} has no readable signature: {error}") from error
    bound: Iterable[str] = ()
    if isinstance(function, partial):
        bound = cast("partial[object]", function).keywords
    for place, one in enumerate(found.values()):
        if one.kind in _REFUSED:
            kind = _REFUSED[one.kind]
            message = f"parameter {one.name!r} of tool {name!r} must have a plain name, got {kind}"
            raise ConfigError(message)
        if not place and one.name in {"self", "cls"} and one.annotation is one.empty:
            message = f"tool {name!r} must be a method of an instance, got one of a class: pass `instance.method`, decorated with nothing in the class"
            raise ConfigError(message)
        if one.name not in bound:
            yield one


def _hints(plain: ToolFunction, name: str) -> Mapping[str, object]:
    target: object = getattr(plain, "__func__", plain)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        raise ConfigError(
            f"an annotation of tool {name!r} must be defined at the top of its module: {error}"
        ) from error


def _docstring(plain: ToolFunction) -> str:
    said = plain.__doc__ or ""
    if not said and getattr(plain, "__name__", "") == "__call__":
        # A callable object may have its description in its class.
        said = type(cast("object", getattr(plain, "__self__", None))).__doc__ or ""
    return said


def _is_context(hint: object) -> bool:
    if typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    inner = typing.get_args(hint) if typing.get_origin(hint) in {Union, UnionType} else (hint,)
    return ToolContext in inner and all(one in {ToolContext, NoneType} for one in inner)


def _own_description(hint: object) -> str:
    """Return the description in an `Annotated`: a string, a `Meta` or a field of another library."""
    if typing.get_origin(hint) is not Annotated:
        return ""
    for extra in typing.get_args(hint)[1:]:
        said = extra if isinstance(extra, str) else getattr(extra, "description", None)
        if isinstance(said, str) and said:
            return said
    return ""


def _readable(hint: Any) -> Any:
    if isinstance(hint, type) and hint in _INSTEAD:
        return _INSTEAD[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return Annotated[(limited(_readable(inner[0]), inner[1:]), *inner[1:])]
    if origin is None or origin is typing.Literal or not inner:
        return hint
    changed = tuple(map(_readable, inner))
    if origin in {Union, UnionType}:
        return Union[changed]  # noqa: UP007 - the kinds are not known
    return _INSTEAD.get(origin, origin)[changed]


class Docstring(Struct, frozen=True, kw_only=True):
    """The text before the first section of a docstring, and the description of each parameter."""

    description: str
    parameters: Mapping[str, str]


def read_docstring(text: str) -> Docstring:
    """Return the parts of *text*: Google, NumPy or Sphinx style."""
    lines = inspect.cleandoc(text).splitlines()
    starts = [place for place in range(len(lines)) if _begins_section(lines, place)]
    end = starts[0] if starts else len(lines)
    parameters: dict[str, str] = {}
    for start, stop in pairwise([*starts, len(lines)]):
        parameters |= _described(lines[start:stop])
    return Docstring(description="\n".join(lines[:end]).strip(), parameters=parameters)


def _begins_section(lines: Sequence[str], place: int) -> bool:
    line = lines[place]
    after = lines[place + 1] if place + 1 < len(lines) else ""
    if _UNDERLINE(after):
        return bool(line.strip())
    return bool(_GOOGLE(line) or _FIELD(line))


def _described(section: Sequence[str]) -> dict[str, str]:
    """Return the text of each parameter in *section*, if it is one of parameters."""
    first, *rest = section
    google = _GOOGLE(first)
    if _FIELD(first):
        return _read([first, *(line.strip() for line in rest)], _SPHINX_ENTRY)
    if google is not None and google["parameters"]:
        return _read(_indented(rest), _GOOGLE_ENTRY)
    return _read(rest[1:], _NUMPY_ENTRY) if _NUMPY(first) else {}


def _indented(lines: Sequence[str]) -> list[str]:
    filled = [line for line in lines if line.strip()]
    depth = len(filled[0]) - len(filled[0].lstrip()) if filled else 0
    inside: list[str] = []
    for line in filled:
        if not depth or line[:depth].strip():
            break
        inside.append(line[depth:])
    return inside


def _read(lines: Sequence[str], entry: _Reader) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in lines:
        begun = entry(line)
        words = line.strip()
        if begun is not None:
            names = re.findall(r"\w+", begun[1])
            words = begun[2].strip() if begun.re.groups > 1 else ""
            found |= {name: [] for name in names}
        for name in names:
            found[name].append(words)
    return {name: " ".join(filter(None, texts)) for name, texts in found.items()}
