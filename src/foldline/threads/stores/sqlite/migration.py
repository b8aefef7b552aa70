"""Bringing a SQLite file of an earlier format up to date."""

import sqlite3
from collections.abc import Mapping
from typing import Final

from foldline.errors import StoreVersionError
from foldline.threads.stores.flatten import Branch, Part, flatten
from foldline.threads.stores.statements import migrations, statements


__all__ = ["NEWEST_SCHEMA", "SEQ_BITS", "SEQ_MASK", "migrate"]


SEQ_BITS: Final = 32
"""How many bits of a row's id are its number; those above are its epoch."""

SEQ_MASK: Final = (1 << SEQ_BITS) - 1
"""The bits of the number."""

NEWEST_SCHEMA: Final = 4
"""The version of the tables that this foldline reads and writes."""

_PACKAGE: Final = "foldline.threads.stores.sqlite"
_FLAT_ROWS: Final = 4


def migrate(connection: sqlite3.Connection, found: int, name: str) -> None:
    """
    Bring the tables from the version *found* up to date, in the transaction that is open.

    Raises:
        StoreVersionError: A newer foldline wrote the file *name*.
    """
    if found > NEWEST_SCHEMA:
        raise StoreVersionError(what=f"the store {name}", found=found, known=NEWEST_SCHEMA)
    for number, pieces in migrations(_PACKAGE):
        if number > found:
            for piece in pieces:
                connection.execute(piece)
            if number == _FLAT_ROWS:
                _flatten(connection, statements(_PACKAGE))


def _flatten(connection: sqlite3.Connection, sql: Mapping[str, str]) -> None:
    """Copy the rows that threads shared on branches, byte for byte, to each that reads them."""
    branches, owned = _old_branches(connection, sql)
    for pk, current in connection.execute(sql["old_threads"]).fetchall():
        own = owned.get(pk) or [branches[current]]
        numbers = dict[int | str, int]()
        for branch in own:
            (id,) = connection.execute(sql["old_branch_id"], (branch.name,)).fetchone()
            numbers[branch.name] = _add_epoch(connection, sql, pk, id)
        connection.execute(sql["set_epoch"], (numbers[own[0].name], id, pk))
        for part in flatten(own, branches):
            _copy(connection, sql, part, numbers[part.epoch])
    for table in ("old_rows", "branches"):
        connection.execute(f"DROP TABLE {table}")


def _old_branches(
    connection: sqlite3.Connection, sql: Mapping[str, str]
) -> tuple[dict[int | str, Branch], dict[int, list[Branch]]]:
    branches: dict[int | str, Branch] = {}
    owned: dict[int, list[Branch]] = {}
    for pk, thread, parent, at in connection.execute(sql["old_branches"]).fetchall():
        base = pk << SEQ_BITS
        (last,) = connection.execute(sql["old_last"], (base, base + SEQ_MASK)).fetchone()
        stop = at if last is None else (last & SEQ_MASK) + 1
        branches[pk] = Branch(pk, parent, at, stop)
        if thread is not None:
            owned.setdefault(thread, []).append(branches[pk])
    return branches, owned


def _add_epoch(
    connection: sqlite3.Connection, sql: Mapping[str, str], thread: int, id: bytes
) -> int:
    connection.execute(sql["add_epoch"], (thread, id))
    (pk,) = connection.execute("SELECT last_insert_rowid()").fetchone()
    return int(pk)


def _copy(connection: sqlite3.Connection, sql: Mapping[str, str], part: Part, target: int) -> None:
    for span in part.spans:
        base = int(span.branch) << SEQ_BITS
        (id,) = connection.execute(sql["old_branch_id"], (span.branch,)).fetchone()
        connection.execute(
            sql["copy_old_rows"],
            (target << SEQ_BITS, SEQ_MASK, id, base + span.start, base + span.stop),
        )
