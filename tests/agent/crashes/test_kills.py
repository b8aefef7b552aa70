"""The process of an agent ends at every moment of a turn: at each commit, and between them."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from _pytest.mark import ParameterSet

from foldline.agent.agent import Agent
from foldline.agent.tools import ToolContext, tool
from foldline.testing.model import ScriptedModel, calls
from tests.agent.crashes.case import Grounds, in_file, in_memory, killed, killed_often, killed_twice
from tests.agent.crashes.scene import Scene
from tests.agent.crashes.scenes import (
    AHEAD,
    ALL,
    ARCHIVED,
    AT_ONCE,
    COUNTED_ANEW,
    HALTED,
    MID_TURN,
    ONE_BY_ONE,
    OVERFLOWING,
    PLAIN,
    QUITTING,
    SIGNED,
    WATCHED,
    WITH_FOLD,
    mostly_slow,
)


_CORE = pytest.mark.parametrize("scene", mostly_slow(ALL, PLAIN, AT_ONCE, WITH_FOLD), ids=str)
_ONE = pytest.mark.parametrize("scene", mostly_slow(ALL, AT_ONCE), ids=str)

_FEWEST: Mapping[Scene, int] = MappingProxyType(
    {
        PLAIN: 14,
        ONE_BY_ONE: 34,
        AT_ONCE: 30,
        COUNTED_ANEW: 36,
        WITH_FOLD: 36,
        ARCHIVED: 52,
        HALTED: 38,
        AHEAD: 40,
        WATCHED: 34,
        SIGNED: 28,
        QUITTING: 28,
        OVERFLOWING: 30,
        MID_TURN: 30,
    }
)
"""How many moments a scene has: fewer mean that it has lost commits, or the harness its sight."""


def _long(depth: int) -> list[ParameterSet]:
    return [pytest.param(one, depth, marks=pytest.mark.long) for one in (in_memory, in_file)]


@_CORE
def test_an_end_breaks_no_promise(scene: Scene) -> None:
    """Wherever a process ends, its run is resumed: nothing is lost, doubled or done twice."""
    count, broken = killed(scene, in_memory)

    assert broken == {}
    assert count >= _FEWEST[scene]


@_ONE
@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.long)])
def test_an_end_breaks_no_promise_in_a_file(scene: Scene, step: int) -> None:
    """The same at every moment, or every other, on a file with a new store for each process."""
    count, broken = killed(scene, in_file, step=step)

    assert broken == {}
    assert count >= _FEWEST[scene] // step


@_ONE
@pytest.mark.parametrize(("grounds", "step"), [(in_memory, 5), *_long(1)])
def test_a_second_end_breaks_no_promise(scene: Scene, grounds: Grounds, step: int) -> None:
    """The same where the process that resumes ends too."""
    count, broken = killed_twice(scene, grounds, step=step)

    assert broken == {}
    assert count >= (_FEWEST[scene] // 3 if step > 1 else _FEWEST[scene] ** 2 // 4)


@_ONE
@pytest.mark.parametrize(("grounds", "seeds"), [(in_memory, 8), *_long(200)])
def test_any_number_of_ends_breaks_no_promise(scene: Scene, grounds: Grounds, seeds: int) -> None:
    """The same where four processes end, the one behind the other."""
    count, broken = killed_often(scene, grounds, seeds=seeds)

    assert broken == {}
    assert count >= seeds


def test_the_same_call_has_another_key_in_each_iteration() -> None:
    """A call with the id and the arguments of an earlier one is another call to its tool."""
    keys: list[str] = []

    @tool
    def note(context: ToolContext) -> str:
        keys.append(context.idempotency_key)
        return "noted"

    asked = calls(("note", {}), first=0)
    agent = Agent(ScriptedModel([asked, asked, "done"]), tools=[note])
    result = asyncio.run(agent.run("note it twice"))

    assert result.is_complete
    assert len(keys) == len(set(keys)) == 2
