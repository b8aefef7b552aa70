"""What every door of the package checks of its arguments: one line says what was expected."""

from collections.abc import Iterable, Mapping
from math import inf
from types import UnionType
from typing import TypeVar

from foldline.errors import ConfigError


_Value = TypeVar("_Value")


def expect(name: str, value: object, kind: type | UnionType, *, hint: str = "") -> None:
    """
    Raise ConfigError if *value* is no instance of *kind*: "enabled must be a bool, got int".

    The message has the *name*, the type alone of the value, and a *hint* what to do instead.
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
    """Raise ConfigError, with the choices and the value, if *value* is none of *choices*."""
    if value not in choices:
        raise ConfigError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}")


def expect_whole(name: str, value: object, least: int, *, optional: bool = False) -> None:
    """
    Raise ConfigError if *value* is no whole number of at least *least*, nor an *optional* None.
    """
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        either = " or None" if optional else ""
        message = f"{name} must be a whole number of at least {least}{either}, got {value!r}"
        raise ConfigError(message)


def expect_seconds(name: str, value: object, *, most: float = inf) -> None:
    """
    Raise ConfigError if *value*, as `nan`, is no number of seconds above 0 and at most *most*.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        limit = "" if most == inf else f" and at most {most:,}"
        raise ConfigError(f"{name} must be a number of seconds above 0{limit}, got {value!r}")


def expect_amount(name: str, value: object) -> None:
    """Raise ConfigError if *value*, as `nan`, is no amount of money: a number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
        raise ConfigError(f"{name} must be a number of US dollars of at least 0, got {value!r}")


def expect_share(name: str, value: object) -> None:
    """Raise ConfigError if *value* is no share: above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ConfigError(f"{name} must be above 0 and at most 1, got {value!r}")


def expect_size(name: str, value: object, least: int) -> None:
    """Raise ConfigError if *value* is no share of the window, number of *least* tokens, or None."""
    if value is None:
        return
    size = value if isinstance(value, int | float) and not isinstance(value, bool) else 0
    if not (0 < size <= 1 or (size >= least and size % 1 == 0)):
        raise ConfigError(
            f"{name} must be a share of the window above 0 and at most 1.0, or a whole number of at "
            f"least {least} tokens, got {value!r}"
        )


def several(name: str, values: Iterable[_Value]) -> tuple[_Value, ...]:
    """Return *values* as a tuple; raise ConfigError if it is a single value, a string or a mapping."""
    kind: type = type(values)
    # A string and a mapping can be iterated too, but the result was not meant.
    if issubclass(kind, (str, bytes, Mapping)) or not issubclass(kind, Iterable):
        raise ConfigError(f"{name} must be a list, got {kind.__name__}")
    return tuple(values)
