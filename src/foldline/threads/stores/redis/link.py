"""The connections to a Redis: a few, a time limit for every answer, and no write done twice."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha1
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from msgspec import Struct, field

from foldline.errors import (
    CommitUnknownError,
    ConfigError,
    MissingExtraError,
    StoreBusyError,
    StoreError,
)
from foldline.threads.stores.home import Home, opened
from foldline.threads.stores.line import Job, Line, Patience


if TYPE_CHECKING:
    from redis.asyncio import ConnectionPool, Redis
    from redis.asyncio.connection import AbstractConnection


Word: TypeAlias = bytes | str | int
"""What the driver sends as it is, or encodes."""
_Call: TypeAlias = tuple[Word, ...]

# Redis does one thing at a time: more connections would only wait for each other.
_WORKERS: Final = 2
_MOST_WRITES: Final = 256
_MOST_READS: Final = 64
_MOST_BYTES: Final = 4_000_000
_PACKAGE: Final = "foldline.threads.stores.redis"
# The driver makes these codes classes, and removes them from the text.
_CLASSES: Mapping[str, str] = {
    "AuthenticationError": "WRONGPASS",
    "AuthorizationError": "WRONGPASS",
    "BusyLoadingError": "LOADING",
    "MasterDownError": "MASTERDOWN",
    "MovedError": "MOVED",
    "NoPermissionError": "NOPERM",
    "OutOfMemoryError": "OOM",
    "ReadOnlyError": "READONLY",
}
# Redis 6 puts the code of a call that failed in a script after the place in the script.
_CODE: Final = re.compile(r"(?:^|-|: )([A-Z]{3,})\b")
# What a script meets without a right: Redis 6 has no code for it, later ones "ACL" in place of one.
_NO_RIGHT: Final = ("can't run this command", "ACL failure in script")
_TROUBLE: Mapping[str, str] = {
    "BUSY": "Redis is busy with the script of another program",
    "LOADING": "Redis has just started and is still reading its data",
    "MASTERDOWN": "this Redis is a replica that has lost its primary",
    "MISCONF": "Redis cannot write to its disk",
    "MOVED": "the keys of this store are on another node of the cluster",
    "NOPERM": "Redis does not let this user run a command",
    "OOM": "Redis has reached its maxmemory: give it more, or delete threads",
    "READONLY": "this Redis is a replica: give the address of the primary",
    "WRONGPASS": "Redis refuses this user or password",
    "WRONGTYPE": "a key of this store belongs to another program: choose another prefix",
}
_BUSY: Final = frozenset({"BUSY", "LOADING"})
# The answers of a Redis that is the wrong one, or not yet ready, and has done nothing: after a
# failover the address leads to another one, but the connections still lead to it.
_ELSEWHERE: Final = frozenset({"LOADING", "MASTERDOWN", "MOVED", "READONLY"})


def store_error(error: Exception, *, is_unknown: bool) -> StoreError:
    """Return *error*, without the values it may quote; *is_unknown* if a commit may be made."""
    code, name = _code(error), type(error).__name__
    if code:
        kind = StoreBusyError if code in _BUSY else StoreError
        return kind(f"{_TROUBLE.get(code, 'Redis refused a call')} ({code})")
    if is_unknown:
        return CommitUnknownError(f"the connection to Redis broke in a commit ({name})")
    if name == "TimeoutError":
        return StoreBusyError(f"Redis did not answer in time ({name})")
    return StoreError(f"Redis cannot be reached: check its address, and that it runs ({name})")


def _code(error: Exception) -> str:
    """Return the code of a refusal; empty if no Redis has answered."""
    names = {kind.__name__ for kind in type(error).__mro__}
    known = next((code for name, code in _CLASSES.items() if name in names), "")
    if known:
        return known
    if "ResponseError" not in names:
        # The driver hides why Redis has refused a connection.
        return _code(error.__cause__) if isinstance(error.__cause__, Exception) else ""
    text = str(error)
    if any(one in text for one in _NO_RIGHT):
        return "NOPERM"
    found = _CODE.search(text)
    return found[1] if found else "ERR"


def _client_maker(url: str, timeout: float) -> "Callable[[], Redis]":
    """Return what makes clients with the same options, whatever the address says."""
    try:
        from redis.asyncio import ConnectionPool, Redis  # noqa: PLC0415 - an optional package
        from redis.asyncio.retry import Retry  # noqa: PLC0415
        from redis.backoff import NoBackoff  # noqa: PLC0415
        from redis.exceptions import RedisError  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError(package="redis", extra="redis") from None
    options: dict[str, object] = {
        "decode_responses": False,
        "encoding_errors": "surrogatepass",
        "health_check_interval": 0,
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "retry_on_error": [],
        "retry_on_timeout": False,
        "socket_connect_timeout": timeout,
        # We count the time ourselves.
        "socket_timeout": None,
    }

    def make() -> Redis:
        from_url = cast("Callable[..., ConnectionPool]", ConnectionPool.from_url)
        pool = from_url(url, **options)
        # Otherwise the options of the address would win.
        pool.connection_kwargs.update(options)
        # Making one, without connecting it, shows whether the options are known.
        pool.connection_class(**pool.connection_kwargs)
        return Redis(connection_pool=pool)

    try:
        make()
    except (AttributeError, TypeError, ValueError, RedisError):
        # It may hold a password, so it is not quoted.
        raise ConfigError("url must be a redis://, rediss:// or unix:// address") from None
    return make


class _Round(Struct, eq=False):
    """What became of calls that were sent together."""

    writes: bool
    is_last: bool
    is_sent: bool = False
    is_late: bool = False
    broken: Exception | None = None
    refused: dict[Job[_Call], Exception] = field(default_factory=dict)

    def leaves(self, job: Job[_Call]) -> bool:
        """Return whether *job* may be repeated; if not, it ends."""
        error = self.refused.get(job, self.broken)
        if error is None or job.future.done():
            return False
        code = _code(error)
        is_unknown = self.writes and self.is_sent and not code
        if is_unknown or self.is_last or self.is_late or (code and code not in _ELSEWHERE):
            job.fail(store_error(error, is_unknown=is_unknown))
            return False
        return True


class RedisLink:
    """
    Runs commands and the script; those that wait are sent together, and each has its own answer.

    A broken connection is replaced by the next call, and all of them if one leads to a Redis that is
    no longer the primary. A call is then repeated once, except a write that may have been done:
    whether it was done is for the caller to find out.
    """

    def __init__(self, url: str, *, timeout: float, max_waiting: int) -> None:
        from importlib.resources import files  # noqa: PLC0415 - a quarter of the whole import

        self._make_client = _client_maker(url, timeout)
        from redis.exceptions import NoScriptError, RedisError  # noqa: PLC0415 - as above

        self._failures = (RedisError, OSError)
        self._unknown_script = NoScriptError
        self._timeout = timeout
        self._max_waiting = max_waiting
        self._script = (files(_PACKAGE) / "store.lua").read_bytes()
        # Redis names scripts so; nothing is protected by it.
        self._digest = sha1(self._script, usedforsecurity=False).hexdigest()
        self._reads, self._writes = self._line(writes=False), self._line(writes=True)
        self._client: Redis | None = None
        self._home = Home()
        # What was opened elsewhere must not be touched, not even by garbage collection.
        self._left: list[object] = []

    def _line(self, *, writes: bool) -> Line[_Call]:
        return Line(
            partial(self._serve, writes=writes),
            workers=_WORKERS,
            most_jobs=_MOST_WRITES if writes else _MOST_READS,
            most_size=_MOST_BYTES,
            most_waiting=self._max_waiting,
        )

    def open(self) -> bool:
        """Get ready for calls; return False if it was open."""
        if self._client is not None:
            self._home.check()
            return False
        self._client = self._make_client()
        self._home = Home(asyncio.get_running_loop())
        # Those of a closed event loop wait for nobody.
        self._reads, self._writes = self._line(writes=False), self._line(writes=True)
        return True

    async def close(self) -> None:
        """Close all connections, but leave those of another process or of a closed loop alone."""
        if self._client is not None and self._home.is_lost:
            self._left.append(self._client)
            self._client = None
        elif self._client is not None:
            self._home.check()
            client, self._client = self._client, None
            await self._hang_up(client, in_use=True)

    async def ask(self, name: str, *words: Word) -> Any:
        """Return the answer to one command, which is harmless when repeated."""
        read = cast("Callable[[Any], Any] | None", self._opened().response_callbacks.get(name))
        answer = await self._reads.put((name, *words))
        # What the driver makes of the answers to some commands.
        return answer if read is None else read(answer)

    async def run(self, base: str, *words: Word, writes: bool = False) -> list[Any]:
        """Return the answer of the script to *words*; a call that *writes* is never repeated."""
        self._opened()
        call = ("EVALSHA", self._digest, 1, f"{base}/format", base, *words)
        size = 1 + sum(len(word) for word in words if not isinstance(word, int))
        line = self._writes if writes else self._reads
        return cast("list[Any]", await line.put(call, size=size))

    def _opened(self) -> "Redis":
        link = opened(self._client)
        self._home.check()
        return link

    async def _serve(self, jobs: Sequence[Job[_Call]], *, writes: bool) -> Sequence[Job[_Call]]:
        """Do *jobs* in turn on one connection, and again what may be repeated if that breaks."""
        left = await self._attempt(jobs, writes=writes)
        if left:
            await self._attempt(left, writes=writes, is_last=True)
        return ()

    async def _attempt(
        self, jobs: Sequence[Job[_Call]], *, writes: bool, is_last: bool = False
    ) -> Sequence[Job[_Call]]:
        """End *jobs*, but return those that may be repeated."""
        # While they waited, the store may have been closed or led elsewhere.
        opened, one = self._opened(), _Round(writes=writes, is_last=is_last)
        await self._exchange(opened, jobs, one)
        errors = [*one.refused.values(), *([one.broken] if one.broken else [])]
        codes = {_code(error) for error in errors}
        is_misled = not _ELSEWHERE.isdisjoint(codes)
        if is_misled and self._client is opened:
            # Connections in use now must not be used again: they are not of the new client.
            self._client = self._make_client()
        if is_misled or "" in codes:
            # What broke one connection has mostly broken all of them.
            await self._hang_up(opened)
        if one.broken and one.is_late:
            line = self._writes if writes else self._reads
            line.give_up(jobs, store_error(one.broken, is_unknown=False))
        return [job for job in jobs if one.leaves(job)]

    async def _exchange(self, opened: "Redis", jobs: Sequence[Job[_Call]], one: "_Round") -> None:
        limit = asyncio.timeout(None)
        patience = Patience(self._timeout, partial(limit.reschedule, 0.0))
        try:
            async with limit:
                with patience:
                    await self._send_all(opened, jobs, one)
        except self._failures as error:
            one.broken, one.is_late = error, patience.is_over

    async def _send_all(self, opened: "Redis", jobs: Sequence[Job[_Call]], one: "_Round") -> None:
        get = cast(
            "Callable[[], Awaitable[AbstractConnection]]", opened.connection_pool.get_connection
        )
        connection = await get()
        try:
            one.is_sent = True
            await self._converse(connection, jobs, one)
        finally:
            await opened.connection_pool.release(connection)
            if self._client is not opened:
                await self._hang_up(opened)

    async def _converse(
        self, connection: "AbstractConnection", jobs: Sequence[Job[_Call]], one: "_Round"
    ) -> None:
        """Send *jobs* and read an answer to each."""
        left, is_script_known = jobs, True
        while left:
            commands = [job.given for job in left]
            if not is_script_known:
                # Redis forgets scripts when it restarts; it has done nothing.
                commands[0] = ("EVAL", self._script, *commands[0][2:])
            await connection.send_packed_command(connection.pack_commands(commands))
            answered = [(job, await self._is_answered(connection, job, one)) for job in left]
            left, is_script_known = [job for job, is_done in answered if not is_done], False

    async def _is_answered(
        self, connection: "AbstractConnection", job: Job[_Call], one: "_Round"
    ) -> bool:
        """Read the answer to *job*; return False if the script was unknown."""
        try:
            job.succeed(cast("object", await connection.read_response()))
        except self._unknown_script:
            return False
        except self._failures as error:
            if not _code(error):
                raise
            one.refused[job] = error
        return True

    async def _hang_up(self, client: "Redis", *, in_use: bool = False) -> None:
        with suppress(*self._failures):
            async with asyncio.timeout(self._timeout):
                await client.connection_pool.disconnect(inuse_connections=in_use)
