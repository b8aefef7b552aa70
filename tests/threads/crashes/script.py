"""Work on a store that acknowledges each commit, as a workload for the harness of faults."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, structs

from foldline.threads.storage import CheckpointRetention
from foldline.threads.stores.sqlite.file import Durability
from foldline.threads.stores.sqlite.log import WriteLog
from foldline.threads.stores.sqlite.store import SQLiteStorage, SQLiteStore
from tests.threads.crashes.disk import DATABASE


ONCE = "once"
"""How the ids of calls begin whose tools must never run twice."""

_EFFECTS = "effects.log"


class Stage(Struct, frozen=True):
    """Where an act takes place."""

    store: SQLiteStore
    folder: Path
    ack: Callable[[str], None]

    def run_tool(self, call_id: str) -> str:
        """Have the side effect of a call, and return its result."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        file = os.open(self.folder / _EFFECTS, flags)
        os.write(file, f"{call_id}\n".encode())
        os.close(file)
        return f"result-of-{call_id}"


Act: TypeAlias = Callable[[Stage], Awaitable[None]]
"""What is done between the opening and the closing of a store."""


def effects_in(folder: Path) -> list[str]:
    """Return the calls whose side effects took place, in order."""
    path = folder / _EFFECTS
    return path.read_text().split() if path.exists() else []


class Script(Struct, frozen=True, kw_only=True):
    """A workload: acts, each in an opening of the store of its own."""

    name: str
    acts: tuple[Act, ...]
    # At least so many operations. Lengths of texts and the last connection to be closed move the
    # number a little, hence no exact one.
    fewest: int = 0
    before: tuple[Act, ...] = ()
    found: Callable[[Path], None] | None = None
    checkpoints: CheckpointRetention = "latest"
    durability: Durability = "full"
    # The log is folded back after so many pages, where SQLite does not do it by itself.
    most_pages: int = 12

    def __str__(self) -> str:
        return self.name

    def store(self, folder: Path) -> SQLiteStore:
        """Return a new store on the file in *folder*, not opened yet."""
        path = folder / DATABASE
        store = SQLiteStore(path, durability=self.durability, checkpoints=self.checkpoints)
        storage = store.context.storage
        if isinstance(storage, SQLiteStorage) and storage.file.commits_in_place:
            log = WriteLog(storage.file.path, busy_timeout=10.0, most_pages=self.most_pages)
            storage.log = log
        return store

    def in_place(self) -> "Script":
        """Return the script on a store whose commits are made in place, between foldings of the log."""
        return structs.replace(self, name=f"{self.name}, in place", durability="relaxed")

    def prepare(self, folder: Path) -> None:
        """Leave in *folder* what the script finds."""
        if self.found is not None:
            self.found(folder)
        asyncio.run(self._play(folder, _unheard, self.before))

    def __call__(self, folder: Path, ack: Callable[[str], None]) -> None:
        """Work in *folder*."""
        asyncio.run(self._play(folder, ack, self.acts))

    async def _play(self, folder: Path, ack: Callable[[str], None], acts: tuple[Act, ...]) -> None:
        for act in acts:
            store = self.store(folder)
            async with store:
                await act(Stage(store, folder, ack))


def _unheard(text: str) -> None:
    pass
