"""The hook in SQLite's file system."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.operation import CHANGES, Kind, Operation
from tests.faults.toy import ToyWorkload, broken_promises
from tests.faults.vfs import HookError, hooked


class Watcher:
    """Notes the kind and file of each operation and lets it pass."""

    def __init__(self) -> None:
        self.seen: list[tuple[Kind, str]] = []

    def __call__(self, operation: Operation) -> int:
        """Perform *operation*."""
        self.seen.append((operation.kind, Path(operation.path).name))
        return operation.perform()


def _ignore(_: str) -> None:
    pass


def test_every_kind_is_seen(folder: Path) -> None:
    """A connection opened inside shows what it does to the files; one opened later does not."""
    watcher = Watcher()
    with hooked(watcher):
        ToyWorkload()(folder, _ignore)
    seen = len(watcher.seen)
    ToyWorkload()(folder, _ignore)

    assert {kind for kind, _ in watcher.seen} == {Kind.OPEN, *CHANGES}
    assert {name for _, name in watcher.seen} == {"toy.db", "toy.db-wal", "toy.db-journal"}
    assert len(watcher.seen) == seen


def test_connections_of_other_times_are_left_alone(folder: Path) -> None:
    """A connection opened before the block, or still open after it, works on unseen."""
    before, after = Watcher(), Watcher()
    with closing(sqlite3.connect(folder / "toy.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("CREATE TABLE rows (batch)")
        with hooked(before):
            connection.execute("INSERT INTO rows VALUES (1)")
    with hooked(after):
        connection = sqlite3.connect(folder / "toy.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("INSERT INTO rows VALUES (2)")
    seen = len(after.seen)
    with closing(connection):
        connection.execute("INSERT INTO rows VALUES (3)")

    assert before.seen == []
    assert 0 < seen == len(after.seen)


def test_two_hooks_are_refused() -> None:
    """A hook inside a hook is an error, and the outer one stays."""
    watcher = Watcher()
    with hooked(watcher), pytest.raises(HookError, match="hooked already"), hooked(Watcher()):
        pass


def test_error_of_an_interposer_is_raised(folder: Path) -> None:
    """SQLite is told about an I/O error, and the block raises the interposer's own."""

    def stumble(operation: Operation) -> int:
        if operation.kind is Kind.WRITE:
            message = "stumbled"
            raise LookupError(message)
        return operation.perform()

    with pytest.raises(HookError) as caught, hooked(stumble):
        ToyWorkload()(folder, _ignore)

    assert isinstance(caught.value.__cause__, LookupError)
    assert isinstance(caught.value.__context__, LookupError | sqlite3.OperationalError)
    assert broken_promises(folder, []) == set()
