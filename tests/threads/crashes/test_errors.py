"""
The disk fails, or is full, at any operation of a script.
"""

import asyncio
import shutil
from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from foldline.errors import StoreError
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.faults.failure import Trouble, failing
from tests.faults.operation import Kind
from tests.faults.scratch import scratch
from tests.threads.crashes.batch import said
from tests.threads.crashes.disk import DATABASE
from tests.threads.crashes.promise import promise_of
from tests.threads.crashes.script import Script
from tests.threads.crashes.scripts import SCRIPTS
from tests.threads.crashes.trouble import Plan, tried


_EACH = pytest.mark.parametrize("script", SCRIPTS, ids=str)
_MOST = 1_000


def _troubled(
    script: Script, *, step: int, troubles: Sequence[Trouble] = tuple(Trouble)
) -> tuple[int, Counter[str], Counter[str]]:
    """
    Fail every *step*-th operation in every way; return the cases, what was told, what was broken.
    """
    promise = promise_of(script)
    told: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    cases = 0
    with scratch() as top:
        template, folder = top / "template", top / "case"
        template.mkdir()
        script.prepare(template)
        for place, (trouble, sticky) in enumerate(product(troubles, (False, True))):
            # Each way begins elsewhere, so that together they meet more operations.
            for number in range(1 + place % step, _MOST, step):
                shutil.copytree(template, folder)
                outcome = tried(script, promise, folder, Plan(trouble, number, sticky))
                shutil.rmtree(folder)
                if not outcome.failed:
                    break
                cases += 1
                told[outcome.error or "nothing"] += 1
                broken.update(outcome.broken)
    return cases, told, broken


@_EACH
def test_failures_are_told(script: Script) -> None:
    """
    Wherever the disk fails the caller gets a typed error, and the store works when it is well.
    """
    cases, told, broken = _troubled(script, step=5)

    assert broken == {}
    assert set(told) <= {"StoreError", "CommitUnknownError", "nothing"}
    assert cases >= 25
    assert told["StoreError"] > cases / 5


def test_failure_behind_a_commit_does_not_deny_it(folder: Path) -> None:
    """
    Where a commit is made and SQLite then fails to fold its log back, it is acknowledged.
    """

    async def commit() -> tuple[int, int]:
        async with asyncio.timeout(30), SQLiteStore(folder / DATABASE) as store:
            thread = await store.thread("talk")
            # The first flush is the commit's own, the second begins the folding back.
            failures.plan(Trouble.IO, number=2, kinds={Kind.SYNC})
            await thread.add_messages(said("large", 2, padding=" oak" * 1_150_000))
            failures.heal()
            again = await store.thread("talk")
            return failures.failed, again.count

    with failing() as failures:
        assert asyncio.run(commit()) == (1, 2)


def test_foreign_failures_are_told(folder: Path) -> None:
    """
    A folder that is absent and a lock that cannot be opened end in an error, never in a wait.
    """

    async def open_at(path: Path) -> None:
        async with asyncio.timeout(10), SQLiteStore(path):
            pass

    (folder / f"{DATABASE}.lock").mkdir()
    for path in (folder / "absent" / DATABASE, folder / DATABASE, folder):
        with pytest.raises(StoreError):
            asyncio.run(open_at(path))


@pytest.mark.long
@pytest.mark.parametrize("trouble", Trouble)
@_EACH
def test_every_failure_is_told(script: Script, trouble: Trouble) -> None:
    """
    The same at every operation.
    """
    cases, told, broken = _troubled(script, step=1, troubles=(trouble,))

    assert broken == {}
    assert set(told) <= {"StoreError", "CommitUnknownError", "nothing"}
    assert cases >= 60
