"""The store or the model fails at a moment of a turn, and the process lives on."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

import pytest

from foldline.errors import CommitUnknownError, FoldlineError, ModelError, StoreError
from tests.agent.crashes.book import Book
from tests.agent.crashes.case import Ground, in_memory
from tests.agent.crashes.judge import Model, broken_between, broken_in_the_end, model_of, sight_of
from tests.agent.crashes.life import Life, MortalStorage
from tests.agent.crashes.play import (
    NAME,
    go_on,
    note_what_is_found,
    store_on,
    tool_threads_ended,
)
from tests.agent.crashes.scene import Scene, agent_of, old_messages
from tests.agent.crashes.scenes import ALL, AT_ONCE, PLAIN, WITH_FOLD, mostly_slow


_MOST = 200

_FAILURES: Mapping[str, Callable[[], FoldlineError]] = MappingProxyType(
    {
        "before a commit": lambda: StoreError("the disk failed"),
        "after a commit": lambda: CommitUnknownError("the connection broke"),
        "before an answer": lambda: ModelError("the vendor failed"),
        "behind an answer": lambda: ModelError("the connection broke"),
    }
)


class _Failing:
    """Lets the moment number *at* of those that can fail do so."""

    def __init__(self, at: int) -> None:
        self._left = at
        self.name = ""

    @property
    def has_failed(self) -> bool:
        return self._left <= 0

    async def __call__(self, _: int, name: str) -> None:
        if name in _FAILURES:
            self._left -= 1
            if not self._left:
                self.name = name.replace(" ", "_")
                error = _FAILURES[name]()
                raise error


async def _case(scene: Scene, model: Model, ground: Ground, at: int) -> tuple[bool, set[str]]:
    """Return whether something failed, and what is broken behind that and in the end."""
    failing, book, broken = _Failing(at), Book(), set[str]()
    async with store_on(scene, ground()) as store:
        await (await store.thread(NAME)).add_messages(old_messages(scene))
    life = Life(meet=failing)
    async with store_on(scene, MortalStorage(ground(), life)) as store:
        thread = await store.thread(NAME)
        agent = agent_of(scene, life, book)
        try:
            await go_on(scene, agent, thread)
        except (ModelError, StoreError):
            broken |= broken_between(model, await sight_of(scene, ground()))
            book.write("end", failing.name, "0")
            await note_what_is_found(thread, book)
        await go_on(scene, agent, thread)
    await tool_threads_ended()
    sight = await sight_of(scene, ground())
    return failing.has_failed, broken | broken_in_the_end(scene, model, sight, book)


@pytest.mark.parametrize(
    "scene",
    mostly_slow([one for one in ALL if not one.folds_ahead], PLAIN, AT_ONCE, WITH_FOLD),
    ids=str,
)
def test_a_turn_that_failed_goes_on(scene: Scene) -> None:
    """If a commit or the model fails, the same thread object continues the same turn."""
    model, broken, count = model_of(scene), Counter[str](), 0
    for at in range(1, _MOST):
        with in_memory() as ground:
            has_failed, found = asyncio.run(_case(scene, model, ground, at))
        broken.update(found)
        if not has_failed:
            break
        count += 1

    assert broken == {}
    assert count >= 12
