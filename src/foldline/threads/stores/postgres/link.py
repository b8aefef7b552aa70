"""The connections to a PostgreSQL: a pool, and a time limit for every answer."""

import asyncio
import math
import os
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from foldline.checks import expect, expect_choice, expect_seconds, expect_whole
from foldline.errors import (
    ConfigError,
    MissingExtraError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
)
from foldline.threads.stores.home import Home, opened
from foldline.threads.stores.line import PARTS, Patience
from foldline.threads.stores.postgres.schema import migrate, read_statements
from foldline.threads.stores.postgres.values import SEVERAL, Packed, Values


if TYPE_CHECKING:
    from psycopg import AsyncConnection, AsyncCursor, Error
    from psycopg.abc import Buffer
    from psycopg.adapt import Dumper
    from psycopg_pool import AsyncConnectionPool


Durability: TypeAlias = Literal["full", "relaxed"]
"""
What a crash of the server may lose.

`full`: nothing that was acknowledged; each commit is flushed to disk. `relaxed`: the newest commits,
whole ones, of three times `wal_writer_delay` (0.6 seconds by default).
"""

Answer: TypeAlias = list[tuple[Any, ...]]
"""The rows that a statement returned."""

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)
_ATTEMPTS: Final = 4
_PAUSE: Final = 0.25
_GRACE: Final = 1.0
# The server gives up before we do, so that the outcome of a call is known.
_SERVER_SHARE: Final = 0.9
_LOCK_SHARE: Final = 0.8
# The server and the system count milliseconds in 31 bits.
_LONGEST: Final = 2_147_483
# The server prepares none of the statements that do several things at once.
_NEW: Final = frozenset({"commit_several", *SEVERAL.values()})
# The server has rolled all of it back; the same call may succeed a moment later.
_ROLLED_BACK: Final = ("40001", "40P01")
# A broken connection; a server that stops and closes it.
_ENDS: Final = ("08", "57P")
_POOLED: Final = (StoreError, "a pooler in front of PostgreSQL must run in session mode")
_REOPEN: Final = "close and open the store; a pooler must run in session mode"
_TROUBLE: Mapping[str, tuple[type[StoreError], str]] = {
    "08001": (
        StoreError,
        "PostgreSQL cannot be reached: check address and sslmode, and that it runs",
    ),
    "25006": (StoreError, "read-only: a replica, or default_transaction_read_only is on"),
    "26000": _POOLED,
    "28000": (StoreError, "PostgreSQL does not let this user connect from here"),
    "28P01": (StoreError, "PostgreSQL refuses this user or password"),
    "3D000": (StoreError, "there is no such database"),
    "3F000": (StoreError, "the schema of the store is gone: close and open the store"),
    "40001": (StoreBusyError, "other transactions changed the same rows repeatedly"),
    "40P01": (StoreBusyError, "other transactions waited for the same rows repeatedly"),
    "42501": (StoreError, "this user may not use or create the tables"),
    "42883": (StoreError, f"the functions of the store are gone: {_REOPEN}"),
    "42P01": (StoreError, f"the tables of the store are gone: {_REOPEN}"),
    "42P05": _POOLED,
    "42P07": (StoreError, "the schema has tables of another program: choose another schema"),
    "53100": (StoreError, "the disk of PostgreSQL is full"),
    "53300": (StoreBusyError, "PostgreSQL accepts no more connections"),
    "55P03": (StoreBusyError, "another transaction kept a lock for too long"),
    "57014": (StoreBusyError, "PostgreSQL did not finish in time"),
    "57P03": (StoreBusyError, "PostgreSQL is starting or stopping"),
    "XX001": (StoreCorruptError, "a table of the store is damaged"),
    "XX002": (StoreCorruptError, "an index of the store is damaged"),
}
# Libpq has no code for a connection that was refused, only what the server says.
_REFUSALS: Mapping[str, str] = {
    r"no pg_hba\.conf entry|role \".*\" does not exist": "28000",
    r"password authentication failed|no password supplied": "28P01",
    r"database \".*\" does not exist": "3D000",
    r"too many (clients|connections)|remaining connection slots": "53300",
    r"the database system is ": "57P03",
}
_WINDOWS: Final = "PostgreSQL needs an asyncio.SelectorEventLoop: run your program in one"


def store_error(error: "Error") -> StoreError:
    """Return *error* as an error of foldline, without the values that it may quote."""
    from psycopg import OperationalError  # noqa: PLC0415 - an optional package

    state, name = error.sqlstate, type(error).__name__
    if state is None and isinstance(error, OperationalError):
        found = (code for text, code in _REFUSALS.items() if re.search(text, str(error)))
        state = next(found, "08001")
    if state is None:
        is_windows = "ProactorEventLoop" in str(error)
        return StoreError(f"{_WINDOWS if is_windows else 'PostgreSQL was not called'} ({name})")
    kind, text = _TROUBLE.get(state, (StoreError, "PostgreSQL refused a call"))
    return kind(f"{text} ({state})")


