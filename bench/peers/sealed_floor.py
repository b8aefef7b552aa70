"""
The floor with what a durable thread promises: the least that Python can keep those promises with.

Beside what the floor does, each message is counted and sealed, with one hash; a commit compares the
revision and writes the head and the execution state. One that is flushed is made in a thread, so that
the event loop does not wait; one that is not is made in place. What is read is checked against its
seals.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from bench.peers.floor import LAST, Floor
from bench.peers.timed import Took, awaited
from bench.workload import Text
from foldline.history.messages import Message


SEAL = 16
STATE = {
    "run_id": "r",
    "conversation_id": "t",
    "started_at": "2026-11-21T00:00:00Z",
    "iteration": 1,
}


class SealedFloor(Floor):
    """One conversation in a SQLite file, whose rows say when they were changed."""

    def __init__(self, path: Path, texts: Sequence[Text]) -> None:
        """Use the file at *path*, and say *texts* over and over."""
        self._pack = msgspec.msgpack.Encoder().encode
        self._unpack = msgspec.msgpack.Decoder().decode
        self._revision = self._tokens = 0
        self._seal = bytes(SEAL)
        self._runner = asyncio.Runner()
        self._pool = ThreadPoolExecutor(1)
        super().__init__(path, texts)

    def _open(self, path: Path, word: str) -> sqlite3.Connection:
        super()._open(path, word).close()
        file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        file.execute(f"PRAGMA synchronous = {word}")
        file.execute(
            "CREATE TABLE IF NOT EXISTS h (t TEXT PRIMARY KEY, v INTEGER, d BLOB, s BLOB) WITHOUT ROWID"
        )
        file.execute("INSERT OR IGNORE INTO h VALUES ('t', 0, x'', x'')")
        return file

    def _row(self, at: int, role: str, text: str) -> tuple[int, bytes]:
        body = role[:1].encode() + text.encode()
        self._tokens += len(body) // 4
        payload = self._pack((at, self._tokens, body))
        self._seal = sha256(self._seal + at.to_bytes(8, "big") + payload).digest()[:SEAL]
        return at, self._seal + payload

    def _append(self, count: int) -> None:
        said = islice(self._texts, count)
        rows = [self._row(self._count + at, *one) for at, one in enumerate(said)]
        self._file.executemany("INSERT INTO m VALUES ('t', ?, ?)", rows)
        self._count += count
        (revision,) = self._file.execute("SELECT v FROM h WHERE t = 't'").fetchone()
        assert revision == self._revision
        self._revision += 1
        head = self._pack((self._revision, self._count, self._tokens, self._seal))
        self._file.execute(
            "UPDATE h SET v = ?, d = ?, s = ? WHERE t = 't'",
            (self._revision, head, self._write(STATE | {"count": self._count})),
        )

    def turns(self, mode: str, times: int, warm: int) -> Took:
        """Return what one of *times* turns of two messages took."""
        self._file = self._files[mode]
        return self._runner.run(self._turns(mode, times, warm))

    async def _turns(self, mode: str, times: int, warm: int) -> Took:
        loop = asyncio.get_running_loop()

        async def turn() -> None:
            if mode == "full":
                await loop.run_in_executor(self._pool, self._turn)
            else:
                self._turn()

        await awaited(turn, times=warm)
        return await awaited(turn, times=times)

    def _load(self) -> tuple[Any, list[Any]]:
        head, state = self._file.execute("SELECT d, s FROM h WHERE t = 't'").fetchone()
        reduction = self._file.execute("SELECT d FROM st WHERE t = 't'").fetchone()
        parts = (self._unpack(head), self._read(state), self._read(reduction[0]))
        return parts, self._messages(self._count - LAST)

    def _all(self) -> list[Any]:
        return self._messages(0)

    def _messages(self, start: int) -> list[Any]:
        rows = self._file.execute(
            "SELECT s, d FROM m WHERE t = 't' AND s >= ? ORDER BY s", (max(0, start - 1),)
        )
        found: list[Message] = []
        before = bytes(SEAL) if start == 0 else b""
        for at, data in rows:
            seal, payload = data[:SEAL], data[SEAL:]
            if before:
                right = sha256(before + at.to_bytes(8, "big") + payload).digest()[:SEAL]
                assert right == seal
                body = self._unpack(payload)[2]
                text = body[1:].decode()
                found.append(Message.user(text) if body[:1] == b"u" else Message.assistant(text))
            before = seal
        return found

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._pool.shutdown()
        self._runner.close()
