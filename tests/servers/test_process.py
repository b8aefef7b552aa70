"""How servers end with the tests, even if those are killed."""

import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.servers.postgres import PostgresServer
from tests.servers.process import ServerProcess


_HANGING = """
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

postgres, redis = PostgresServer(), RedisServer()
print(postgres.dsn, redis.url, postgres.folder, redis.folder, flush=True)
input()
"""


def _wait_until_deleted(*folders: Path) -> None:
    deadline = time.monotonic() + 20
    while any(folder.exists() for folder in folders) and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_tests_leave_nothing(root: Path) -> None:
    """When the process of the tests is killed, its servers end and their folders are deleted."""
    command = [sys.executable, "-c", _HANGING]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as tests:
        assert tests.stdout is not None
        dsn, url, *folders = tests.stdout.readline().split()
        postgres, redis = psycopg.connect(dsn, autocommit=True), Redis.from_url(url)
        assert redis.ping()
        tests.kill()

    _wait_until_deleted(*map(Path, folders))

    assert [Path(folder).exists() for folder in folders] == [False, False]
    with pytest.raises(psycopg.OperationalError):
        postgres.execute("SELECT 1")
    with pytest.raises(RedisConnectionError):
        redis.ping()
    postgres.close()
    redis.close()


def test_failed_start_says_why(tmp_path: Path) -> None:
    """Where a server ends before it is ready, the error holds what the server said."""
    folder = tmp_path / "server"
    folder.mkdir()
    process = ServerProcess(folder, last=signal.SIGKILL)

    with pytest.raises(RuntimeError, match="no such thing"):
        process.start(["/bin/sh", "-c", "echo no such thing; exit 3"], ready=lambda _: False)
    process.close()

    assert process.pid is None
    assert not folder.exists()


def test_postgres_is_no_process_of_root(postgres_server: PostgresServer) -> None:
    """PostgreSQL runs as the user of the tests, and where that is root, as `nobody`."""
    user = os.geteuid() or pwd.getpwnam("nobody").pw_uid
    files = [postgres_server.folder / name for name in ("", "data", ".s.PGSQL.5432")]

    assert user != 0
    assert {path.stat().st_uid for path in files} == {user}
