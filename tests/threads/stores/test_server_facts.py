"""What `foldline doctor` reports about servers."""

from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from foldline.errors import StoreError
from foldline.threads.storage import Fact
from foldline.threads.stores.postgres.doctor import postgres_facts
from foldline.threads.stores.redis.doctor import redis_facts
from tests.servers.redis import RedisServer
from tests.threads.stores.redis_image import tell


async def facts(found: AsyncIterator[Fact]) -> dict[str, Fact]:
    """Return the facts by their names."""
    return {one.name: one async for one in found}


async def test_a_good_postgres(postgres_dsn: str) -> None:
    """A server that flushes every commit is in no danger, and nothing is advised."""
    found = await facts(postgres_facts(postgres_dsn))

    assert set(found) == {"PostgreSQL", "fsync", "full_page_writes", "synchronous_commit"}
    assert found["fsync"].value == "on"
    assert {one.advice for one in found.values()} == {""}


async def test_an_asynchronous_postgres(postgres_dsn: str) -> None:
    """A database without synchronous commits is reported, and is no danger for the store."""
    name = postgres_dsn.partition("@/")[2].partition("?")[0]
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off".encode())
    found = (await facts(postgres_facts(postgres_dsn)))["synchronous_commit"]

    assert (found.value, found.is_danger) == ("off", False)
    assert found.advice


async def test_a_good_redis(redis_url: str) -> None:
    """A server that writes before it answers is in no danger, and nothing is advised."""
    found = await facts(redis_facts(redis_url))

    assert set(found) == {"Redis", "persistence", "maxmemory-policy"}
    assert found["persistence"].value.startswith("always")
    assert {one.advice for one in found.values()} == {""}


async def test_a_redis_that_keeps_little() -> None:
    """A Redis without persistence that drops keys is in danger, and the settings are named."""
    with RedisServer() as server:
        await tell(server.url, "CONFIG", "SET", "appendonly", "no")
        await tell(server.url, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        found = await facts(redis_facts(server.url))

    assert (found["persistence"].is_danger, found["maxmemory-policy"].is_danger) == (True, True)
    assert "appendonly yes" in found["persistence"].advice
    assert "noeviction" in found["maxmemory-policy"].advice


async def test_a_missing_server_is_one_error(tmp_path: Path) -> None:
    """A server that cannot be reached is a typed error without the address."""
    with pytest.raises(StoreError) as postgres:
        await facts(postgres_facts(f"host={tmp_path} password=geheim dbname=x"))
    with pytest.raises(StoreError) as redis:
        await facts(redis_facts(f"unix://:geheim@{tmp_path}/none.sock"))

    assert "geheim" not in f"{postgres.value}{redis.value}"
