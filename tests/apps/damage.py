"""Damage in the file of a store, as a disk makes it."""

import sqlite3
from contextlib import closing
from pathlib import Path


_ROW = "id = (SELECT live << 32 FROM threads WHERE tenant = 'default' AND id = ?) + ?"


def zero_row(path: Path, thread: str, number: int) -> None:
    execute(path, f"UPDATE rows SET data = zeroblob(length(data)) WHERE {_ROW}", thread, number)


def delete_row(path: Path, thread: str, number: int) -> None:
    execute(path, f"DELETE FROM rows WHERE {_ROW}", thread, number)


def change_row(path: Path, thread: str, number: int, *, place: int = -1) -> None:
    """Flip one bit of the message *number* of a thread."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(f"SELECT data FROM rows WHERE {_ROW}", (thread, number))
        data = bytearray(found.fetchone()[0])
    data[place] ^= 1
    execute(path, f"UPDATE rows SET data = ? WHERE {_ROW}", bytes(data), thread, number)


def execute(path: Path, statement: str, *values: object) -> None:
    """Run *statement*, which finds something to change, on the file of a store."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(statement, values).rowcount
        connection.commit()


def smash(path: Path, table: str) -> None:
    """Write over every page that holds *table*, as a failing disk does."""
    with closing(sqlite3.connect(path)) as connection:
        found = "SELECT rootpage FROM sqlite_master WHERE tbl_name = ?"
        pages = [page for (page,) in connection.execute(found, (table,))]
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * size)
            file.write(b"\xff" * size)
