"""The connections to a Redis: a few, a deadline for every call, and no write done twice."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, cast

from foldline.errors import ConfigError, MissingExtraError, StoreError
from foldline.threads.stores.home import Home
from foldline.threads.stores.redis.faults import is_elsewhere, store_error
from foldline.threads.stores.redis.scripts import Script


__all__ = ["RedisLink"]


_MOST_CONNECTIONS: Final = 16


class _Pool(Protocol):
    """What is needed of the driver's connections."""

    async def disconnect(self, *, inuse_connections: bool) -> None: ...


class _Client(Protocol):
    """What is needed of the driver's client."""

    connection_pool: _Pool

    def client(self) -> "_Client": ...

    async def initialize(self) -> object: ...

    async def execute_command(self, *words: bytes) -> object: ...

    async def aclose(self, *, close_connection_pool: bool | None = None) -> None: ...


class _BrokenError(Exception):
    """A connection broke, no answer came in time, or it led to a Redis that cannot answer."""

    def __init__(self, reason: Exception, *, may_be_done: bool) -> None:
        super().__init__()
        self.reason = reason
        self.may_be_done = may_be_done


class RedisLink:
    """
    Runs commands and scripts.

    A broken connection is replaced by the next call, and all of them if one leads to a Redis that is
    no longer the primary. A call is then repeated once, except a write that may have been done:
    whether it was done is for the caller to find out.
    """

    def __init__(self, url: str, *, timeout: float) -> None:
        """
        Use the Redis at *url*, not yet connected; see `RedisStore` for the options.

        Raises:
            ConfigError: *url* is not such an address.
            MissingExtraError: The `redis` extra is not installed.
        """
        try:
            from redis.asyncio import ConnectionPool, Redis  # noqa: PLC0415 - an optional package
            from redis.exceptions import NoScriptError, RedisError, ResponseError  # noqa: PLC0415
        except ImportError:
            raise MissingExtraError(package="redis", extra="redis") from None
        options = _options(timeout)

        def client() -> _Client:
            from_url = cast("Callable[..., ConnectionPool]", ConnectionPool.from_url)
            pool = from_url(url, max_connections=_MOST_CONNECTIONS, **options)
            # Otherwise the options of the address would win.
            pool.connection_kwargs.update(options)
            pool.max_connections = _MOST_CONNECTIONS
            # Making one, without connecting it, shows whether the options are known.
            pool.connection_class(**pool.connection_kwargs)
            return cast("_Client", Redis(connection_pool=pool))

        try:
            client()
        except (AttributeError, TypeError, ValueError, RedisError):
            # It may hold a password, so it is not quoted.
            message = "url must be a redis://, rediss:// or unix:// address"
            raise ConfigError(message) from None
        self._make_client = client
        self._failure = RedisError
        self._refusal = ResponseError
        self._unknown_script = NoScriptError
        self._timeout = timeout
        self._places = asyncio.Semaphore(_MOST_CONNECTIONS)
        self._client: _Client | None = None
        self._home = Home()
        # What was opened elsewhere must not be touched, not even by garbage collection.
        self._left: list[object] = []

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return self._client is not None

    def open(self) -> None:
        """
        Get ready for calls; harmless when repeated.

        Raises:
            StoreError: It is open in another event loop or process.
        """
        if self._client is not None:
            self._home.check()
        else:
            self._client = self._make_client()
            self._home = Home(asyncio.get_running_loop())
            self._places = asyncio.Semaphore(_MOST_CONNECTIONS)

    async def close(self) -> None:
        """
        Close all connections; harmless when repeated.

        Those of another process are left alone, those of a closed event loop to the system.

        Raises:
            StoreError: They belong to another event loop, which is not closed; or Redis failed.
        """
        if self._client is not None and self._home.is_lost:
            self._left.append(self._client)
            self._client = None
        elif self._client is not None:
            self._home.check()
            client, self._client = self._client, None
            try:
                async with asyncio.timeout(self._timeout):
                    await client.aclose(close_connection_pool=True)
            except (self._failure, OSError, TimeoutError) as error:
                raise store_error(error, is_unknown=False) from None

    async def ask(self, *words: bytes) -> object:
        """
        Return the answer to one command, which is harmless when repeated.

        Raises:
            StoreError: Redis cannot be reached, did not answer in time, or refused.
        """
        return await self._call([words], writes=False)

    async def run(self, script: Script, *words: bytes, writes: bool = False) -> object:
        """
        Return the answer of a script to *words*.

        Args:
            script: The script.
            words: Its arguments, the first of which is the base of all keys.
            writes: Whether it must not be repeated.

        Raises:
            StoreError: Redis cannot be reached, did not answer in time, or refused.
            CommitUnknownError: It must not be repeated, was sent, and no answer came.
        """
        given = (b"1", words[0] + b"/format", *words)
        known = (b"EVALSHA", script.digest, *given)
        return await self._call([known, (b"EVAL", script.text, *given)], writes=writes)

    async def _call(self, attempts: list[tuple[bytes, ...]], *, writes: bool) -> object:
        self._opened()
        self._home.check()
        clock = asyncio.get_running_loop().time
        until = clock() + self._timeout
        tries = 2
        while True:
            try:
                return await self._try(attempts, until)
            except _BrokenError as broken:
                tries -= 1
                is_unknown = writes and broken.may_be_done
                if is_unknown or not tries or clock() >= until:
                    raise store_error(broken.reason, is_unknown=is_unknown) from None

    def _opened(self) -> _Client:
        if self._client is None:
            message = "the store is not open: use `async with`, or await `open()`"
            raise StoreError(message)
        return self._client

    async def _try(self, attempts: list[tuple[bytes, ...]], until: float) -> object:
        opened = self._opened()
        is_sent = False
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
        except (self._failure, OSError, TimeoutError) as error:
            is_misled = is_elsewhere(error)
            if isinstance(error, self._refusal) and not is_misled:
                raise store_error(error, is_unknown=False) from None
            if is_misled and self._client is opened:
                # Connections in use now must not be used again: they are not of the new client.
                self._client = self._make_client()
            await self._hang_up(opened)
            raise _BrokenError(error, may_be_done=is_sent and not is_misled) from None

    async def _release(self, opened: _Client, client: _Client) -> None:
        await client.aclose(close_connection_pool=False)
        if self._client is not opened:
            await self._hang_up(opened)

    async def _hang_up(self, client: _Client) -> None:
        """Close idle connections: what broke one has mostly broken all of them."""
        with suppress(self._failure, OSError, TimeoutError):
            async with asyncio.timeout(self._timeout):
                await client.connection_pool.disconnect(inuse_connections=False)

    async def _attempt(self, client: _Client, attempts: list[tuple[bytes, ...]]) -> object:
        *others, last = attempts
        for words in others:
            try:
                return await client.execute_command(*words)
            except self._unknown_script:
                # Redis forgets scripts when it restarts; it has done nothing.
                continue
        return await client.execute_command(*last)


def _options(timeout: float) -> dict[str, object]:
    """Return the options of every connection, whatever its address says."""
    from redis.asyncio.retry import Retry  # noqa: PLC0415 - an optional package
    from redis.backoff import NoBackoff  # noqa: PLC0415

    return {
        "decode_responses": False,
        "health_check_interval": 0,
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "retry_on_error": [],
        "retry_on_timeout": False,
        "socket_connect_timeout": timeout,
        "socket_timeout": timeout,
    }
