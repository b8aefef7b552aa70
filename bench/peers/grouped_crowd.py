"""
Raw rows in PostgreSQL, grouped: `python -m bench.peers.grouped_crowd DSN NUMBER`.

Whatever waits is written, or read, by one statement over arrays, up to 256 turns at a time on four
connections. It hashes nothing, compares no revision and promises no more than the rows.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec
import psycopg

from bench.peers.child import serve
from bench.peers.crowd import LAST, Crowd
from bench.workload import Text


_CONNECTIONS, _MOST = 4, 256
_MAKE = "CREATE TABLE m (t bigint, s bigint, d bytea, PRIMARY KEY (t, s))"
_WRITE = "INSERT INTO m SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bytea[])"
_READ = (
    "SELECT g.t, m.d FROM unnest(%s::bigint[], %s::bigint[]) g (t, s) CROSS JOIN LATERAL "
    "(SELECT d FROM m WHERE m.t = g.t AND m.s >= g.s ORDER BY m.s OFFSET 0) m"
)
_Waiting = tuple[int, int, Sequence[Text], asyncio.Future[Any]]


class Grouped:
    """Conversations whose turns are written and read together."""

    def __init__(self, dsn: str) -> None:
        """Keep them in the database at *dsn*."""
        self._dsn = dsn
        self._counts: list[int] = []
        self._waiting = deque[_Waiting]()
        self._idle: list[psycopg.AsyncConnection] = []
        self._tasks = set[asyncio.Task[None]]()

    async def start(self, number: int) -> None:
        """Make *number* conversations."""
        connect = psycopg.AsyncConnection.connect
        self._idle = [await connect(self._dsn, autocommit=True) for _ in range(_CONNECTIONS)]
        await self._idle[0].execute(_MAKE)
        self._counts = [0] * number

    async def append(self, place: int, texts: Sequence[Text]) -> None:
        """Append *texts* to one of them."""
        await self._put(place, self._counts[place], texts)
        self._counts[place] += len(texts)

    async def last(self, place: int) -> Sequence[Any]:
        """Return its newest messages."""
        found: list[Any] = await self._put(place, self._counts[place] - LAST, ())
        return found

    async def stop(self) -> None:
        """Release everything."""
        for connection in self._idle:
            await connection.close()

    async def _put(self, place: int, at: int, texts: Sequence[Text]) -> Any:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((place, at, texts, future))
        if self._idle:
            self._tasks.add(task := asyncio.create_task(self._work(self._idle.pop())))
            task.add_done_callback(self._tasks.discard)
        return await future

    async def _work(self, connection: psycopg.AsyncConnection) -> None:
        while self._waiting:
            count = min(_MOST, len(self._waiting))
            taken = [self._waiting.popleft() for _ in range(count)]
            await self._write(connection, [one for one in taken if one[2]])
            await self._read(connection, [one for one in taken if not one[2]])
        self._idle.append(connection)

    async def _write(self, connection: psycopg.AsyncConnection, taken: list[_Waiting]) -> None:
        rows = [
            (place, at + number, msgspec.json.encode({"role": role, "content": text}))
            for place, at, texts, _ in taken
            for number, (role, text) in enumerate(texts)
        ]
        if rows:
            await connection.execute(_WRITE, [list(column) for column in zip(*rows, strict=True)])
        for *_, future in taken:
            future.set_result(None)

    async def _read(self, connection: psycopg.AsyncConnection, taken: list[_Waiting]) -> None:
        found: dict[int, list[Any]] = {place: [] for place, *_ in taken}
        if taken:
            given = [[place for place, *_ in taken], [at for _, at, *_ in taken]]
            cursor = await connection.execute(_READ, given, binary=True)
            for place, data in await cursor.fetchall():
                found[place].append(msgspec.json.decode(data))
        for place, _, _, future in taken:
            future.set_result(found[place])


if __name__ == "__main__":
    serve(Crowd(Grouped(sys.argv[1]), int(sys.argv[2])))
