"""The store for many machines that share a PostgreSQL."""

from collections.abc import Callable
from datetime import datetime

from foldline.history.tokens import TokenCounter
from foldline.threads.checkpoint import CheckpointRetention
from foldline.threads.cipher import Cipher
from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.link import Durability
from foldline.threads.stores.postgres.storage import PostgresStorage


__all__ = ["PostgresStore"]


class PostgresStore(ThreadStore):
    """
    Threads in one PostgreSQL database, shared by any number of tasks, processes and machines.

    An open store belongs to the event loop in which it was opened; another loop, or a forked
    process, opens one of its own.
    """

    def __init__(  # noqa: PLR0913 - the options of every store, and those of the way to it
        self,
        dsn: str,
        *,
        schema: str = "foldline",
        pool_size: int = 8,
        timeout: float = 10.0,
        durability: Durability = "full",
        counter: TokenCounter | None = None,
        cipher: Cipher | None = None,
        checkpoints: CheckpointRetention = "latest",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """
        Use the database at *dsn*, where tables are made when it is first opened.

        Args:
            dsn: Its address: a `postgresql://` URL or a connection string of libpq.
            schema: The schema of the tables, made if there is none; stores with other schemas know
                nothing of this one.
            pool_size: How many connections are open at most.
            timeout: How many seconds a call may take, waiting and connecting included.
            durability: `full` flushes each commit to the server's disk, so that a crash takes
                nothing. `relaxed` does not: a crash of the server may take the commits of the last
                moments.
            counter: What counts tokens; see `ThreadStore`.
            cipher: What encrypts; see `ThreadStore`.
            checkpoints: Which checkpoints are kept.
            clock: What tells the time, with a time zone.

        Raises:
            ConfigError: An argument is not allowed.
            MissingExtraError: The `postgres` extra is not installed.
        """
        storage = PostgresStorage(
            dsn, schema=schema, pool_size=pool_size, timeout=timeout, durability=durability
        )
        super().__init__(
            storage, counter=counter, cipher=cipher, checkpoints=checkpoints, clock=clock
        )
