"""The scripts that run inside Redis, as they lie in files."""

from collections.abc import Mapping
from hashlib import sha1
from types import MappingProxyType
from typing import Final

from msgspec import Struct


__all__ = ["Script", "scripts"]


_PACKAGE: Final = "foldline.threads.stores.redis"
_SHARED: Final = ("layout", "branches", "documents")
_NAMES: Final = (
    "check",
    "commit",
    "contents",
    "delete",
    "fence",
    "inspect",
    "load",
    "marks",
    "names",
    "rows",
    "tenants",
    "threads",
)


class Script(Struct, frozen=True):
    """A script, and the name by which Redis knows it again."""

    text: bytes
    """The script."""

    digest: bytes
    """Its SHA-1 in hexadecimal."""


def scripts() -> Mapping[str, Script]:
    """Return every script by its name, each with what all of them share in front."""
    from importlib.resources import files  # noqa: PLC0415 - a quarter of the whole import

    folder = files(_PACKAGE) / "lua"
    shared = b"".join((folder / f"{part}.lua").read_bytes() for part in _SHARED)
    return MappingProxyType(
        {name: _script(shared + (folder / f"{name}.lua").read_bytes()) for name in _NAMES}
    )


def _script(text: bytes) -> Script:
    # Redis names scripts so; nothing is protected by it.
    return Script(text, sha1(text, usedforsecurity=False).hexdigest().encode())
