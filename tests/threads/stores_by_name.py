"""Stores of each kind, by the parameter of a fixture."""

from pathlib import Path

import pytest

from foldline.threads.storage import CheckpointRetention
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.clock import Clock


EVERY = ("memory", "sqlite", "postgres", "redis")
"""The names of all stores."""


def store_by_name(
    request: pytest.FixtureRequest,
    folder: Path,
    clock: Clock,
    *,
    checkpoints: CheckpointRetention = "latest",
) -> ThreadStore:
    """Return a store of the kind that is the parameter of *request*, not yet open."""
    match request.param:
        case "postgres":
            dsn = request.getfixturevalue("postgres_dsn")
            return PostgresStore(dsn, checkpoints=checkpoints, clock=clock)
        case "redis":
            url = request.getfixturevalue("redis_url")
            return RedisStore(url, checkpoints=checkpoints, clock=clock)
        case "sqlite":
            path = folder / "chat.db"
            return SQLiteStore(path, durability="relaxed", checkpoints=checkpoints, clock=clock)
        case _:
            return MemoryStore(checkpoints=checkpoints, clock=clock)
