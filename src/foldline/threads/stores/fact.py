"""What `foldline doctor` reports about a store."""

from msgspec import Struct


__all__ = ["Fact"]


class Fact(Struct, frozen=True, kw_only=True):
    """One fact about the environment of a store, and what to do about it; a danger costs data."""

    name: str
    value: str
    advice: str = ""
    is_danger: bool = False