def _dumpers() -> "Mapping[type, type[Dumper]]":
    """Return how the driver sends numbers, and arrays as they were packed."""
    from psycopg.adapt import Dumper  # noqa: PLC0415 - an optional package
    from psycopg.pq import Format  # noqa: PLC0415
    from psycopg.types.numeric import Int8BinaryDumper  # noqa: PLC0415

    class PackedDumper(Dumper):
        format = Format.BINARY

        def dump(self, obj: "Packed") -> "Buffer":
            return obj

    # Numbers of one type, so that a statement is prepared once and not for each size.
    return {int: Int8BinaryDumper, Packed: PackedDumper}


class Broken(NamedTuple):
    """A call without an answer: it may have been done or not, if it was sent."""

    # Empty if there was no connection.
    session: str
    is_late: bool
    reason: str


class PostgresLink:
    """
    Runs statements, each of them a transaction of its own.

    A broken connection is replaced by the next call. A read is then repeated, a write only if the
    server says that it was rolled back.
    """

    def __init__(
        self, dsn: str, *, schema: str, pool_size: int, timeout: float, durability: Durability
    ) -> None:
        expect("dsn", dsn, str)
        expect("schema", schema, str)
        if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
            rule = "1 to 63 characters of a-z 0-9 _, and begin with neither a digit nor pg_"
            raise ConfigError(f"schema must be {rule}")
        expect_whole("pool_size", pool_size, 1)
        expect_seconds("timeout", timeout, most=_LONGEST)
        expect_choice("durability", durability, get_args(Durability))
        try:
            import psycopg  # noqa: PLC0415 - an optional package
            import psycopg.conninfo  # noqa: PLC0415
            import psycopg_pool  # noqa: PLC0415
        except ImportError:
            raise MissingExtraError(package="psycopg", extra="postgres") from None
        try:
            psycopg.conninfo.conninfo_to_dict(dsn)
        except (psycopg.ProgrammingError, UnicodeEncodeError):
            # It may hold a password, so it is not quoted.
            raise ConfigError(
                "dsn must be a connection string of libpq, or a postgresql:// URL without a +driver "
                "and with odd characters of the password as %XX"
            ) from None
        self.sql = read_statements()
        self.schema: Final = schema
        self._timeout = timeout
        self._is_relaxed = durability == "relaxed"
        self._dumpers = _dumpers()
        self._failure = psycopg.Error
        self._late = psycopg_pool.PoolTimeout
        self._closed = psycopg_pool.PoolClosed
        self._connect = psycopg.AsyncConnection.connect
        self._make_pool = psycopg_pool.AsyncConnectionPool
        self.dsn: Final = dsn
        """The address, which may hold a password."""
        self.pool_size: Final = pool_size
        self._pool: AsyncConnectionPool[AsyncConnection[Any]] | None = None
        self._places = asyncio.Semaphore(pool_size)
        # Of the open connections, one each.
        self._cursors: dict[AsyncConnection[Any], AsyncCursor[Any]] = {}
        self._home = Home()
        # What was opened elsewhere must not be touched, not even by garbage collection.
        self._left: list[object] = []

    async def open(self) -> bool:
        """Bring the tables up to date and get ready for calls; return False if it was open."""
        if self._pool is not None:
            self._home.check()
            return False
        try:
            async with asyncio.timeout(self._timeout):
                connection = await self._connect(self.dsn, **self._options())
        except TimeoutError:
            raise StoreBusyError(self._lateness()) from None
        except self._failure as error:
            raise store_error(error) from None
        await self._prepare(connection)
        pool: AsyncConnectionPool[AsyncConnection[Any]] = self._make_pool(
            self.dsn,
            kwargs=self._options(),
            min_size=1,
            max_size=self.pool_size,
            open=False,
            configure=self._configure,
            reconnect_timeout=0.0,
            reconnect_failed=try_again,
        )
        await pool.open()
        if self._pool is not None:
            # Another task has opened it at the same time and was faster.
            await pool.close(self._timeout)
            self._home.check()
            return False
        self._home = Home(asyncio.get_running_loop())
        self._places = asyncio.Semaphore(self.pool_size)
        self._pool = pool
        return True

    async def _prepare(self, connection: "AsyncConnection[Any]") -> None:
        try:
            await self._configure(connection)
            # Each statement has the time of a call, so a migration may take longer.
            await migrate(partial(self._execute, connection), self.sql, self.schema)
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
            "path": f'"{self.schema}"',
            "statement_timeout": f"{math.ceil(1000 * _SERVER_SHARE * self._timeout)}",
            "lock_timeout": f"{math.ceil(1000 * _LOCK_SHARE * self._timeout)}",
            "relaxed": self._is_relaxed,
        }
        for kind, dumper in self._dumpers.items():
            connection.adapters.register_dumper(kind, dumper)
        await self._execute(connection, self.sql["session"], values)
        self._cursors = {one: kept for one, kept in self._cursors.items() if not one.closed}
        self._cursors[connection] = connection.cursor(binary=True)

    async def close(self) -> None:
        """Close all connections, but leave those of another process or of a closed loop alone."""
        if self._pool is not None and self._home.is_lost:
            self._left += [self._pool, self._cursors]
            self._pool, self._cursors = None, {}
        elif self._pool is not None:
            self._home.check()
            pool, self._pool = self._pool, None
            await pool.close(self._timeout)

    async def ask(self, name: str, values: Values) -> Answer | Broken:
        """Return the rows of a statement that is harmless when repeated, or `Broken`."""
        answer = await self.write(name, values)
        for _ in range(_ATTEMPTS - 1):
            if not isinstance(answer, Broken) or answer.is_late:
                break
            answer = await self.write(name, values)
        return answer

    async def settle(self, broken: Broken, name: str, values: Values) -> Answer | None:
        """End the session whose answer was lost, so that it cannot write any more; then read."""
        session = {"session": broken.session, "wait": math.ceil(1000 * _GRACE / 2)}
        limit = _GRACE if broken.is_late else self._timeout
        with suppress(StoreError):
            ended = await self.write("end_session", session, limit=limit)
            if not isinstance(ended, Broken) and all(done for (done,) in ended):
                found = await self.write(name, values, limit=limit)
                return None if isinstance(found, Broken) else found
        return None

    def _lateness(self) -> str:
        return f"PostgreSQL did not answer within {self._timeout} seconds"

    async def write(
        self, name: str, values: Values, *, limit: float | None = None
    ) -> Answer | Broken:
        """Return the rows of a statement that is run once, or `Broken` if the answer was lost."""
        # However long others keep the connections: time counts while the server is waited for.
        async with self._places:
            for attempt in range(1, _ATTEMPTS + 1):
                answer = await self._attempt(name, values, limit or self._timeout)
                if not isinstance(answer, StoreError):
                    return answer
                if attempt == _ATTEMPTS:
                    raise answer
        raise AssertionError

    async def _attempt(
        self, name: str, values: Values, limit: float
    ) -> Answer | Broken | StoreError:
        """Return an answer, what broke, or the error of a call that may be repeated."""
        pool = self.opened()
        connection = await self._connection(pool, limit)
        if connection is None:
            message = f"PostgreSQL cannot be reached within {limit} seconds"
            return Broken("", is_late=True, reason=message)
        session = connection.pgconn.parameter_status(b"application_name") or b""
        patience = Patience(limit, partial(_cut, connection))
        try:
            with patience:
                return await self._fetch(connection, self.sql[name], values, is_new=name in _NEW)
        except self._failure as error:
            if connection.closed or (error.sqlstate or "").startswith(_ENDS):
                reason = self._lateness() if patience.is_over else str(store_error(error))
                return Broken(session.decode(), patience.is_over, reason)
            if error.sqlstate not in _ROLLED_BACK:
                raise store_error(error) from None
            return store_error(error)
        finally:
            await pool.putconn(connection)

    async def _execute(
        self, connection: "AsyncConnection[Any]", sql: bytes, values: Values | None = None
    ) -> Answer:
        with Patience(self._timeout, partial(_cut, connection)):
            return await self._fetch(connection, sql, values)

    async def _fetch(
        self,
        connection: "AsyncConnection[Any]",
        sql: bytes,
        values: Values | None,
        *,
        is_new: bool = False,
    ) -> Answer:
        kept = None if is_new or values is None else self._cursors.get(connection)
        # A new one finds out again how each value is sent.
        cursor = kept or connection.cursor(binary=values is not None)
        await cursor.execute(sql, values, prepare=False if is_new else None)
        # Asking for the description would make one.
        return [] if cursor.rownumber is None else await cursor.fetchall()

    def opened(self) -> "AsyncConnectionPool[AsyncConnection[Any]]":
        """Return the pool; raise StoreError unless it is open, in this process and event loop."""
        link = opened(self._pool)
        self._home.check()
        return link

    async def _connection(
        self, pool: "AsyncConnectionPool[AsyncConnection[Any]]", limit: float
    ) -> "AsyncConnection[Any] | None":
        """Return a connection that the server did not close while it was idle; None if late."""
        for _ in range(PARTS):
            try:
                connection = await pool.getconn(timeout=limit / PARTS)
                while not self._is_alive(connection):
                    await connection.close()
                    await pool.putconn(connection)
                    connection = await pool.getconn(timeout=limit / PARTS)
            except self._late:
                continue
            except self._closed:
                break
            return connection
        self.opened()
        return None

    def _is_alive(self, connection: "AsyncConnection[Any]") -> bool:
        # The last message of the server comes before the end of the connection.
        try:
            for _ in range(2):
                connection.pgconn.consume_input()
                connection.pgconn.is_busy()
        except self._failure:
            return False
        return not connection.closed


async def try_again(pool: "AsyncConnectionPool[Any]") -> None:
    """Let *pool* connect once more while a call waits for it."""
    if pool.get_stats().get("requests_waiting", 0):
        await asyncio.sleep(_PAUSE)
        await pool.check()


def _cut(connection: "AsyncConnection[Any]") -> None:
    """Shut the socket of *connection*, so that nothing waits for it any longer."""
    # Even when cancelled, the driver waits for the server, but not for a socket that is shut.
    if not connection.closed:
        with socket.socket(fileno=os.dup(connection.fileno())) as own:
            own.shutdown(socket.SHUT_RDWR)
