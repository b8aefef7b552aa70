"""
The store that needs nothing but a file.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from foldline.errors import ConfigError
from foldline.history.tokens import TokenCounter
from foldline.threads.checkpoint import CheckpointRetention
from foldline.threads.cipher import Cipher
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.file import Durability
from foldline.threads.stores.sqlite.storage import SQLiteStorage
from foldline.threads.stores.sqlite.words import IndexedSQLiteStorage, has_full_text


__all__ = ["SQLiteStore"]


class SQLiteStore(ThreadStore):
    """
    Threads in one SQLite file, shared by any number of tasks and processes of one machine.

    An open store serves every event loop of its process; a forked process opens one of its own.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        durability: Durability = "full",
        busy_timeout: float = 10.0,
        counter: TokenCounter | None = None,
        cipher: Cipher | None = None,
        checkpoints: CheckpointRetention = "latest",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """
        Use the file at *path*, which is made when it is first opened.

        Args:
            path: Where it lies; its folder must be there.
            durability: `full` flushes each commit to the disk, so that a power cut takes nothing.
                `relaxed` does not: a crash of the process takes nothing, a power cut may take the
                newest commits.
            busy_timeout: How many seconds a write waits for other processes.
            counter: What counts tokens; see `ThreadStore`.
            cipher: What encrypts; see `ThreadStore`.
            checkpoints: Which checkpoints are kept.
            clock: What tells the time, with a time zone.

        Raises:
            ConfigError: An argument is not allowed.
            StoreError: The path leads nowhere.
        """
        if durability not in {"full", "relaxed"}:
            message = f"durability={durability!r}: allowed are full, relaxed"
            raise ConfigError(message)
        if str(path) == ":memory:":
            message = "path=':memory:': a store in memory is a MemoryStore"
            raise ConfigError(message)
        if not busy_timeout > 0:
            message = f"busy_timeout={busy_timeout!r}: allowed is a number of seconds above 0"
            raise ConfigError(message)
        kind = IndexedSQLiteStorage if has_full_text() else SQLiteStorage
        super().__init__(
            kind(path, durability=durability, busy_timeout=busy_timeout),
            counter=counter,
            cipher=cipher,
            checkpoints=checkpoints,
            clock=clock,
        )
