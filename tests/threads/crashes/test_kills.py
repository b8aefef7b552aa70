"""
The process is killed at every file operation of every script.
"""

from collections import Counter

import pytest

from tests.faults.kill import Moment, endings
from tests.faults.scratch import scratch
from tests.faults.trace import Acked, Created, record
from tests.threads.crashes.promise import broken_after, broken_effects, promise_of
from tests.threads.crashes.script import Script
from tests.threads.crashes.scripts import SCRIPTS
from tests.threads.crashes.turns import LARGE, LATE_INTENT


_EACH = pytest.mark.parametrize("script", SCRIPTS, ids=str)

# Fewer operations than that mean that a script has lost commits or the harness its sight.
_FEWEST = 15


def _killed(script: Script, moment: Moment, step: int = 1) -> tuple[int, Counter[str]]:
    """
    Return how many cases there were, and how often each promise was broken.
    """
    promise = promise_of(script)
    broken: Counter[str] = Counter()
    cases = 0
    for ending in endings(script, moment=moment, prepare=script.prepare, step=step):
        broken.update(broken_after(script, promise, ending.folder, ending.acks))
        broken.update(broken_effects(ending.folder))
        cases += 1
    return cases, broken


def test_there_are_points_enough() -> None:
    """
    The scripts have 1,200 operations and more to be killed at.
    """
    points = 0
    for script in SCRIPTS:
        with scratch() as folder:
            script.prepare(folder)
            with record(folder) as trace:
                script(folder, trace.ack)
        points += sum(not isinstance(event, Acked | Created) for event in trace.events)

    assert points >= 1_200


@_EACH
def test_kills_break_no_promise(script: Script) -> None:
    """
    Killed before any write, flush, truncate or delete, a store shows one moment and works again.
    """
    cases, broken = _killed(script, Moment.BEFORE)

    assert broken == {}
    assert cases > _FEWEST


@_EACH
def test_torn_writes_break_no_promise(script: Script) -> None:
    """
    Killed in the middle of a write, a store shows one moment and works again.
    """
    cases, broken = _killed(script, Moment.TORN, step=3)

    assert broken == {}
    assert cases > _FEWEST // 3


def test_folding_the_log_back_breaks_no_promise() -> None:
    """
    Killed while SQLite folds its log back within a commit, a store shows one moment.
    """
    cases, broken = _killed(LARGE, Moment.BEFORE, step=600)

    assert broken == {}
    assert cases > 10


def test_late_intent_is_caught() -> None:
    """
    An agent that runs a tool before its intent is committed is caught.
    """
    _, broken = _killed(LATE_INTENT, Moment.BEFORE)

    assert set(broken) == {"no intent"}


@pytest.mark.long
@_EACH
@pytest.mark.parametrize("moment", Moment)
def test_every_kill_breaks_no_promise(script: Script, moment: Moment) -> None:
    """
    The same at every operation, both ways.
    """
    cases, broken = _killed(script, moment)

    assert broken == {}
    assert cases > _FEWEST


@pytest.mark.long
@pytest.mark.parametrize("moment", Moment)
def test_every_fold_of_the_log_breaks_no_promise(moment: Moment) -> None:
    """
    The same at many operations of a commit that folds the log back.
    """
    cases, broken = _killed(LARGE, moment, step=67)

    assert broken == {}
    assert cases > 50
