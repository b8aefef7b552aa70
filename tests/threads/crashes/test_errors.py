"""The disk fails, or is full, at any operation of a script."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import product, takewhile
from pathlib import Path

import pytest

from foldline.errors import CommitUnknownError, StoreError
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from tests.depth import by_depth
from tests.faults.failure import Failures, Trouble, failing
from tests.faults.operation import Kind
from tests.faults.scratch import scratch
from tests.threads.crashes.batch import said
from tests.threads.crashes.changes import DELETE
from tests.threads.crashes.disk import DATABASE
from tests.threads.crashes.promise import Promise, promise_of
from tests.threads.crashes.script import Script
from tests.threads.crashes.scripts import IN_PLACE, SCRIPTS, each
from tests.threads.crashes.trouble import Outcome, Plan, killed, tried
from tests.threads.crashes.turns import SHARED


_MOST = 1_000
_STEP = by_depth(12, 5)
_TOLD = {"StoreError", "CommitUnknownError", "nothing"}


def _outcomes(script: Script, step: int, troubles: Sequence[Trouble]) -> Iterator[Outcome]:
    """Give how *script* fares where every *step*-th operation fails, in every way."""
    promise = promise_of(script)
    with scratch() as top:
        template = top / "template"
        template.mkdir()
        script.prepare(template)
        for place, (trouble, sticky) in enumerate(product(troubles, (False, True))):
            # Each way begins elsewhere, so that together they meet more operations.
            plans = (Plan(trouble, at, sticky) for at in range(1 + place % step, _MOST, step))
            found = (_outcome(script, promise, template, plan) for plan in plans)
            yield from takewhile(lambda outcome: outcome.failed, found)


def _outcome(script: Script, promise: Promise, template: Path, plan: Plan) -> Outcome:
    folder = template.with_name("case")
    shutil.copytree(template, folder)
    outcome = tried(script, promise, folder, plan)
    shutil.rmtree(folder)
    return outcome


def _summed(script: Script, outcomes: Iterable[Outcome]) -> tuple[Counter[str], Counter[str]]:
    """Return how often the caller was told what, and how often each promise was broken."""
    # A deletion stands even where the log could not be emptied behind it, and of tasks that are
    # cancelled, since one has failed, nobody hears.
    is_plain = script.name.removesuffix(", in place") not in (SHARED.name, DELETE.name)
    told: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    for outcome in outcomes:
        told[outcome.error or "nothing"] += 1
        broken.update(outcome.broken)
        is_denied = is_plain and outcome.error == "StoreError"
        broken["denied"] += is_denied and outcome.is_ahead
        broken["revived"] += is_denied and outcome.is_revived
    return told, broken


@pytest.mark.parametrize(
    ("step", "troubles"),
    [
        (_STEP, tuple(Trouble)),
        *(pytest.param(1, [trouble], marks=pytest.mark.long) for trouble in Trouble),
    ],
)
@each((*SCRIPTS, *IN_PLACE))
def test_failures_are_told(script: Script, step: int, troubles: Sequence[Trouble]) -> None:
    """
    Wherever the disk fails the caller gets a typed error, and the store works when it is well.
    """
    told, broken = _summed(script, _outcomes(script, step, troubles))

    assert +broken == {}
    assert set(told) <= _TOLD
    # Some of its operations in two ways and of its writes, nearly all of them, in four.
    assert told.total() >= script.fewest * (2 * len(troubles) - 1) // step - 5
    assert told["StoreError"] > told.total() / 8


@asynccontextmanager
async def _talking(folder: Path) -> AsyncGenerator[tuple[Failures, ConversationThread]]:
    """Yield a thread in a store, and what fails its disk on demand."""
    with failing() as failures:
        async with asyncio.timeout(60), SQLiteStore(folder / DATABASE) as store:
            yield failures, await store.thread("talk")


async def test_failure_behind_a_commit_does_not_deny_it(folder: Path) -> None:
    """Where a commit is made and SQLite then fails to fold its log back, it is acknowledged."""
    async with _talking(folder) as (failures, thread):
        # The first flush is the commit's own, the second begins the folding back.
        failures.plan(Trouble.IO, number=2, kinds={Kind.SYNC})
        await thread.add_messages(said("large", 2, padding=" oak" * 1_150_000))
        failures.heal()
        assert failures.failed == 1
        await thread.refresh()
        assert thread.count == 2


@pytest.mark.parametrize("is_sticky", [False, True])
async def test_a_denied_commit_is_not_found_behind_a_kill(folder: Path, is_sticky: bool) -> None:
    """
    Where a flush fails the commit is undone in the log too, or it is said that it may be there.
    """
    async with _talking(folder) as (failures, thread):
        await thread.add_messages(said("first", 1))
        failures.plan(Trouble.IO, sticky=is_sticky, kinds={Kind.SYNC})
        with pytest.raises(StoreError, match="SQLITE_IOERR_FSYNC") as caught:
            await thread.add_messages(said("second", 2))
        failures.heal()
        found = killed(folder)
        await thread.add_messages(said("third", 1))

    assert type(caught.value) is (CommitUnknownError if is_sticky else StoreError)
    assert is_sticky or len(found.threads["talk"].labels) == 1


async def test_a_rest_of_a_failed_commit_is_gone_before_the_next(folder: Path) -> None:
    """
    While a failed commit may still be in the log, none is denied; then it is written over first.
    """
    async with _talking(folder) as (failures, thread):
        await thread.add_messages(said("first", 1))
        for trouble, kind in ((Trouble.IO, Kind.SYNC), (Trouble.FULL, Kind.WRITE)):
            failures.plan(trouble, sticky=True, kinds={kind})
            with pytest.raises(CommitUnknownError, match="could not be undone"):
                await thread.add_messages(said("second", 2))
        failures.heal()
        await thread.add_messages(said("third", 1))
        failures.plan(Trouble.FULL, sticky=True)
        with pytest.raises(StoreError) as caught:
            await thread.add_messages(said("fourth", 1))
        failures.heal()
        assert type(caught.value) is StoreError
        assert len(killed(folder).threads["talk"].labels) == 2


@pytest.mark.parametrize("trouble", [Trouble.FULL, Trouble.SHORT])
async def test_a_full_disk_is_told_as_one(folder: Path, trouble: Trouble) -> None:
    """A commit for which there is no room was not made, and the error says why."""
    async with _talking(folder) as (failures, thread):
        failures.plan(trouble, sticky=True)
        with pytest.raises(StoreError, match="disk is full") as caught:
            await thread.add_messages(said("first", 1))
        failures.heal()

    assert type(caught.value) is StoreError
    assert "connection" not in str(caught.value)


async def test_foreign_failures_are_told(folder: Path) -> None:
    """A folder that is absent and a lock that cannot be opened end in an error, never in a wait."""
    (folder / f"{DATABASE}.lock").mkdir()
    for path in (folder / "absent" / DATABASE, folder / DATABASE, folder):
        with pytest.raises(StoreError):
            await asyncio.wait_for(SQLiteStore(path).open(), 60)
