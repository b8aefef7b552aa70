"""What pydantic's `Field` and annotated-types say of a parameter, in the words of msgspec."""

import typing
from collections.abc import Callable, Iterable
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Union, cast

from msgspec import Meta
from msgspec.inspect import type_info


_LIMITS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")


def field_default(default: Any) -> Callable[[], object] | None:
    """Return what makes the default of a `Field` in the place of a default; None if it has none."""
    if not is_field(default) or default.is_required():
        return None
    return partial(default.get_default, call_default_factory=True)


def is_field(default: Any) -> bool:
    """Whether *default* is a `Field`, which describes a parameter and is no value of it."""
    return hasattr(default, "is_required") and hasattr(default, "get_default")


def limited(hint: Any, marks: Iterable[object]) -> Any:
    """Return *hint* within the limits that *marks* beside it set, such as `Field(ge=1)`."""
    limits = {
        name: limit
        for mark in marks
        for one in _limits_in(mark)
        for name in _LIMITS
        if isinstance(limit := getattr(one, name, None), int | float | str)
    }
    return _within(hint, limits) if limits else hint


def _limits_in(mark: object) -> Iterable[object]:
    if isinstance(mark, Meta):
        return ()
    inner: object = getattr(mark, "metadata", None)
    return cast("list[object]", inner) if isinstance(inner, list) else (mark,)


def _within(hint: Any, limits: dict[str, Any]) -> Any:
    if hint is NoneType:
        return hint
    if typing.get_origin(hint) in {Union, UnionType}:
        kinds = tuple(_within(one, limits) for one in typing.get_args(hint))
        return Union[kinds]  # noqa: UP007 - the kinds are not known
    bound = Annotated[hint, Meta(**limits)]
    try:
        type_info(bound)
    except TypeError:
        # Of a `Decimal`, for one, msgspec checks no limits: that is left to the function.
        return hint
    return bound
