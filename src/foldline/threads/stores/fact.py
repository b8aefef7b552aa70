"""What `foldline doctor` reports about a store."""

from msgspec import Struct


__all__ = ["Fact"]


class Fact(Struct, frozen=True, kw_only=True):
    """One fact about the environment of a store."""

    name: str
    """What it is about."""

    value: str
    """What was found."""

    advice: str = ""
    """What to do about it; empty if nothing has to be done."""

    is_danger: bool = False
    """Whether data may be lost, or the store cannot be used."""
