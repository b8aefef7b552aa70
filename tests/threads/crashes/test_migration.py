"""A migration of a SQLite file that is killed, whatever it is doing."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from foldline.threads.verify import verify_store
from tests.faults.kill import Moment, endings
from tests.threads.stores.recorded import SQLITE, Json, expected, materialize_sqlite, open_store
from tests.threads.stores.recorded_answers import answers, comparable


async def _answered(name: str, path: Path) -> tuple[dict[str, Json], list[str]]:
    """Return what the recording *name* at *path* answers, and what is damaged in it."""
    async with open_store(name, path) as store:
        faults = [fault async for one in verify_store(store) for fault in one.faults]
        return await answers(store), faults


@pytest.mark.parametrize(
    ("name", "moment", "step"),
    [
        ("sqlite-3", Moment.BEFORE, 60),
        *(
            pytest.param(one, moment, 5, marks=pytest.mark.slow)
            for one in SQLITE
            for moment in Moment
        ),
    ],
)
def test_a_killed_migration_resumes(name: str, step: int, moment: Moment, tmp_path: Path) -> None:
    """
    Killed at any file operation of a migration, the file is migrated by the next opening.

    It then answers as the program that wrote it did, and nothing in it is damaged.
    """
    path = tmp_path / "old.db"
    materialize_sqlite(name, path)
    wanted, kills = comparable(expected(name)["answers"]), 0

    def prepare(folder: Path) -> None:
        shutil.copy(path, folder / "a.db")

    def migrate(folder: Path, ack: Callable[[str], None]) -> None:
        async def live() -> None:
            async with open_store(name, folder / "a.db"):
                ack("migrated")

        asyncio.run(live())

    for ending in endings(migrate, moment=moment, prepare=prepare, step=step):
        found, faults = asyncio.run(_answered(name, ending.folder / "a.db"))
        assert comparable(found) == wanted, ending.operation
        assert faults == [], ending.operation
        kills += ending.killed and not ending.acks

    assert kills >= 120 // step
