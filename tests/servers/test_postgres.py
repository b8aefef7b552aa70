"""PostgreSQL as the tests run it."""

import asyncio
import os
import signal

import psycopg
import pytest

from tests.servers.postgres import PostgresServer


async def _write(dsn: str, *values: int) -> None:
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS kept (value int)")
        for value in values:
            await connection.execute("INSERT INTO kept VALUES (%s)", [value])
            await connection.commit()


async def _read(dsn: str) -> list[int]:
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        rows = await connection.execute("SELECT value FROM kept ORDER BY value")
        return [int(value) for (value,) in await rows.fetchall()]


def _setting(dsn: str, name: str) -> str:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    return str(row[0]) if row is not None else ""


def _tables(dsn: str) -> list[str]:
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    with psycopg.connect(dsn) as connection:
        return [str(name) for (name,) in connection.execute(query)]


def test_version(postgres_dsn: str) -> None:
    """The server is PostgreSQL 16 or newer."""
    version = _setting(postgres_dsn, "server_version")

    assert int(version.partition(".")[0]) >= 16, version


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("listen_addresses", ""),
        ("server_encoding", "UTF8"),
        ("synchronous_commit", "on"),
    ],
)
def test_settings(postgres_dsn: str, name: str, value: str) -> None:
    """The server of the session is as durable as one in use, and listens at no port."""
    assert _setting(postgres_dsn, name) == value


def test_commits_survive_an_immediate_stop(
    postgres_server: PostgresServer, postgres_dsn: str
) -> None:
    """
    What was committed before an immediate stop is there after the next start, which recovers it.
    """
    asyncio.run(_write(postgres_dsn, *range(50)))
    said = len(postgres_server.log)

    postgres_server.stop_immediate()
    stopped = postgres_server.pid
    postgres_server.start()

    assert stopped is None
    assert asyncio.run(_read(postgres_dsn)) == [*range(50)]
    assert "automatic recovery in progress" in postgres_server.log[said:]


def test_open_transaction_ends_with_the_server(
    postgres_server: PostgresServer, postgres_dsn: str
) -> None:
    """An immediate stop cuts connections; what they had not committed is gone."""
    asyncio.run(_write(postgres_dsn, 1))
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("INSERT INTO kept VALUES (2)")
        postgres_server.stop_immediate()
        postgres_server.start()

        with pytest.raises(psycopg.OperationalError):
            connection.execute("INSERT INTO kept VALUES (3)")

    assert asyncio.run(_read(postgres_dsn)) == [1]


def test_restart_keeps_the_data(postgres_server: PostgresServer, postgres_dsn: str) -> None:
    """A restart gives another process with the same data at the same address."""
    asyncio.run(_write(postgres_dsn, 7))
    before = postgres_server.pid

    postgres_server.restart()

    assert postgres_server.pid not in {None, before}
    assert asyncio.run(_read(postgres_dsn)) == [7]


@pytest.mark.parametrize("_attempt", range(2))
def test_database_is_empty(postgres_dsn: str, _attempt: int) -> None:
    """Every test has a database without a table."""
    assert _tables(postgres_dsn) == []

    asyncio.run(_write(postgres_dsn, 1))

    assert _tables(postgres_dsn) == ["kept"]


def test_database_is_dropped(postgres_server: PostgresServer) -> None:
    """A database that is given back is gone, though a connection to it was left open."""
    with postgres_server.database() as dsn:
        connection = psycopg.connect(dsn)
    connection.close()

    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(dsn)


def test_stopped_server_is_woken(postgres_server: PostgresServer) -> None:
    """A server that one test left stopped runs again for the next one."""
    postgres_server.stop_immediate()

    with postgres_server.database() as dsn:
        assert _tables(dsn) == []


def test_close_leaves_nothing() -> None:
    """A second server stands apart, need not flush, and leaves neither process nor folder."""
    with PostgresServer(fsync=False) as server:
        pid = server.pid
        assert pid is not None
        assert _setting(server.dsn, "fsync") == "off"

    assert not server.folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIG_DFL)


def test_second_start_is_refused(postgres_server: PostgresServer, postgres_dsn: str) -> None:
    """A server that runs is not started again."""
    with pytest.raises(RuntimeError, match="runs already"):
        postgres_server.start()

    assert _tables(postgres_dsn) == []
