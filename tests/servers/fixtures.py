"""The servers as fixtures: started when a test first asks for one, gone when the session ends."""

from collections.abc import Iterator

import pytest

from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer


__all__ = ["postgres_dsn", "postgres_server", "redis_server", "redis_url"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Return the PostgreSQL of this session, which flushes every commit."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_dsn(postgres_server: PostgresServer) -> Iterator[str]:
    """Return the address of a database that is empty and this test's own."""
    with postgres_server.database() as dsn:
        yield dsn


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """Return the Redis of this session, which flushes every write before it answers."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """Return the address of that Redis, emptied."""
    redis_server.flush()
    return redis_server.url
