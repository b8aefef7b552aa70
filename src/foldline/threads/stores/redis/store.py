"""The store for many machines that share a Redis."""

from collections.abc import Callable
from datetime import datetime

from foldline.history.tokens import TokenCounter
from foldline.threads.cipher import Cipher
from foldline.threads.storage import CheckpointRetention
from foldline.threads.store import ThreadStore
from foldline.threads.stores.redis.doctor import RedisPromise, read_promise
from foldline.threads.stores.redis.storage import RedisStorage


__all__ = ["RedisStore"]


class RedisStore(ThreadStore):
    """
    Threads in one Redis, shared by any number of tasks, processes and machines.

    A commit is always whole. Whether a crash of Redis may lose the newest ones is a setting of Redis:
    with `appendonly yes` and `appendfsync always` it loses none; see `promise`. A failover loses what
    the replica has not received. The first write that the old primary refuses goes where the address
    leads then, and so does every later call; until then the old primary answers reads.

    An open store belongs to the event loop in which it was opened: another loop or a forked process
    must open its own.
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
            prefix: What all keys begin with; each prefix is a store.
            timeout: How many seconds a call may take, waiting and connecting included.
            allow_eviction: Whether Redis may drop threads when its memory is full.
            counter: Counts tokens; see `ThreadStore`.
            cipher: Encrypts; see `ThreadStore`.
            checkpoints: Which checkpoints are kept.
            clock: Returns the time, with a time zone.

        Raises:
            ConfigError: An argument is invalid.
            MissingExtraError: The `redis` extra is not installed.
        """
        storage = RedisStorage(url, prefix=prefix, timeout=timeout, allow_eviction=allow_eviction)
        self._link = storage.link
        super().__init__(
            storage, counter=counter, cipher=cipher, checkpoints=checkpoints, clock=clock
        )

    async def promise(self) -> RedisPromise:
        """
        Return what this Redis, with its settings, may lose in a crash.

        Raises:
            StoreError: Redis cannot be reached.
        """
        return await read_promise(self._link)
