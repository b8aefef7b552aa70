"""The store for many machines that share a PostgreSQL."""

from collections.abc import Callable
from datetime import datetime

from foldline.history.tokens import TokenCounter
from foldline.threads.cipher import Cipher
from foldline.threads.storage import CheckpointRetention
from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.link import Durability
from foldline.threads.stores.postgres.storage import PostgresStorage


__all__ = ["PostgresStore"]


class PostgresStore(ThreadStore):
    """
    Threads in one PostgreSQL database, shared by any number of tasks, processes and machines.

    An open store belongs to the event loop in which it was opened: another loop or a forked process
    must open its own.
    """

    def __init__(  # noqa: PLR0913 - the options of every store, and of the connection
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
        Use the database at *dsn*; its tables are created when it is first opened.

        Args:
            dsn: Its address: a `postgresql://` URL or a connection string of libpq.
            schema: The schema of the tables, created if missing; each schema is a store.
            pool_size: How many connections are open at most.
            timeout: How many seconds a call may take, waiting and connecting included.
            durability: `full` flushes each commit to the server's disk, so that a crash loses
                nothing. `relaxed` does not: a crash of the server may lose the newest commits.
            counter: Counts tokens; see `ThreadStore`.
            cipher: Encrypts; see `ThreadStore`.
            checkpoints: Which checkpoints are kept.
            clock: Returns the time, with a time zone.

        Raises:
            ConfigError: An argument is invalid.
            MissingExtraError: The `postgres` extra is not installed.
        """
        storage = PostgresStorage(
            dsn, schema=schema, pool_size=pool_size, timeout=timeout, durability=durability
        )
        super().__init__(
            storage, counter=counter, cipher=cipher, checkpoints=checkpoints, clock=clock
        )
