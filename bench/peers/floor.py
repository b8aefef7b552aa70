"""
The least that Python can keep a conversation with: rows of JSON and a row for the state.

It hashes nothing, counts nothing, compares no revision and knows of no fork.
"""

import sqlite3
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec

from bench import workload
from bench.peers.timed import Took, timed


LAST = 20
MODES = {"full": "FULL", "relaxed": "NORMAL"}


class Floor:
    """One conversation in a SQLite file, written with a flush for each commit or without."""

    def __init__(self, path: Path, texts: Sequence[workload.Text]) -> None:
        """Use the file at *path*, and say *texts* over and over."""
        self._write = msgspec.json.Encoder().encode
        self._read = msgspec.json.Decoder().decode
        self._texts = cycle(texts)
        self._state = self._write({"upto": 0, "summary": workload.SUMMARY, "hash": "0" * 64})
        self._files = {mode: self._open(path, word) for mode, word in MODES.items()}
        self._file = self._files["relaxed"]
        self._count = 0

    def _open(self, path: Path, word: str) -> sqlite3.Connection:
        file = sqlite3.connect(path, isolation_level=None)
        file.execute("PRAGMA journal_mode = WAL")
        file.execute(f"PRAGMA synchronous = {word}")
        for table in (
            "m (t TEXT, s INTEGER, d BLOB, PRIMARY KEY (t, s))",
            "st (t TEXT PRIMARY KEY, n INTEGER, d BLOB)",
        ):
            file.execute(f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID")
        return file

    def grow(self, size: int) -> None:
        """Bring the conversation to *size* messages, in bulk."""
        self._file = self._files["relaxed"]
        self._file.execute("BEGIN IMMEDIATE")
        self._append(max(0, size - self._count))
        self._file.execute("COMMIT")

    def _append(self, count: int) -> None:
        rows = [
            (self._count + at, self._write({"role": role, "content": text}))
            for at, (role, text) in zip(range(count), self._texts, strict=False)
        ]
        self._file.executemany("INSERT INTO m VALUES ('t', ?, ?)", rows)
        self._count += count

    def turns(self, mode: str, times: int, warm: int) -> Took:
        """Return what one of *times* turns of two messages took."""
        self._file = self._files[mode]
        timed(self._turn, times=warm)
        return timed(self._turn, times=times)

    def _turn(self) -> None:
        self._file.execute("BEGIN IMMEDIATE")
        self._append(2)
        if self._count % 6 < 2:
            self._file.execute(
                "INSERT INTO st VALUES ('t', ?, ?) "
                "ON CONFLICT (t) DO UPDATE SET n = excluded.n, d = excluded.d",
                (self._count, self._state),
            )
        self._file.execute("COMMIT")

    def loads(self, times: int) -> Took:
        """Return what it took to read the state and the last messages."""
        return timed(self._load, times=times)

    def _load(self) -> tuple[Any, list[Any]]:
        state = self._file.execute("SELECT d FROM st WHERE t = 't'").fetchone()
        rows = self._file.execute(
            "SELECT d FROM m WHERE t = 't' AND s >= ? ORDER BY s", (self._count - LAST,)
        )
        return state, [self._read(data) for (data,) in rows]

    def whole(self, times: int) -> Took:
        """Return what it took to read everything."""
        return timed(self._all, times=times)

    def _all(self) -> list[Any]:
        rows = self._file.execute("SELECT d FROM m WHERE t = 't' ORDER BY s")
        return [self._read(data) for (data,) in rows]

    def close(self) -> None:
        """Close the file."""
        for file in self._files.values():
            file.close()
