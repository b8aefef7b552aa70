"""Recordings of stores as earlier versions wrote them, and what those versions read out of them."""

import base64
import json
import lzma
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias, cast

import psycopg
from redis.asyncio import Redis

from foldline.threads.cipher import AesCipher
from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.stores.sqlite.store import SQLiteStore


Json: TypeAlias = "str | float | bool | list[Json] | dict[str, Json] | None"
"""A value of a JSON document."""

_FOLDER = Path(__file__).parent / "recordings"

SQLITE = tuple(f"sqlite-{era}{kind}" for era in (1, 2, 3) for kind in ("", "-encrypted"))
"""The recordings of SQLite files, by the number of their tables."""

POSTGRES = tuple(f"postgres-{era}{kind}" for era in (1, 2) for kind in ("", "-encrypted"))
"""The recordings of PostgreSQL schemas, by the number of their tables."""

REDIS = ("redis-1", "redis-1-encrypted")
"""The recordings of Redis; its layout has had one form only."""

# Which program wrote which format: all recordings of one program hold the same story.
_PROGRAMS: Mapping[str, str] = {
    "sqlite-1": "first",
    "sqlite-2": "second",
    "sqlite-3": "third",
    "postgres-1": "second",
    "postgres-2": "third",
    "redis-1": "third",
}

KEY = bytes(range(32))
"""The key of the encrypted recordings."""

NOW = datetime(2026, 2, 1, tzinfo=UTC)
"""The time at which a recording is read: one of its threads has expired then."""


def expected(name: str) -> dict[str, Json]:
    """Return what `answers` and `consequences` gave when the recording *name* was made."""
    program = _PROGRAMS[name.removesuffix("-encrypted")]
    data = lzma.decompress((_FOLDER / f"{program}.expected.json.xz").read_bytes())
    return cast("dict[str, Json]", json.loads(data))


def materialize_sqlite(name: str, path: Path) -> None:
    """Make the file at *path* out of the recording *name*."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_text_of(name))


def materialize_postgres(name: str, dsn: str) -> None:
    """Make the schema `foldline` in the empty database at *dsn* out of the recording *name*."""
    with psycopg.connect(dsn) as connection:
        connection.execute(_text_of(name).encode())


async def materialize_redis(name: str, url: str) -> None:
    """Fill the empty Redis at *url* with the recording *name*."""
    async with Redis.from_url(url) as client, client.pipeline() as pipe:
        for line in _text_of(name).splitlines():
            pipe.execute_command(*map(base64.b64decode, json.loads(line)))
        await pipe.execute()


def _text_of(name: str) -> str:
    (path,) = _FOLDER.glob(f"{name}.[sj]*.xz")
    return lzma.decompress(path.read_bytes()).decode("utf-8")


def open_store(name: str, place: str | Path) -> ThreadStore:
    """Return a store over what the recording *name* became at *place*, at the time of reading."""
    cipher = AesCipher(KEY) if name.endswith("-encrypted") else None
    kinds: Mapping[str, type[SQLiteStore | PostgresStore | RedisStore]] = {
        "sqlite": SQLiteStore,
        "postgres": PostgresStore,
        "redis": RedisStore,
    }
    kind = kinds[name.partition("-")[0]]
    return kind(str(place), cipher=cipher, checkpoints="full", clock=lambda: NOW)
