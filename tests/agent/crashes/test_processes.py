"""Processes with an agent in them are killed at file operations of their store."""

import asyncio
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from foldline.threads.stores.sqlite.store import SQLiteStorage
from tests.agent.crashes.book import Book
from tests.agent.crashes.judge import (
    Model,
    broken_between,
    broken_in_the_end,
    model_of,
    sight_of,
)
from tests.agent.crashes.life import Life
from tests.agent.crashes.play import live, play, store_on
from tests.agent.crashes.scene import Scene
from tests.agent.crashes.scenes import AT_ONCE, ONE_BY_ONE, SIGNED, WATCHED, WITH_FOLD, mostly_slow
from tests.faults.kill import Ending, Moment, Workload, endings, run
from tests.faults.vfs import why_unhookable
from tests.threads.clock import hasty


_FILE = "talk.db"
_BOOK = "book"
_MOST = 300

# So many writes, flushes, truncates and deletes it takes at least; lengths of texts move them.
_FEWEST = {AT_ONCE: 60, ONE_BY_ONE: 60, WITH_FOLD: 60, WATCHED: 60}
_ONE = pytest.mark.parametrize("scene", mostly_slow(_FEWEST, AT_ONCE), ids=str)


@pytest.fixture(autouse=True)
def _hookable() -> None:
    reason = why_unhookable()
    if reason is not None:
        pytest.skip(reason)


def _agent(scene: Scene) -> Workload:
    """Return the process that plays *scene*, from wherever the file stands."""

    def work(folder: Path, ack: Callable[[str], None]) -> None:
        store = store_on(scene, SQLiteStorage(folder / _FILE, clock=hasty))
        asyncio.run(play(scene, store, Life(), Book(folder / _BOOK), told=ack))

    return work


def _broken(scene: Scene, model: Model, folder: Path, acks: tuple[str, ...]) -> set[str]:
    """Return what is broken in *folder* before and behind a resume."""
    book = Book(folder / _BOOK)
    book.write("end", "killed", "0")
    with closing(sqlite3.connect(folder / _FILE)) as connection:
        is_sound = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    found = set() if is_sound else {"damaged"}
    known = max(map(int, acks), default=0)
    sight = asyncio.run(sight_of(scene, _storage(folder)))
    found |= broken_between(model, sight, acknowledged=known)
    asyncio.run(live(scene, _storage(folder), Life(), book))
    sight = asyncio.run(sight_of(scene, _storage(folder)))
    return found | broken_in_the_end(scene, model, sight, book)


def _storage(folder: Path) -> SQLiteStorage:
    return SQLiteStorage(folder / _FILE, durability="relaxed", clock=hasty)


def _killed(scene: Scene, moment: Moment, *, step: int = 1) -> tuple[int, Counter[str]]:
    model, broken, count = model_of(scene), Counter[str](), 0
    for ending in endings(_agent(scene), moment=moment, step=step):
        broken.update(_broken(scene, model, ending.folder, ending.acks))
        count += ending.killed
    return count, broken


def _killed_twice(scene: Scene, *, step: int) -> tuple[int, Counter[str]]:
    model, broken, count = model_of(scene), Counter[str](), 0
    for first in endings(_agent(scene), step=step):
        for second in _again(scene, first, step):
            acks = (*first.acks, *second.acks)
            broken.update(_broken(scene, model, second.folder, acks))
            count += first.killed and second.killed
    return count, broken


def _again(scene: Scene, first: Ending, step: int) -> Iterator[Ending]:
    for number in range(1, _MOST, step):
        folder = first.folder.with_name(f"{first.number}-again")
        shutil.copytree(first.folder, folder)
        Book(folder / _BOOK).write("end", "killed", "0")
        ending = run(_agent(scene), folder, number=number)
        yield ending
        shutil.rmtree(folder)
        if not ending.killed:
            return


@_ONE
def test_a_kill_breaks_no_promise(scene: Scene) -> None:
    """Killed before a write, flush, truncate or delete, an agent is resumed by a new process."""
    count, broken = _killed(scene, Moment.BEFORE, step=6)

    assert broken == {}
    assert count >= _FEWEST[scene] // 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scene", "step", "fewest"),
    [
        (AT_ONCE, 17, 10),
        *(pytest.param(scene, 5, 100, marks=pytest.mark.long) for scene in _FEWEST),
    ],
    ids=str,
)
def test_a_resumed_agent_may_be_killed(scene: Scene, step: int, fewest: int) -> None:
    """The same where the process that resumes is killed too."""
    count, broken = _killed_twice(scene, step=step)

    assert broken == {}
    assert count >= fewest


@pytest.mark.long
@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("scene", [*_FEWEST, SIGNED], ids=str)
def test_every_kill_breaks_no_promise(scene: Scene, moment: Moment) -> None:
    """The same at every operation, before it and within it."""
    count, broken = _killed(scene, moment)

    assert broken == {}
    assert count >= 30
