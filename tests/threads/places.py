"""Where a SQLite store keeps what, for tests that change it past every program."""

import sqlite3
from contextlib import closing
from pathlib import Path


Place = tuple[str, str, str]
"""Table, column and condition of one value."""


def place_of(thread: int, kind: str) -> Place:
    """Return where the document *kind* of a thread lies: the execution state beside the head."""
    if kind == "execution":
        return "threads", "execution", f"pk = {thread}"
    return "documents", "data", f"thread = {thread} AND kind = '{kind}'"


def swap(path: Path, *places: Place) -> None:
    """Put the values at two *places* of the file at *path* into each other's place."""
    select, update = "SELECT {1} FROM {0} WHERE {2}", "UPDATE {0} SET {1} = ? WHERE {2}"
    with closing(sqlite3.connect(path)) as connection, connection:
        found = [connection.execute(select.format(*one)).fetchone() for one in places]
        for one, content in zip(reversed(places), found, strict=True):
            connection.execute(update.format(*one), content)
