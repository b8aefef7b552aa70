"""The connections to a PostgreSQL: a pool, and a deadline for every call."""

import asyncio
import math
import os
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from foldline.checks import expect, expect_choice, expect_seconds, expect_whole
from foldline.errors import (
    ConfigError,
    MissingExtraError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
)
from foldline.threads.stores.home import Home
from foldline.threads.stores.postgres.schema import migrate, read_statements


if TYPE_CHECKING:
    from psycopg import AsyncConnection, Error
    from psycopg_pool import AsyncConnectionPool


__all__ = ["Answer", "Broken", "Durability", "PostgresLink", "Values", "store_error"]


Durability: TypeAlias = Literal["full", "relaxed"]
"""
What a crash of the server may lose.

`full`: nothing that was acknowledged; each commit is flushed to disk. `relaxed`: the newest commits,
whole ones, of three times `wal_writer_delay` (0.6 seconds by default).
"""

Answer: TypeAlias = list[tuple[Any, ...]]
"""The rows that a statement returned."""

Values: TypeAlias = Mapping[str, object]
"""The values of a statement by their names."""

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)
_ATTEMPTS: Final = 4
_PAUSE: Final = 0.25
_GRACE: Final = 1.0
# The server gives up before we do, so that the outcome of a call is known.
_SERVER_SHARE: Final = 0.9
_LOCK_SHARE: Final = 0.8
# The server and the system count milliseconds in 31 bits.
_LONGEST: Final = 2_147_483
# The server has rolled all of it back; the same call may succeed a moment later.
_ROLLED_BACK: Final = ("40001", "40P01")
# A broken connection; a server that stops and closes it.
_ENDS: Final = ("08", "57P")
_TROUBLE: Mapping[str, tuple[type[StoreError], str]] = MappingProxyType(
    {
        "25006": (StoreError, "read-only: a replica, or default_transaction_read_only is on"),
        "28000": (StoreError, "PostgreSQL refuses this user"),
        "28P01": (StoreError, "PostgreSQL refuses this user or password"),
        "3D000": (StoreError, "there is no such database"),
        "3F000": (StoreError, "the schema of the store is gone: close and open the store"),
        "40001": (StoreBusyError, "other transactions changed the same rows repeatedly"),
        "40P01": (StoreBusyError, "other transactions waited for the same rows repeatedly"),
        "42501": (StoreError, "this user may not use or create the tables of the store"),
        "42883": (StoreError, "the functions of the store are gone: close and open the store"),
        "42P01": (StoreError, "the tables of the store are gone: close and open the store"),
        "42P07": (StoreError, "the schema has tables of another program: choose another schema"),
        "53100": (StoreError, "the disk of PostgreSQL is full"),
        "53300": (StoreBusyError, "PostgreSQL accepts no more connections"),
        "55P03": (StoreBusyError, "another transaction kept a lock for too long"),
        "57014": (StoreBusyError, "PostgreSQL did not finish in time"),
        "57P03": (StoreBusyError, "PostgreSQL is starting or stopping"),
        "XX001": (StoreCorruptError, "a table of the store is damaged"),
        "XX002": (StoreCorruptError, "an index of the store is damaged"),
    }
)


def store_error(error: "Error") -> StoreError:
    """Return *error* as an error of foldline, without the values that it may quote."""
    from psycopg import OperationalError  # noqa: PLC0415 - an optional package

    state = error.sqlstate
    if state is None:
        text = "cannot be reached" if isinstance(error, OperationalError) else "was not called"
        return StoreError(f"PostgreSQL {text} ({type(error).__name__})")
    kind, text = _TROUBLE.get(state, (StoreError, "PostgreSQL refused a call"))
    return kind(f"{text} ({state})")


class Broken(NamedTuple):
    """A write whose answer was lost with the connection: it may have been done or not."""

    session: str
    until: float
    reason: str


