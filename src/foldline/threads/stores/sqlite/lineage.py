"""
What a branch in a SQLite file is made of.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Final

from foldline.errors import StoreCorruptError
from foldline.threads.key import ThreadKey


__all__ = ["SEQ_BITS", "SEQ_MASK", "lineage"]


SEQ_BITS: Final = 32
"""How many bits of a row's id are its number; those above are its branch."""

SEQ_MASK: Final = (1 << SEQ_BITS) - 1
"""The bits of the number."""

# The ids of the rows have 63 bits.
_LAST: Final = SEQ_MASK >> 1


def lineage(
    connection: sqlite3.Connection,
    sql: Mapping[str, str],
    key: ThreadKey,
    branch: bytes,
    *,
    start: int = 0,
) -> Iterator[tuple[int, bytes, int, int | None]]:
    """
    Give *branch* and its ancestors: key, name, first row of its own, and row behind its last.

    Ancestors whose rows all lie before *start* are left out.

    Raises:
        StoreCorruptError: It leads in a circle, or a number in it is damaged.
    """
    found = connection.execute(sql["find_branch"], (branch, key.tenant)).fetchone()
    stop: int | None = None
    known: set[int] = set()
    while found is not None and (stop is None or start < stop):
        pk, parent, at, name = found
        if pk in known:
            message = f"the branches of thread {key.id!r} lead in a circle"
            raise StoreCorruptError(message)
        if not 0 <= pk <= _LAST:
            message = f"a branch of thread {key.id!r} has a number that is none"
            raise StoreCorruptError(message)
        known.add(pk)
        yield pk, name, at, stop
        stop = at if stop is None else min(stop, at)
        if parent is None:
            return
        found = connection.execute(sql["find_parent"], (parent, key.tenant)).fetchone()
