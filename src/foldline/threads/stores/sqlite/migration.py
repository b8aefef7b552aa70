"""Bringing a SQLite file of an earlier format up to date."""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from itertools import chain
from typing import Final

from foldline.errors import StoreCorruptError, StoreVersionError
from foldline.threads.stores.flatten import Branch, flatten
from foldline.threads.stores.sqlite.identity import number_in
from foldline.threads.stores.statements import migrations, statements


SEQ_BITS: Final = 32
"""How many bits of a row's id are its number; those above are its epoch."""

SEQ_MASK: Final = (1 << SEQ_BITS) - 1
"""The bits of the number."""

NEWEST_SCHEMA: Final = 6
"""The version of the tables that this foldline reads and writes."""

# Before it, threads shared rows on branches.
_FLAT_ROWS: Final = 4

_PACKAGE: Final = "foldline.threads.stores.sqlite"


def migrate(connection: sqlite3.Connection, name: str) -> None:
    """Bring the tables of the file *name* up to date in one transaction: a kill undoes it."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        number = number_in(connection)
        if number.schema > NEWEST_SCHEMA:
            what = f"the store {name}"
            raise StoreVersionError(what=what, found=number.schema, known=NEWEST_SCHEMA)
        missing = (pieces for one, pieces in migrations(_PACKAGE) if one > number.schema)
        for piece in chain.from_iterable(missing):
            connection.execute(piece)
        if number.schema < _FLAT_ROWS:
            _flatten(connection, statements(_PACKAGE), name)
        number._replace(schema=NEWEST_SCHEMA).write(connection)


def _flatten(connection: sqlite3.Connection, sql: Mapping[str, str], name: str) -> None:
    """Copy the rows that threads shared on branches, byte for byte, to each that reads them."""
    branches: dict[int | str, Branch] = {}
    owned = defaultdict[int | None, list[Branch]](list)
    for pk, id, thread, parent, at in connection.execute(sql["old_branches"]).fetchall():
        base = pk << SEQ_BITS
        (last,) = connection.execute(sql["old_last"], (base, base + SEQ_MASK)).fetchone()
        stop = at if last is None else (last & SEQ_MASK) + 1
        branches[pk] = Branch(pk, parent, at, stop, id)
        owned[thread].append(branches[pk])
    for pk, current in connection.execute(sql["old_threads"]).fetchall():
        own = owned[pk] or [one for one in branches.values() if one.name == current]
        if not own:
            raise StoreCorruptError(f"{name} lacks the messages of a thread: restore a backup")
        numbers = {
            one.name: connection.execute(sql["add_epoch"], (pk, one.id)).lastrowid or 0
            for one in own
        }
        connection.execute(sql["old_epoch"], (numbers[own[0].name], own[-1].id, pk))
        for epoch, spans in flatten(own, branches):
            target = numbers[epoch] << SEQ_BITS
            for span in spans:
                base, id = int(span.branch) << SEQ_BITS, branches[span.branch].id
                ends = (base + span.start, base + span.stop)
                connection.execute(sql["copy_old_rows"], (target, SEQ_MASK, id, *ends))
    for table in ("old_rows", "branches"):
        connection.execute(f"DROP TABLE {table}")
