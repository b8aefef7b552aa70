"""PostgreSQL as the tests run it."""

import psycopg
import pytest

from tests.servers.postgres import PostgresServer


def _setting(dsn: str, name: str) -> str:
    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    return str(row[0]) if row is not None else ""


@pytest.mark.parametrize(
    ("name", "value"),
    [("fsync", "on"), ("full_page_writes", "on"), ("listen_addresses", "")],
)
def test_settings(postgres_dsn: str, name: str, value: str) -> None:
    """The server of the session is as durable as one in use, and listens at no port."""
    assert _setting(postgres_dsn, name) == value


def test_a_database_is_empty(postgres_server: PostgresServer) -> None:
    """The database of a test has nothing of an earlier one, not even a connection or a setting."""
    with postgres_server.database() as dsn:
        connection = psycopg.connect(dsn, autocommit=True)
        name = connection.info.dbname
        connection.execute("CREATE SCHEMA foldline CREATE TABLE kept (value int)")
        connection.execute(f"ALTER DATABASE {name} SET work_mem = '1MB'".encode())
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    connection.close()

    with postgres_server.database() as again:
        assert _setting(again, "work_mem") != "1MB"
        with psycopg.connect(again) as connection:
            query = "SELECT to_regclass('foldline.kept')"
            assert connection.execute(query).fetchone() == (None,)


def test_stopped_server_is_woken(postgres_server: PostgresServer) -> None:
    """A server that one test left stopped runs again for the next one."""
    postgres_server.kill()

    with postgres_server.database() as dsn:
        assert _setting(dsn, "fsync") == "on"
