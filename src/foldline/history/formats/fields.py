"""
Reading the fields of records that others wrote, where a field may be missing.

What is missing or of another kind reads as empty. The strict counterparts are in `formats.wire`;
`at` adds the place of a record to an error.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias

from foldline.errors import FormatError


__all__ = [
    "Object",
    "at",
    "first_text",
    "maybe_count",
    "maybe_list",
    "maybe_object",
    "maybe_text",
    "maybe_time",
    "scalars",
]


Object: TypeAlias = dict[str, Any]
"""A JSON object."""

_MILLISECONDS = 1e11
"""As seconds this is a time thousands of years away; a larger number counts milliseconds."""


def maybe_object(value: Any) -> Object:
    """Return *value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def maybe_list(value: Any) -> list[Any]:
    """Return *value* if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def maybe_text(value: Any) -> str:
    """Return *value* if it is a str, else an empty one."""
    return value if isinstance(value, str) else ""


def maybe_count(value: Any) -> int:
    """Return *value* if it is a whole number and not negative, else 0."""
    return value if type(value) is int and value > 0 else 0


def maybe_time(value: Any) -> datetime | None:
    """
    Return the time that *value* is: ISO 8601 text, or seconds or milliseconds since 1970.

    A time without a zone is taken as UTC, the only reading that is the same on every machine.
    """
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        if type(value) in {int, float}:
            seconds = value / 1000 if value > _MILLISECONDS else value
            return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def first_text(record: Object, *keys: str) -> str:
    """Return the first of *keys* in *record* that is a str or a whole number, as a str."""
    for key in keys:
        value = record.get(key)
        if (isinstance(value, str) and value) or type(value) is int:
            return str(value)
    return ""


def scalars(record: Object, keys: Iterable[str]) -> Object:
    """Return those of *keys* in *record* that hold a str, a number or a bool."""
    return {
        key: record[key]
        for key in keys
        if isinstance(record.get(key), str | int | float) and record[key] != ""
    }


@contextmanager
def at(place: str) -> Generator[None]:
    """Name *place* in every `FormatError` that is raised inside."""
    try:
        yield
    except FormatError as error:
        message = f"{place}: {error}"
        raise FormatError(message) from error
