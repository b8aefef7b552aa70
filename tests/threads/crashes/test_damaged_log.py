"""What kills and power cuts leave in the log is told from damage."""

from collections import Counter
from pathlib import Path

import pytest
from foldline.threads.stores.sqlite.frames import unread_commits
from msgspec import structs

from tests.faults.kill import Moment, endings
from tests.faults.power import cuts
from tests.faults.scratch import scratch
from tests.faults.trace import record
from tests.threads.crashes.changes import DELETE, MIGRATE, SEARCH
from tests.threads.crashes.disk import DATABASE
from tests.threads.crashes.script import Script
from tests.threads.crashes.turns import APPEND, FOLD, LARGE, PARALLEL, SHARED


def _told(folder: Path) -> str:
    unread = unread_commits(folder / f"{DATABASE}-wal")
    if unread is None:
        return "nothing"
    return "lost" if unread.is_lost else "one"


def _cut(script: Script, *, count: int) -> Counter[str]:
    with scratch() as folder:
        script.prepare(folder)
        with record(folder) as trace:
            script(folder, trace.ack)
    return Counter(_told(cut.folder) for cut in cuts(trace, count=count, seed=7_000))


@pytest.mark.parametrize("script", [APPEND, SHARED, PARALLEL, FOLD, DELETE, SEARCH], ids=str)
def test_a_power_cut_is_no_damage_where_every_commit_is_flushed(script: Script) -> None:
    """With full flushes a power cut leaves at most one commit behind a torn frame."""
    told = _cut(script, count=300)

    assert set(told) <= {"nothing", "one"}
    assert told["nothing"] > 200


def test_a_power_cut_of_the_relaxed_mode_is_told() -> None:
    """With relaxed flushes a power cut may leave several commits behind a torn frame."""
    assert _cut(structs.replace(FOLD, durability="relaxed"), count=300)["lost"] > 0


@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize(
    ("script", "step"), [(APPEND, 2), (DELETE, 3), (MIGRATE, 1), (LARGE, 600)], ids=str
)
def test_a_kill_is_no_damage(script: Script, step: int, moment: Moment) -> None:
    """Killed before or within any write, a process leaves nothing behind a torn frame."""
    found = endings(script, moment=moment, prepare=script.prepare, step=step)

    assert {_told(ending.folder) for ending in found} == {"nothing"}