class PostgresLink:
    """
    Runs statements, each of them a transaction of its own.

    A broken connection is replaced by the next call. A read is then repeated, a write only if the
    server says that it was rolled back.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str,
        pool_size: int,
        timeout: float,
        durability: Durability,
    ) -> None:
        """Use the database at *dsn*, not yet connected; see `PostgresStore` for the options."""
        expect("dsn", dsn, str)
        expect("schema", schema, str)
        if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
            rule = "1 to 63 characters of a-z 0-9 _, and begin with neither a digit nor pg_"
            message = f"schema must be {rule}"
            raise ConfigError(message)
        expect_whole("pool_size", pool_size, 1)
        expect_seconds("timeout", timeout, most=_LONGEST)
        expect_choice("durability", durability, get_args(Durability))
        try:
            import psycopg  # noqa: PLC0415 - an optional package
            import psycopg.conninfo  # noqa: PLC0415
            import psycopg_pool  # noqa: PLC0415
            from psycopg.types.numeric import Int8BinaryDumper  # noqa: PLC0415
        except ImportError:
            raise MissingExtraError(package="psycopg", extra="postgres") from None
        try:
            psycopg.conninfo.conninfo_to_dict(dsn)
        except (psycopg.ProgrammingError, UnicodeEncodeError):
            # It may hold a password, so it is not quoted.
            message = "dsn must be a postgresql:// URL or a connection string of libpq"
            raise ConfigError(message) from None
        self.sql = read_statements()
        self._schema = schema
        self._timeout = timeout
        self._is_relaxed = durability == "relaxed"
        self._int8 = Int8BinaryDumper
        self._failure = psycopg.Error
        self._refusals = (psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed)
        self._connect = psycopg.AsyncConnection.connect
        self._make_pool = psycopg_pool.AsyncConnectionPool
        self._dsn = dsn
        self._pool_size = pool_size
        self._pool: AsyncConnectionPool[AsyncConnection[Any]] | None = None
        self._home = Home()
        # What was opened elsewhere must not be touched, not even by garbage collection.
        self._left: list[object] = []
        self._failures = 0

    async def open(self) -> None:
        """Bring the tables up to date and get ready for calls; harmless when repeated."""
        if self._pool is not None:
            self._home.check()
            return
        try:
            async with asyncio.timeout(self._timeout):
                connection = await self._connect(self._dsn, **self._options())
        except TimeoutError:
            raise self._late() from None
        except self._failure as error:
            raise store_error(error) from None
        await self._prepare(connection)
        pool: AsyncConnectionPool[AsyncConnection[Any]] = self._make_pool(
            self._dsn,
            kwargs=self._options(),
            min_size=1,
            max_size=self._pool_size,
            open=False,
            configure=self._configure,
            reconnect_timeout=0.0,
            reconnect_failed=self._try_again,
        )
        await pool.open()
        if self._pool is not None:
            # Another task has opened it at the same time and was faster.
            await pool.close(self._timeout)
            self._home.check()
            return
        self._home = Home(asyncio.get_running_loop())
        self._pool = pool

    async def _prepare(self, connection: "AsyncConnection[Any]") -> None:
        async def run(sql: bytes, values: Values | None = None) -> Answer:
            # Each statement has the time of a call, so a migration may take longer.
            return await self._execute(connection, sql, values, self._until())

        try:
            await self._configure(connection)
            await migrate(run, self.sql, self._schema)
        except self._failure as error:
            raise store_error(error) from None
        finally:
            await connection.close()

    def _options(self) -> dict[str, Any]:
        return {
            "autocommit": True,
            "client_encoding": "utf8",
            "connect_timeout": max(2, math.ceil(self._timeout / 2)),
            "tcp_user_timeout": math.ceil(1000 * self._timeout),
        }

    async def _configure(self, connection: "AsyncConnection[Any]") -> None:
        values = {
            "session": f"foldline {os.urandom(8).hex()}",
            "path": f'"{self._schema}"',
            "statement_timeout": f"{math.ceil(1000 * _SERVER_SHARE * self._timeout)}",
            "lock_timeout": f"{math.ceil(1000 * _LOCK_SHARE * self._timeout)}",
            "relaxed": self._is_relaxed,
        }
        # Numbers of one type, so that a statement is prepared once and not for each size.
        connection.adapters.register_dumper(int, self._int8)
        await self._execute(connection, self.sql["session"], values, self._until())

    async def _try_again(self, pool: "AsyncConnectionPool[AsyncConnection[Any]]") -> None:
        """Connect once more while a call waits for it."""
        self._failures += 1
        if pool.get_stats().get("requests_waiting", 0):
            await asyncio.sleep(_PAUSE)
            await pool.check()

    async def close(self) -> None:
        """Close all connections, but leave those of another process or of a closed loop alone."""
        if self._pool is not None and self._home.is_lost:
            self._left.append(self._pool)
            self._pool = None
        elif self._pool is not None:
            self._home.check()
            pool, self._pool = self._pool, None
            await pool.close(self._timeout)

    async def read(self, name: str, values: Values) -> Answer:
        """Return the rows of a statement that is harmless when repeated."""
        until = self._until()
        answer = await self._run(name, values, until)
        for _ in range(_ATTEMPTS - 1):
            if not isinstance(answer, Broken) or asyncio.get_running_loop().time() >= until:
                break
            answer = await self._run(name, values, until)
        if isinstance(answer, Broken):
            raise StoreError(answer.reason)
        return answer

    async def write(self, name: str, values: Values) -> Answer | Broken:
        """Return the rows of a statement that is run once, or `Broken` if the answer was lost."""
        return await self._run(name, values, self._until())

    async def settle(self, broken: Broken, name: str, values: Values) -> Answer | None:
        """End the session whose answer was lost, so that it cannot write any more; then read."""
        until = max(broken.until, asyncio.get_running_loop().time() + _GRACE)
        session = {"session": broken.session, "wait": math.ceil(1000 * _GRACE / 2)}
        with suppress(StoreError):
            ended = await self._run("end_session", session, until)
            if not isinstance(ended, Broken) and all(done for (done,) in ended):
                found = await self._run(name, values, until)
                return None if isinstance(found, Broken) else found
        return None

    def _until(self) -> float:
        return asyncio.get_running_loop().time() + self._timeout

    def _late(self) -> StoreBusyError:
        return StoreBusyError(f"PostgreSQL did not answer within {self._timeout} seconds")

    async def _run(self, name: str, values: Values, until: float) -> Answer | Broken:
        pool = self._opened()
        for attempt in range(_ATTEMPTS):
            connection = await self._connection(pool, until)
            session = connection.info.parameter_status("application_name") or ""
            try:
                return await self._execute(connection, self.sql[name], values, until)
            except self._failure as error:
                if connection.closed or (error.sqlstate or "").startswith(_ENDS):
                    is_late = asyncio.get_running_loop().time() >= until
                    reason = self._late() if is_late else store_error(error)
                    return Broken(session, until, str(reason))
                if error.sqlstate not in _ROLLED_BACK or attempt == _ATTEMPTS - 1:
                    raise store_error(error) from None
            finally:
                await pool.putconn(connection)
        raise self._late()

    async def _execute(
        self, connection: "AsyncConnection[Any]", sql: bytes, values: Values | None, until: float
    ) -> Answer:
        # Even when cancelled, the driver waits for the server, but not for a socket that is shut.
        cut = asyncio.get_running_loop().call_at(until, _cut, connection)
        try:
            async with connection.cursor(binary=values is not None) as cursor:
                await cursor.execute(sql, values)
                return await cursor.fetchall() if cursor.description else []
        finally:
            cut.cancel()

    def _opened(self) -> "AsyncConnectionPool[AsyncConnection[Any]]":
        if self._pool is None:
            message = "the store is not open: use `async with`, or await `open()`"
            raise StoreError(message)
        self._home.check()
        return self._pool

    async def _connection(
        self, pool: "AsyncConnectionPool[AsyncConnection[Any]]", until: float
    ) -> "AsyncConnection[Any]":
        """Return a connection that the server did not close while it was idle."""
        failures = self._failures
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection = await pool.getconn(timeout=until - loop.time())
            except self._refusals:
                if self._failures > failures:
                    message = f"PostgreSQL cannot be reached within {self._timeout} seconds"
                    raise StoreError(message) from None
                message = f"all {self._pool_size} connections were busy for too long"
                raise StoreBusyError(message) from None
            if self._is_alive(connection):
                return connection
            await connection.close()
            await pool.putconn(connection)

    def _is_alive(self, connection: "AsyncConnection[Any]") -> bool:
        # The last message of the server comes before the end of the connection.
        try:
            for _ in range(2):
                connection.pgconn.consume_input()
                connection.pgconn.is_busy()
        except self._failure:
            return False
        return not connection.closed


def _cut(connection: "AsyncConnection[Any]") -> None:
    """Shut the socket of *connection*, so that nothing waits for it any longer."""
    if not connection.closed:
        with socket.socket(fileno=os.dup(connection.fileno())) as own:
            own.shutdown(socket.SHUT_RDWR)
