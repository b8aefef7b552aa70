"""The store that needs nothing but a file."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, get_args

from foldline.checks import expect_seconds
from foldline.errors import ConfigError, StoreError
from foldline.history.tokens import TokenCounter
from foldline.threads.checkpoint import CheckpointRetention
from foldline.threads.cipher import Cipher
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.file import Durability
from foldline.threads.stores.sqlite.words import IndexedSQLiteStorage


__all__ = ["SQLiteStore"]


# SQLite counts milliseconds in 32 bits; behind them it does not wait at all.
_LONGEST: Final = 2_147_483


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
            busy_timeout: How many seconds a write waits for other processes; up to 2,147,483.
            counter: What counts tokens; see `ThreadStore`.
            cipher: What encrypts; see `ThreadStore`.
            checkpoints: Which checkpoints are kept.
            clock: What tells the time, with a time zone.

        Raises:
            ConfigError: An argument is not allowed.
            StoreError: The path leads nowhere, or to a folder.
        """
        place = _file_at(path)
        if durability not in get_args(Durability):
            message = f"durability={durability!r}: allowed are full, relaxed"
            raise ConfigError(message)
        expect_seconds("busy_timeout", busy_timeout, most=_LONGEST)
        super().__init__(
            IndexedSQLiteStorage(place, durability=durability, busy_timeout=busy_timeout),
            counter=counter,
            cipher=cipher,
            checkpoints=checkpoints,
            clock=clock,
        )


def _file_at(path: str | Path) -> Path:
    """
    Return *path* as one, where a file can be.

    Raises:
        ConfigError: It names none.
        StoreError: A folder is there.
    """
    try:
        place = Path(path)
    except TypeError:
        message = f"path is a {type(path).__name__}: allowed is a text or a Path"
        raise ConfigError(message) from None
    if str(path) == ":memory:":
        message = "path=':memory:': a store in memory is a MemoryStore"
        raise ConfigError(message)
    if not str(path):
        message = "path is empty: name the file of the store"
        raise ConfigError(message)
    if _is_folder(place):
        # Before a lock file is made beside it.
        message = f"{str(path)!r} is a folder: name the file of the store in it"
        raise StoreError(message)
    return place


def _is_folder(place: Path) -> bool:
    try:
        return place.is_dir()
    except OSError:
        # What cannot be looked at now is told of where it is opened.
        return False
