"""The names of the threads in a SQLite file, and their index."""

import sqlite3
from collections.abc import Mapping

from foldline.errors import StoreCorruptError
from foldline.threads.key import ThreadKey


__all__ = ["check_absent"]


def check_absent(connection: sqlite3.Connection, sql: Mapping[str, str], key: ThreadKey) -> None:
    """
    See whether a thread that its name does not lead to is really not there.

    Where a page of the index has lost what was on it, SQLite finds less and does not tell; a second
    thread would then be made beside the first. Where the search has ended there is then an entry
    beside it that says something else than the row that it leads to.

    Raises:
        StoreCorruptError: The index is damaged there.
    """
    name = (key.tenant, key.id)
    entries = [connection.execute(sql[side], name).fetchone() for side in ("before", "behind")]
    found = [entry for entry in entries if entry is not None]
    is_sound = all(
        connection.execute(sql["name_of"], (pk,)).fetchone() == (tenant, id)
        for pk, tenant, id in found
    )
    if not found:
        is_sound = connection.execute(sql["any_thread"]).fetchone() is None
    if not is_sound:
        message = (
            f"the index of names is damaged where thread {key.id!r} would be (SQLITE_CORRUPT_INDEX)"
        )
        raise StoreCorruptError(message)
