"""The process is killed again while somebody goes on behind a kill."""

import shutil
from collections import Counter

import pytest

from tests.depth import by_depth
from tests.faults.kill import Moment, endings, run
from tests.threads.crashes.changes import CREATE, DELETE, MIGRATE, REWIND
from tests.threads.crashes.promise import broken_after, broken_effects, promise_of
from tests.threads.crashes.script import Script
from tests.threads.crashes.scripts import SCRIPTS, each
from tests.threads.crashes.turns import (
    APPEND,
    CHECKPOINTS,
    FOLD,
    PARALLEL,
    PLAIN,
    RESUME,
    SEQUENTIAL,
    appending,
    resume,
)


_APPEND_AGAIN = Script(name="append again", acts=(appending(("recovered", 2)),))
_RESUME_AGAIN = Script(name="resume again", acts=(resume,))
_MOST = 200
_SAMPLE = by_depth(3, 1)

# How often a script and what goes on after it are killed at least.
_TOOLS = {SEQUENTIAL: 25, PARALLEL: 25, RESUME: 30}
_PLAIN = {APPEND: 30, FOLD: 10, REWIND: 8, DELETE: 35, CREATE: 20, MIGRATE: 20}

# What leaves a run open that has no tools: only a resume continues with it.
_OPEN = (PLAIN, CHECKPOINTS)


def _killed_twice(
    first: Script,
    second: Script,
    *,
    step: int,
    sample: int = _SAMPLE,
    moment: Moment = Moment.BEFORE,
) -> tuple[int, Counter[str]]:
    """Kill *first*, then *second* on what is left; return how often both, and what was broken."""
    every = step * sample
    broken: Counter[str] = Counter()
    cases = 0
    for ending in endings(first, prepare=first.prepare, step=every, moment=moment):
        promise = promise_of(second, found=ending.folder)
        for number in range(1, _MOST, step):
            folder = ending.folder.with_name(f"{ending.number}-again")
            shutil.copytree(ending.folder, folder)
            again = run(second, folder, number=number, moment=moment)
            broken.update(broken_after(second, promise, folder, again.acks))
            broken.update(broken_effects(folder))
            shutil.rmtree(folder)
            if not again.killed:
                break
            cases += ending.killed
    return cases, broken


@each(_PLAIN)
def test_recovery_may_be_killed(script: Script) -> None:
    """Killed while it opens and goes on after a kill, a store shows one moment and works again."""
    cases, broken = _killed_twice(script, _APPEND_AGAIN, step=10)

    assert broken == {}
    assert cases >= _PLAIN[script] // (_SAMPLE + 1)


@each(_TOOLS)
def test_resume_may_be_killed(script: Script) -> None:
    """
    A run whose resume is killed too has used no tool twice, and none without a committed intent.
    """
    cases, broken = _killed_twice(script, _RESUME_AGAIN, step=7)

    assert broken == {}
    assert cases >= _TOOLS[script] // (_SAMPLE + 1)


@pytest.mark.long
@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("script", [one for one in SCRIPTS if one not in _OPEN], ids=str)
def test_every_continuation_may_be_killed(script: Script, moment: Moment) -> None:
    """The same after kills of every script, both ways."""
    second, step = (_RESUME_AGAIN, 2) if script in _TOOLS else (_APPEND_AGAIN, 3)
    cases, broken = _killed_twice(script, second, step=step, sample=1, moment=moment)

    assert broken == {}
    assert cases >= (150 if script in _TOOLS else 15)
