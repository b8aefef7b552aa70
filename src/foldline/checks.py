"""What every door of the package checks of its arguments: one line says what was expected."""

from collections.abc import Iterable, Mapping
from math import inf
from types import UnionType
from typing import TypeVar

from foldline.errors import ConfigError


__all__ = [
    "expect",
    "expect_amount",
    "expect_choice",
    "expect_seconds",
    "expect_share",
    "expect_size",
    "expect_whole",
    "several",
]


_Value = TypeVar("_Value")


def expect(name: str, value: object, kind: type | UnionType, *, hint: str = "") -> None:
    """
    Check that *value* is an instance of *kind*.

    Args:
        name: The argument or field, for the message.
        value: What was given; the message names its type only.
        kind: What is expected.
        hint: What to do instead, after the message.

    Raises:
        ConfigError: It is something else: "enabled must be a bool, got int".
    """
    if not isinstance(value, kind):
        got = "None" if value is None else type(value).__name__
        message = f"{name} must be {_named(kind)}, got {got}"
        raise ConfigError(f"{message}: {hint}" if hint else message)


def _named(kind: type | UnionType) -> str:
    kinds = kind.__args__ if isinstance(kind, UnionType) else (kind,)
    if kind is bytes:
        return "bytes"
    names = ["None" if one is type(None) else one.__name__ for one in kinds]
    article = "an" if names[0][0] in "AEIOUaeiou" else "a"
    return f"{article} {' or '.join(names)}"


def expect_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """
    Check that *value* is one of *choices*.

    Raises:
        ConfigError: It is not; the message names the field, the choices and the value.
    """
    if value not in choices:
        message = f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}"
        raise ConfigError(message)


def expect_whole(name: str, value: object, least: int, *, optional: bool = False) -> None:
    """
    Check that *value* is a whole number of at least *least*, or None where that is *optional*.

    Raises:
        ConfigError: It is not; the message names the field, what is expected and the value.
    """
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        either = " or None" if optional else ""
        message = f"{name} must be a whole number of at least {least}{either}, got {value!r}"
        raise ConfigError(message)


def expect_seconds(name: str, value: object, *, most: float = inf) -> None:
    """
    Check that *value* is a number of seconds above zero and at most *most*.

    Raises:
        ConfigError: It is not, as `nan`; the message names the field and the value.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        limit = "" if most == inf else f" and at most {most:,}"
        message = f"{name} must be a number of seconds above 0{limit}, got {value!r}"
        raise ConfigError(message)


def expect_amount(name: str, value: object) -> None:
    """
    Check that *value* is an amount of money: a number of at least 0.

    Raises:
        ConfigError: It is not, as `nan`; the message names the field and the value.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
        message = f"{name} must be a number of US dollars of at least 0, got {value!r}"
        raise ConfigError(message)


def expect_share(name: str, value: object) -> None:
    """
    Check that *value* is a share: above 0 and at most 1.

    Raises:
        ConfigError: It is not; the message names the field and the value.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        message = f"{name} must be above 0 and at most 1, got {value!r}"
        raise ConfigError(message)


def expect_size(name: str, value: object, least: int) -> None:
    """
    Check that *value* is a share of the window, a whole number of tokens of at least *least*, or None.

    Raises:
        ConfigError: It is not; the message names the field and the value.
    """
    if value is None:
        return
    size = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
    if not (0 < size <= 1 or (size >= least and size % 1 == 0)):
        message = (
            f"{name} must be a share of the window above 0 and at most 1.0, or a whole number of at "
            f"least {least} tokens, got {value!r}"
        )
        raise ConfigError(message)


def several(name: str, values: Iterable[_Value]) -> tuple[_Value, ...]:
    """Return *values* as a tuple; raise ConfigError if it is a single value, a string or a mapping."""
    kind: type = type(values)
    # A string and a mapping can be iterated too, but the result was not meant.
    if issubclass(kind, (str, bytes, Mapping)) or not issubclass(kind, Iterable):
        message = f"{name} must be a list, got {kind.__name__}"
        raise ConfigError(message)
    return tuple(values)
