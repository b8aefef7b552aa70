"""What a look at a store and the programs under it has found."""

from typing import Literal, TypeAlias

from msgspec import Struct


__all__ = ["Finding", "Weight"]


Weight: TypeAlias = Literal["fine", "note", "danger"]
"""What a finding means: nothing to do, good to know, or that data may be lost."""


class Finding(Struct, frozen=True, kw_only=True):
    """One fact about a store."""

    name: str
    """What it is about."""

    value: str
    """What was found."""

    weight: Weight = "fine"
    """What it means."""

    advice: str = ""
    """What to do about it; empty where nothing has to be done."""
