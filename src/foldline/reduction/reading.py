"""What one summarizer was given to read for a fold."""

from collections.abc import Iterable

from msgspec import Struct

from foldline.history.messages import Usage, total_usage


class Reading(Struct, frozen=True, kw_only=True):
    """How often one summarizer of a chain was asked for a fold, and what it read."""

    summarizer: str
    """Its name."""

    model: str = ""
    """The name of the model that it asked; empty if it asked none, or that is not known."""

    calls: int
    """How often it was asked, attempts that failed included."""

    tokens: int
    """The estimated tokens of the conversation that it was given, over all calls."""

    usage: Usage | None = None
    """What its vendor counted; None if it did not say."""


def usage_of(readings: Iterable[Reading]) -> Usage | None:
    """Return what the vendors of all *readings* counted; None if none said."""
    counted = [one.usage for one in readings if one.usage is not None]
    return total_usage(counted) if counted else None
