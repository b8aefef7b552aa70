"""The connections to a Redis: a few, a deadline for every call, and no write done twice."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha1
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from foldline.errors import (
    CommitUnknownError,
    ConfigError,
    MissingExtraError,
    StoreBusyError,
    StoreError,
)
from foldline.threads.stores.home import Home


if TYPE_CHECKING:
    from redis.asyncio import ConnectionPool, Redis


__all__ = ["RedisLink", "Word", "store_error"]


Word: TypeAlias = bytes | str | int
"""What the driver sends as it is, or encodes."""

_MOST_CONNECTIONS: Final = 16
_PACKAGE: Final = "foldline.threads.stores.redis"
# The driver makes these codes classes, and removes them from the text.
_CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "AuthenticationError": "WRONGPASS",
        "AuthorizationError": "WRONGPASS",
        "BusyLoadingError": "LOADING",
        "MasterDownError": "MASTERDOWN",
        "MovedError": "MOVED",
        "NoPermissionError": "NOPERM",
        "OutOfMemoryError": "OOM",
        "ReadOnlyError": "READONLY",
    }
)
# Redis 6 puts the code of a call that failed in a script after the place in the script.
_CODE: Final = re.compile(r"(?:^|-|: )([A-Z]{3,})\b")
# Redis 6 has no code for this one.
_NO_RIGHT: Final = "can't run this command"
_TROUBLE: Mapping[str, str] = MappingProxyType(
    {
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
)
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
    return StoreError(f"Redis cannot be reached ({name})")


def _code(error: Exception) -> str:
    """Return the code of a refusal; empty if no Redis has answered."""
    names = {kind.__name__ for kind in type(error).__mro__}
    known = next((code for name, code in _CLASSES.items() if name in names), "")
    if known or "ResponseError" not in names:
        return known
    found = _CODE.search(str(error))
    if found is None and _NO_RIGHT in str(error):
        return "NOPERM"
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
        "socket_timeout": timeout,
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
        message = "url must be a redis://, rediss:// or unix:// address"
        raise ConfigError(message) from None
    return make


class RedisLink:
    """
    Runs commands and the script.

    A broken connection is replaced by the next call, and all of them if one leads to a Redis that is
    no longer the primary. A call is then repeated once, except a write that may have been done:
    whether it was done is for the caller to find out.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        """Use the Redis at *url*, not yet connected; see `RedisStore` for the options."""
        from importlib.resources import files  # noqa: PLC0415 - a quarter of the whole import

        self._make_client = _client_maker(url, timeout)
        from redis.exceptions import NoScriptError, RedisError  # noqa: PLC0415 - as above

        self._failures = (RedisError, OSError)
        self._unknown_script = NoScriptError
        self._timeout = timeout
        self._script = (files(_PACKAGE) / "store.lua").read_bytes()
        # Redis names scripts so; nothing is protected by it.
        self._digest = sha1(self._script, usedforsecurity=False).hexdigest()
        self._places = asyncio.Semaphore(_MOST_CONNECTIONS)
        self._client: Redis | None = None
        self._home = Home()
        # What was opened elsewhere must not be touched, not even by garbage collection.
        self._left: list[object] = []

    def open(self) -> bool:
        """Get ready for calls; return False if it was open."""
        if self._client is not None:
            self._home.check()
            return False
        self._client = self._make_client()
        self._home = Home(asyncio.get_running_loop())
        self._places = asyncio.Semaphore(_MOST_CONNECTIONS)
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

    async def ask(self, *words: Word) -> Any:
        """Return the answer to one command, which is harmless when repeated."""
        return await self._call([words])

    async def run(self, base: str, *words: Word, writes: bool = False) -> list[Any]:
        """
        Return the answer of the script to *words*; all keys begin with *base*.

        A call that *writes* is not repeated: if no answer comes, it raises CommitUnknownError.
        """
        given = (1, f"{base}/format", base, *words)
        attempts = [("EVALSHA", self._digest, *given), ("EVAL", self._script, *given)]
        return cast("list[Any]", await self._call(attempts, writes=writes))

    def _opened(self) -> "Redis":
        if self._client is None:
            message = "the store is not open: use `async with`, or await `open()`"
            raise StoreError(message)
        self._home.check()
        return self._client

    async def _call(
        self, attempts: Sequence[tuple[Word, ...]], *, writes: bool = False, until: float = 0.0
    ) -> Any:
        opened, is_sent, is_last = self._opened(), False, bool(until)
        clock = asyncio.get_running_loop().time
        until = until or clock() + self._timeout
        try:
            async with asyncio.timeout_at(until), self._places:
                # While this call waited, the store may have been closed or led elsewhere.
                opened = self._opened()
                client = opened.client()
                try:
                    await client.initialize()
                    is_sent = True
                    return await self._attempt(client, attempts)
                finally:
                    await self._release(opened, client)
        except self._failures as error:
            code = _code(error)
            is_misled = code in _ELSEWHERE
            if is_misled and self._client is opened:
                # Connections in use now must not be used again: they are not of the new client.
                self._client = self._make_client()
            if is_misled or not code:
                # What broke one connection has mostly broken all of them.
                await self._hang_up(opened)
            is_unknown = writes and is_sent and not code
            if is_unknown or is_last or clock() >= until or (code and not is_misled):
                raise store_error(error, is_unknown=is_unknown) from None
        return await self._call(attempts, writes=writes, until=until)

    async def _release(self, opened: "Redis", client: "Redis") -> None:
        await client.aclose(close_connection_pool=False)
        if self._client is not opened:
            await self._hang_up(opened)

    async def _hang_up(self, client: "Redis", *, in_use: bool = False) -> None:
        with suppress(*self._failures):
            async with asyncio.timeout(self._timeout):
                await client.connection_pool.disconnect(inuse_connections=in_use)

    async def _attempt(self, client: "Redis", attempts: Sequence[tuple[Word, ...]]) -> Any:
        ask = cast("Callable[..., Awaitable[Any]]", client.execute_command)
        *others, last = attempts
        for words in others:
            # Redis forgets scripts when it restarts; it has done nothing.
            with suppress(self._unknown_script):
                return await ask(*words)
        return await ask(*last)
