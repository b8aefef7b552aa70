"""
What a repair says of what it came to.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any


Run = Callable[..., Any]


def _row(path: Path, number: int, *, tenant: str = "default") -> int:
    """
    Return the id of a row of the thread `one`.
    """
    sql = "SELECT branch FROM threads WHERE tenant = ? AND id = 'one'"
    with closing(sqlite3.connect(path)) as connection:
        return (int(connection.execute(sql, (tenant,)).fetchone()[0]) << 32) + number


def _ruin(row: int) -> str:
    return f"UPDATE rows SET data = CAST(x'00' || data AS BLOB) WHERE id = {row}"


def _disk(what: str) -> str:
    return f"CREATE TRIGGER disk AFTER UPDATE ON threads BEGIN {what}; END"


def test_only_what_is_whole_behind_it_is_repaired(run: Run, store: Path, damage: Run) -> None:
    """
    A thread that was written and is damaged still does not count as repaired, and that is said.
    """
    damage(store, _ruin(_row(store, 20)))
    # A disk that damages an older message with whatever is written.
    damage(store, _disk(_ruin(_row(store, 5))))

    outcome = run("repair", "one", "--write")

    last = outcome.out.splitlines()[-1]
    assert outcome.code == 1
    assert last.startswith("0 of 1 repaired; 1 written and damaged still: restore a backup")
    assert "row 5: its seal does not fit" in outcome.out


def test_what_cannot_be_repaired_is_counted(run: Run, store: Path, damage: Run) -> None:
    """
    One thread that cannot be repaired is told at the end, and the others are repaired.
    """
    damage(store, _ruin(_row(store, 0)))
    damage(store, "UPDATE threads SET head = x'00' WHERE tenant = 'default' AND id = 'one'")
    damage(store, "DELETE FROM documents")
    damage(store, _ruin(_row(store, 9, tenant="acme")))

    outcome = run("repair", "--write")

    assert outcome.code == 1
    assert "cannot be repaired: neither the head nor the first message" in outcome.out
    assert "--whole-rows` writes what can be opened" in outcome.out
    assert outcome.out.splitlines()[-1] == "2 of 3 repaired; 1 cannot be repaired"


def test_a_file_that_cannot_be_written_is_no_end(run: Run, store: Path, damage: Run) -> None:
    """
    Where the file is too damaged to write a thread, that is told, and the others are repaired.
    """
    damage(store, _ruin(_row(store, 20)))
    damage(store, _ruin(_row(store, 9, tenant="acme")))
    damage(store, "CREATE TABLE spare (x)")
    damage(
        store,
        "CREATE TRIGGER disk AFTER UPDATE ON threads WHEN new.tenant = 'acme' BEGIN "
        "INSERT INTO spare VALUES (1); END",
    )
    with closing(sqlite3.connect(store)) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'spare'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with store.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)

    outcome = run("repair", "--write")

    assert outcome.code == 1
    assert "cannot be repaired: the database file is damaged (SQLITE_CORRUPT)" in outcome.out
    assert outcome.out.splitlines()[-1] == "1 of 2 repaired; 1 cannot be repaired"
    assert run("verify", "one").code == 0


def test_a_repair_that_loses_much_names_what_saves_it(run: Run, store: Path, damage: Run) -> None:
    """
    Where messages behind the damage would be lost, the command that writes them is named.
    """
    damage(store, _ruin(_row(store, 0, tenant="acme")))

    told, written = run("repair"), run("repair", "--write")

    command = "`foldline threads export one --tenant acme --whole-rows`"
    assert f"first, {command} writes every whole message" in told.out
    assert f"{command}, on a backup made before, writes what is whole" in written.out
    assert (told.code, written.code, run("verify", "--tenant", "acme").code) == (1, 0, 0)


def test_a_repair_that_loses_one_message_names_nothing(run: Run, store: Path, damage: Run) -> None:
    """
    Where the last message alone is damaged, nothing else could be saved.
    """
    damage(store, _ruin(_row(store, 13, tenant="acme")))

    assert "--whole-rows" not in run("repair").out
