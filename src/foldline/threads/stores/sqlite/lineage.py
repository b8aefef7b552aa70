"""What a branch in a SQLite file is made of."""

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
        if stop is None:
            # It was found by its name, whatever is stored beside that.
            name = branch
        _check(key, pk, parent, at, name)
        known.add(pk)
        yield pk, name, at, stop
        stop = at if stop is None else min(stop, at)
        if parent is None:
            return
        found = connection.execute(sql["find_parent"], (parent, key.tenant)).fetchone()


def _check(key: ThreadKey, pk: object, parent: object, at: object, name: object) -> None:
    """
    See that a branch has numbers and a name: a damaged file may give back a value of any type.
    """
    message = None
    if not isinstance(pk, int) or not 0 <= pk <= _LAST:
        message = f"a branch of thread {key.id!r} has a number that is none"
    elif not isinstance(at, int) or not 0 <= at <= SEQ_MASK:
        message = f"a branch of thread {key.id!r} begins with a number that is none"
    elif not isinstance(parent, int | None):
        message = f"a branch of thread {key.id!r} goes on behind a number that is none"
    elif not isinstance(name, bytes):
        message = f"a branch of thread {key.id!r} has a name that is none"
    if message is not None:
        raise StoreCorruptError(message)
