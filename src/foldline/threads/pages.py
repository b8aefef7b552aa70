"""Where a page of a list ended, as text that callers keep and give back."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from typing import TypeVar

import msgspec

from foldline.checks import expect
from foldline.errors import ConfigError


__all__ = ["place_after", "written_place"]


_Place = TypeVar("_Place")


def written_place(place: tuple[object, ...]) -> str:
    """Return *place*, the last of a page, as letters, digits, `-` and `_`."""
    return urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def place_after(name: str, cursor: str, kind: type[_Place]) -> _Place | None:
    """Return what `written_place` was given; None for an empty *cursor*; ConfigError for others."""
    expect(name, cursor, str)
    if not cursor:
        return None
    try:
        return msgspec.json.decode(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=kind)
    except (Error, ValueError, msgspec.MsgspecError):
        message = f"{name} must be the `next` of a page of the same list, got another text"
        raise ConfigError(message) from None
