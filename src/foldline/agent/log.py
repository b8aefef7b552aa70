"""The log of what happens in a run."""

from functools import cache
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from logging import Logger


@cache
def log() -> "Logger":
    """Return the log; it is loaded with the first line for it, which most hits do without."""
    from logging import getLogger  # noqa: PLC0415

    return getLogger("foldline")
