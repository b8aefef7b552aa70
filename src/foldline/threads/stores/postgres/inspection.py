"""What belongs to nothing in the tables of a PostgreSQL store."""

from typing import Final

from foldline.threads.fault import Fault
from foldline.threads.stores.postgres.link import PostgresLink


__all__ = ["look_into"]


# So many at once, since a call has its time, however large the store is.
_PAGE: Final = 1000
_BEFORE_ALL: Final = -(1 << 63)
# Of each statement: the number before the first one, and what it counts behind the last number.
_LOOKS: Final[tuple[tuple[str, int, tuple[str, ...]], ...]] = (
    (
        "stray_branches",
        _BEFORE_ALL,
        (
            "branches belong to a thread that is not there",
            "branches go on behind one that is not there, or begins behind them",
            "branches belong to no thread and are shared by none",
            "branches belong to a thread of another tenant",
        ),
    ),
    (
        "stray_documents",
        _BEFORE_ALL,
        (
            "documents belong to a thread that is not there",
            "documents are of no known kind",
        ),
    ),
    (
        "stray_rows",
        (_BEFORE_ALL >> 32) - 1,
        ("message rows belong to a branch that is not there",),
    ),
)


async def look_into(link: PostgresLink) -> list[Fault]:
    """
    Return what belongs to nothing, and harms nobody who writes beside it.

    Raises:
        StoreError: The server cannot be asked.
    """
    faults: list[Fault] = []
    for name, first, meanings in _LOOKS:
        counts = await _counted(link, name, first)
        told = zip(counts, meanings, strict=True)
        faults += [
            Fault(kind="stray", problem=f"{count} {meaning}") for count, meaning in told if count
        ]
    return faults


async def _counted(link: PostgresLink, name: str, first: int) -> list[int]:
    """Return what the statement *name* counts in all its pages."""
    pages: list[list[int]] = []
    after: int | None = first
    while after is not None:
        ((after, *counts),) = await link.read(name, {"after": after, "limit": _PAGE})
        pages.append(counts)
    return [sum(column) for column in zip(*pages, strict=True)]
