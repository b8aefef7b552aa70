"""The store that needs nothing but a file."""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, get_args

from foldline.checks import expect, expect_choice, expect_seconds
from foldline.errors import ConfigError, StoreError
from foldline.history.tokens import TokenCounter
from foldline.threads.cipher import Cipher
from foldline.threads.storage import CheckpointRetention
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.file import Durability
from foldline.threads.stores.sqlite.storage import SQLiteStorage


__all__ = ["SQLiteStore"]


# SQLite counts milliseconds in 32 bits; beyond them it does not wait at all.
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
        Use the file at *path*, which is made when it is first opened; see `ThreadStore` for the rest.

        Args:
            path: The path; its folder must exist.
            durability: `full` flushes each commit to the disk, so that a power cut loses nothing.
                `relaxed` does not: a crash of the process loses nothing, a power cut may lose the
                newest commits.
            busy_timeout: How many seconds a write waits for other processes; up to 2,147,483.
            counter: Counts tokens.
            cipher: Encrypts what is stored.
            checkpoints: Which checkpoints are kept.
            clock: Returns the time, with a time zone.

        Raises:
            ConfigError: An argument is invalid.
            StoreError: The path cannot be resolved, or is a folder.
        """
        place = _file_at(path)
        expect_choice("durability", durability, get_args(Durability))
        expect_seconds("busy_timeout", busy_timeout, most=_LONGEST)
        super().__init__(
            SQLiteStorage(place, durability=durability, busy_timeout=busy_timeout),
            counter=counter,
            cipher=cipher,
            checkpoints=checkpoints,
            clock=clock,
        )


def _file_at(path: str | Path) -> Path:
    expect("path", path, str | Path)
    if str(path) == ":memory:":
        message = "path=':memory:': use a MemoryStore to keep threads in memory"
        raise ConfigError(message)
    if not str(path):
        message = "path is empty: name the file of the store"
        raise ConfigError(message)
    if os.path.isdir(path):  # noqa: PTH112 - a path that cannot be looked at raises when it is opened
        # Before a lock file is made beside it.
        message = f"{str(path)!r} is a folder: name the file of the store in it"
        raise StoreError(message)
    return Path(path)
