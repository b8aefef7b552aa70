"""The store for many machines that share a Redis."""

from collections.abc import Callable
from datetime import datetime

from foldline.history.tokens import TokenCounter
from foldline.threads.checkpoint import CheckpointRetention
from foldline.threads.cipher import Cipher
from foldline.threads.store import ThreadStore
from foldline.threads.stores.redis.promise import RedisPromise
from foldline.threads.stores.redis.storage import RedisStorage


__all__ = ["RedisStore"]


class RedisStore(ThreadStore):
    """
    Threads in one Redis, shared by any number of tasks, processes and machines.

    A commit is a whole or nothing, always. Whether a crash of Redis may take the newest ones is a
    setting of Redis: with `appendonly yes` and `appendfsync always` it takes none; `promise` says
    what holds. A failover takes what the replica has not yet received. The first write that the old
    primary refuses goes to where the address leads then, and so does every later call; until then
    the old one answers the reads, unless it has closed the connections.

    An open store belongs to the event loop in which it was opened; another loop, or a forked
    process, opens one of its own.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "foldline",
        timeout: float = 10.0,
        allow_eviction: bool = False,
        counter: TokenCounter | None = None,
        cipher: Cipher | None = None,
        checkpoints: CheckpointRetention = "latest",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """
        Use the Redis at *url*.

        Args:
            url: Its address: `redis://`, `rediss://` or `unix://`.
            prefix: What all keys begin with; stores with other prefixes know nothing of this one.
            timeout: How many seconds a call may take, waiting and connecting included.
            allow_eviction: Whether Redis may drop threads when its memory is full.
            counter: What counts tokens; see `ThreadStore`.
            cipher: What encrypts; see `ThreadStore`.
            checkpoints: Which checkpoints are kept.
            clock: What tells the time, with a time zone.

        Raises:
            ConfigError: An argument is not allowed.
            MissingExtraError: The `redis` extra is not installed.
        """
        self._redis = RedisStorage(
            url, prefix=prefix, timeout=timeout, allow_eviction=allow_eviction
        )
        super().__init__(
            self._redis, counter=counter, cipher=cipher, checkpoints=checkpoints, clock=clock
        )

    async def promise(self) -> RedisPromise:
        """
        Return what this Redis, as it is set up, may lose in a crash.

        Raises:
            StoreError: Redis cannot be reached.
        """
        return await self._redis.promise()
