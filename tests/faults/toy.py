"""A small store with promises, for the tests of the harness: batches of two rows, in order."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct


_TEXT = "what was said " * 40


class ToyWorkload(Struct, frozen=True):
    """Commits batches and acknowledges the number of each."""

    synchronous: str = "FULL"
    batches: int = 20
    split: bool = False
    journal: str = "WAL"

    def __call__(self, folder: Path, ack: Callable[[str], None]) -> None:
        """Go on with the database in *folder* where its last batch ended."""
        path = folder / "toy.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA journal_mode = {self.journal}")
            connection.execute(f"PRAGMA synchronous = {self.synchronous}")
            connection.execute("PRAGMA wal_autocheckpoint = 20")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS rows (batch INT NOT NULL, part INT NOT NULL, text TEXT)"
            )
            last = connection.execute("SELECT max(batch) FROM rows").fetchone()[0]
            first = 0 if last is None else last + 1
            for batch in range(first, first + self.batches):
                self._commit(connection, batch)
                ack(str(batch))

    def _commit(self, connection: sqlite3.Connection, batch: int) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows VALUES (?, 0, ?)", (batch, _TEXT))
        if self.split:
            connection.execute("COMMIT")
            connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows VALUES (?, 1, ?)", (batch, _TEXT))
        connection.execute("COMMIT")


def broken_promises(folder: Path, acks: Sequence[str]) -> set[str]:
    """Return which promises the database in *folder* breaks, given what was acknowledged."""
    try:
        with closing(sqlite3.connect(folder / "toy.db")) as connection:
            integrity = connection.execute("PRAGMA integrity_check").fetchall()
            rows = _rows(connection)
    except sqlite3.DatabaseError:
        return {"damaged"}
    if integrity != [("ok",)]:
        return {"damaged"}
    batches = sorted({batch for batch, _ in rows})
    found = {
        "lost": not set(map(int, acks)) <= set(batches),
        "half": rows != [(batch, part) for batch in batches for part in (0, 1)],
        "gap": batches != list(range(len(batches))),
    }
    return {name for name, is_broken in found.items() if is_broken}


def _rows(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
        return []
    return connection.execute("SELECT batch, part FROM rows ORDER BY batch, part").fetchall()
