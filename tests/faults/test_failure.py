"""File operations that fail."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.failure import Trouble, failing
from tests.faults.operation import Kind


def _connected(path: Path, journal: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute("CREATE TABLE rows (batch)")
    return connection


@pytest.mark.parametrize(
    ("kind", "journal", "name"),
    [
        (Kind.WRITE, "WAL", "SQLITE_IOERR_WRITE"),
        (Kind.SYNC, "WAL", "SQLITE_IOERR_FSYNC"),
        (Kind.TRUNCATE, "TRUNCATE", "SQLITE_IOERR_TRUNCATE"),
        (Kind.DELETE, "DELETE", "SQLITE_IOERR_DELETE"),
        (Kind.OPEN, "DELETE", "SQLITE_CANTOPEN"),
    ],
)
def test_each_kind_has_its_error(folder: Path, kind: Kind, journal: str, name: str) -> None:
    """An operation fails with the error that SQLite has for its kind."""
    with failing() as failures, closing(_connected(folder / "toy.db", journal)) as connection:
        failures.plan(Trouble.IO, kinds={kind}, sticky=True)
        with pytest.raises(sqlite3.OperationalError) as caught:
            connection.execute("INSERT INTO rows VALUES (1)")

    assert caught.value.sqlite_errorname == name


def test_plan_changes_under_an_open_connection(folder: Path) -> None:
    """Failures begin and end while a connection is open, and are counted; one comes once."""
    with failing() as failures, closing(_connected(folder / "toy.db", "WAL")) as connection:
        failures.plan(Trouble.FULL, number=1, sticky=True)
        for _ in range(2):
            with pytest.raises(sqlite3.OperationalError):
                connection.execute("INSERT INTO rows VALUES (1)")
        failures.heal()
        connection.execute("INSERT INTO rows VALUES (2)")
        counts = (failures.seen, failures.failed)
        failures.plan(Trouble.IO, number=2)
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("INSERT INTO rows VALUES (3)")
        connection.execute("INSERT INTO rows VALUES (4)")
        batches = connection.execute("SELECT batch FROM rows").fetchall()

    assert counts == (2, 2)
    assert failures.failed == 1
    assert batches == [(2,), (4,)]


def test_short_write_leaves_a_half(folder: Path) -> None:
    """A short write leaves the first half of its bytes."""
    with failing() as failures, closing(_connected(folder / "toy.db", "OFF")) as connection:
        connection.execute("VACUUM")
        size = (folder / "toy.db").stat().st_size
        failures.plan(Trouble.SHORT, number=2)
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("CREATE TABLE more (batch)")
        left = (folder / "toy.db").stat().st_size

    assert left == size + 2048
