"""The power goes at any moment of a script."""

from collections import Counter
from pathlib import Path

import pytest
from msgspec import structs

from foldline.errors import StoreError
from foldline.threads.stores.sqlite.identity import check_log
from tests.depth import by_depth
from tests.faults.power import cuts
from tests.faults.scratch import scratch
from tests.faults.trace import Trace, record
from tests.threads.crashes.changes import CREATE, EMPTY_FILE
from tests.threads.crashes.disk import DATABASE, look
from tests.threads.crashes.promise import broken_after, promise_of
from tests.threads.crashes.script import Script
from tests.threads.crashes.scripts import SCRIPTS, each
from tests.threads.crashes.turns import APPEND, FOLD, PLAIN


_CUT = [one for one in SCRIPTS if one not in (CREATE, EMPTY_FILE)]
_STATES, _RELAXED = by_depth(150, 500), by_depth(150, 300)

# So many of the states are also read and written through the store itself.
_SAMPLED = 20


def _traced(script: Script) -> Trace:
    with scratch() as folder:
        script.prepare(folder)
        with record(folder) as trace:
            script(folder, trace.ack)
    return trace


def _refused(folder: Path) -> set[str]:
    try:
        check_log(folder / DATABASE)
    except StoreError:
        return {"refused"}
    return set()


def _broken(script: Script, *, count: int, seed: int = 0) -> Counter[str]:
    """Return how often each promise was broken in *count* states."""
    promise = promise_of(script)
    broken: Counter[str] = Counter()
    states = 0
    for cut in cuts(_traced(script), count=count, seed=seed):
        refused = _refused(cut.folder)
        disk = look(cut.folder)
        found = refused | disk.broken | promise.broken(disk.threads, cut.acks)
        if cut.seed % _SAMPLED == 0:
            found |= broken_after(script, promise, cut.folder, cut.acks)
        broken.update(found)
        states += 1
    assert states == count
    return broken


@each(_CUT)
def test_power_cuts_lose_nothing(script: Script) -> None:
    """With full flushes no power cut takes an acknowledged commit, or shows a part of one."""
    assert _broken(script, count=_STATES) == {}


@pytest.mark.parametrize("most_pages", [12, 10_000])
@each([APPEND, PLAIN, FOLD])
def test_relaxed_power_cuts_lose_the_end(script: Script, most_pages: int) -> None:
    """
    With relaxed flushes power cuts take acknowledged commits: whole ones, from the end.

    That holds also where the log is folded back again and again.
    """
    broken = _broken(structs.replace(script.in_place(), most_pages=most_pages), count=_RELAXED)

    assert set(broken) == {"lost"}
    assert broken["lost"] >= _RELAXED // (10 if most_pages > 12 else 50)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1_000_000, 2_000_000, 3_000_000])
@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_many_power_cuts_lose_nothing(script: Script, seed: int) -> None:
    """The same in many more states."""
    assert _broken(script, count=1_250, seed=seed) == {}
