"""The way out of a damaged file that a command has printed, carried out."""

import re
import shutil
import sqlite3
import subprocess
from contextlib import closing, suppress
from pathlib import Path


__all__ = ["carry_out"]


def carry_out(told: str, path: Path) -> Path:
    """
    Run the first command that *told* names on the store at *path*, and return the file it makes.

    Where the program of SQLite is missing, Python does what the command says.
    """
    (command, *_) = re.findall(r"`(sqlite3 [^`]+)`", told)
    new = path.with_name("new.db")
    if shutil.which("sqlite3") is None:
        _imitate(command, path, new)
    else:
        line = command.replace("STORE", str(path)).replace("NEW", str(new))
        subprocess.run(["sh", "-c", line], check=False, timeout=60)
    return new


def _imitate(command: str, path: Path, new: Path) -> None:
    patterns = re.findall(r"'\.dump ([^']+)'", command)[0].split()
    (stamp,) = re.findall(r"-cmd '([^']+)'", command)
    with (
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(new)) as target,
    ):
        target.executescript(stamp)
        # What cannot be read through is taken back, all of it.
        with suppress(sqlite3.DatabaseError), target:
            target.execute("BEGIN")
            for pattern in patterns:
                _copy(source, target, pattern)


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, pattern: str) -> None:
    listed = "SELECT type, name, sql FROM sqlite_schema WHERE name LIKE ? AND sql NOT NULL"
    for kind, name, sql in source.execute(f"{listed} ORDER BY type DESC", (pattern,)).fetchall():
        target.execute(sql)
        if kind == "table":
            rows = source.execute(f"SELECT * FROM {name} NOT INDEXED")
            marks = ", ".join("?" * len(rows.description))
            target.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
