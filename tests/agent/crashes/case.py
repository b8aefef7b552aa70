"""One case: lives that end one after the other, and a last one that finishes the work."""

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from random import Random
from typing import TypeAlias

from foldline.threads.storage import ThreadStorage
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.stores.sqlite.store import SQLiteStorage
from tests.agent.crashes.book import Book
from tests.agent.crashes.judge import (
    Model,
    broken_between,
    broken_in_the_end,
    model_of,
    sight_of,
    stored_late,
)
from tests.agent.crashes.life import Life
from tests.agent.crashes.play import live
from tests.agent.crashes.scene import Scene
from tests.faults.scratch import scratch
from tests.threads.clock import hasty


Ground: TypeAlias = Callable[[], ThreadStorage]
"""Gives a new storage object on what is stored."""

Grounds: TypeAlias = Callable[[], AbstractContextManager[Ground]]
"""Gives new ground for each case."""

_MOST = 400
_FAR = 10


@contextmanager
def in_memory() -> Generator[Ground, None, None]:
    """Give ground that no life takes along."""
    storage = MemoryStorage(clock=hasty)
    yield lambda: storage


@contextmanager
def in_file() -> Generator[Ground, None, None]:
    with scratch() as folder:
        # What a kill can take is not what a power cut can, so nothing has to be flushed.
        yield lambda: SQLiteStorage(folder / "talk.db", durability="relaxed", clock=hasty)


def _case(scene: Scene, model: Model, ground: Ground, ends: Sequence[int]) -> tuple[int, set[str]]:
    """Return how many of the lives that were to end at *ends* did, and what is broken."""
    book, broken, count = Book(), set[str](), 0
    for end in ends:
        life = Life(end=end)
        asyncio.run(live(scene, ground(), life, book))
        broken |= broken_between(model, asyncio.run(sight_of(scene, ground())))
        if life.last_moment is None:
            break
        count += 1
        book.write("end", life.last_moment.replace(" ", "_"), str(life.count))
    asyncio.run(live(scene, ground(), Life(), book))
    sight = asyncio.run(sight_of(scene, ground()))
    if isinstance(ground(), MemoryStorage):
        broken |= stored_late(book)
    return count, broken | broken_in_the_end(scene, model, sight, book)


def killed(scene: Scene, grounds: Grounds, *, step: int = 1) -> tuple[int, Counter[str]]:
    """End a life at every *step*-th moment; return how many ended, and what broke how often."""
    model, broken, count = model_of(scene), Counter[str](), 0
    for end in range(1, _MOST, step):
        with grounds() as ground:
            ended, found = _case(scene, model, ground, [end])
        broken.update(found)
        count += ended
        if not ended:
            break
    return count, broken


def killed_twice(scene: Scene, grounds: Grounds, *, step: int = 1) -> tuple[int, Counter[str]]:
    """End a life, and the one that resumes it; return how many pairs ended, and what broke."""
    model, broken, count = model_of(scene), Counter[str](), 0
    for first in range(1, _MOST, step):
        ended = 0
        for second in range(1 + first % step, _MOST, step):
            with grounds() as ground:
                ended, found = _case(scene, model, ground, [first, second])
            broken.update(found)
            count += ended == 2
            if ended < 2:
                break
        if not ended:
            break
    return count, broken


def killed_often(scene: Scene, grounds: Grounds, *, seeds: int) -> tuple[int, Counter[str]]:
    """End four lives of one run, one after the other, at moments that each seed draws."""
    model, broken, count = model_of(scene), Counter[str](), 0
    for seed in range(seeds):
        draw = Random(f"{scene.name} {seed}")
        ends = [draw.randint(1, _FAR) for _ in range(4)]
        with grounds() as ground:
            ended, found = _case(scene, model, ground, ends)
        broken.update(found)
        count += ended
    return count, broken
