"""The process is killed at every file operation of every script."""

from collections import Counter

import pytest

from tests.depth import by_depth
from tests.faults.kill import Moment, endings
from tests.threads.crashes.promise import broken_after, broken_effects, promise_of
from tests.threads.crashes.script import Script
from tests.threads.crashes.scripts import IN_PLACE, SCRIPTS, each
from tests.threads.crashes.turns import LARGE, LATE_INTENT


# Nearly all operations are writes, and some of them are torn.
_STEP, _TORN_STEP = by_depth(3, 1), by_depth(8, 3)


def _killed(script: Script, moment: Moment, step: int = _STEP) -> tuple[int, Counter[str]]:
    """
    Return how often the process was killed, and how often each promise was broken.

    The last ending is that of a run which was to be killed after its end: no operation is left out.
    """
    promise = promise_of(script)
    broken: Counter[str] = Counter()
    kills = 0
    for ending in endings(script, moment=moment, prepare=script.prepare, step=step):
        broken.update(broken_after(script, promise, ending.folder, ending.acks))
        broken.update(broken_effects(ending.folder))
        kills += ending.killed
    return kills, broken


def _fewest(script: Script) -> int:
    # In place there are fewer flushes.
    return script.fewest if script.durability == "full" else script.fewest // 2


@each((*SCRIPTS, *IN_PLACE))
def test_kills_break_no_promise(script: Script) -> None:
    """
    Killed before any write, flush, truncate or delete, a store shows one moment and works again.
    """
    kills, broken = _killed(script, Moment.BEFORE)

    assert broken == {}
    assert kills >= _fewest(script) // _STEP
    # In depth, what is asked of all scripts makes 1,200 kills, before writes and within.
    assert sum(one.fewest for one in SCRIPTS) * 5 // 4 >= 1_200


@pytest.mark.parametrize("step", [_TORN_STEP, pytest.param(1, marks=pytest.mark.long)])
@each((*SCRIPTS, *IN_PLACE))
def test_torn_writes_break_no_promise(script: Script, step: int) -> None:
    """Killed in the middle of a write, a store shows one moment and works again."""
    kills, broken = _killed(script, Moment.TORN, step)

    assert broken == {}
    assert kills >= _fewest(script) // 2 // step


@pytest.mark.parametrize(
    ("moment", "step"),
    [
        pytest.param(Moment.BEFORE, 600, marks=pytest.mark.slow),
        *(pytest.param(moment, 67, marks=pytest.mark.long) for moment in Moment),
    ],
)
def test_folding_the_log_back_breaks_no_promise(moment: Moment, step: int) -> None:
    """Killed while SQLite folds its log back within a commit, a store shows one moment."""
    kills, broken = _killed(LARGE, moment, step)

    assert broken == {}
    assert kills > 3_350 // step


def test_late_intent_is_caught() -> None:
    """An agent that runs a tool before its intent is committed is caught."""
    _, broken = _killed(LATE_INTENT, Moment.BEFORE, 3)

    assert set(broken) == {"no intent"}
