"""The scripts that run inside Redis, out of their files."""

from collections.abc import Mapping
from hashlib import sha1
from types import MappingProxyType
from typing import Final

from msgspec import Struct


__all__ = ["Script", "scripts"]


_PACKAGE: Final = "foldline.threads.stores.redis"
_SHARED: Final = ("layout", "writing")
# Every other script is refused by a store of another format.
_ANY_FORMAT: Final = ("begin", "check", "flatten")
_NAMES: Final = (
    *_ANY_FORMAT,
    "commit",
    "delete",
    "documents",
    "fence",
    "load",
    "rows",
    "tenants",
    "threads",
)


class Script(Struct, frozen=True):
    """A script, and the name under which Redis remembers it."""

    text: bytes
    """The script."""

    digest: bytes
    """Its SHA-1 in hexadecimal."""


def scripts() -> Mapping[str, Script]:
    """Return every script by its name, each after what all of them share."""
    from importlib.resources import files  # noqa: PLC0415 - a quarter of the whole import

    folder = files(_PACKAGE) / "lua"
    found: dict[str, Script] = {}
    for name in _NAMES:
        guard = () if name in _ANY_FORMAT else ("guard",)
        parts = (*_SHARED, *guard, name)
        text = b"".join((folder / f"{part}.lua").read_bytes() for part in parts)
        # Redis names scripts so; nothing is protected by it.
        found[name] = Script(text, sha1(text, usedforsecurity=False).hexdigest().encode())
    return MappingProxyType(found)
