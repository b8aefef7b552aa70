"""A script on a disk that fails, and what its caller was told."""

import asyncio
import shutil
from pathlib import Path

from msgspec import Struct, structs

from foldline.errors import StoreError
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.faults.failure import Failures, Trouble, failing
from tests.faults.scratch import scratch
from tests.threads.crashes.disk import DATABASE, look
from tests.threads.crashes.promise import Promise, broken_now, damage
from tests.threads.crashes.script import Script, Stage
from tests.threads.crashes.sight import Sights


_PATIENCE = 30.0


class Plan(Struct, frozen=True):
    """Which operations fail, and how."""

    trouble: Trouble
    number: int
    sticky: bool


class Outcome(Struct, frozen=True):
    """How a script fared."""

    failed: int
    error: str | None
    is_ahead: bool
    is_revived: bool
    broken: frozenset[str]


def killed(folder: Path) -> Sights:
    """
    Return what lies in the file in *folder* to anyone who opens it behind a kill at this moment.

    The file and its log outlive the process; the index of the log, which is rebuilt, does not.
    """
    with scratch() as top:
        for name in (DATABASE, f"{DATABASE}-wal"):
            if (folder / name).exists():
                shutil.copyfile(folder / name, top / name)
        return look(top)


def tried(script: Script, promise: Promise, folder: Path, plan: Plan) -> Outcome:
    """Run *script* in *folder* while the disk fails as planned; then heal it and look."""
    with failing() as failures:
        outcome = asyncio.run(_tried(script, promise, folder, failures, plan))
    return structs.replace(outcome, broken=outcome.broken | damage(folder))


async def _tried(
    script: Script, promise: Promise, folder: Path, failures: Failures, plan: Plan
) -> Outcome:
    store = script.store(folder)
    acks: list[str] = []
    error: StoreError | None = None
    is_revived = False
    failures.plan(plan.trouble, number=plan.number, sticky=plan.sticky)
    try:
        async with asyncio.timeout(_PATIENCE):
            try:
                await _played(script, store, folder, acks)
            except StoreError as caught:
                error = caught
            failures.heal()
            # Over half of a frame nobody can write while the disk stays full, so it may pass for a whole one.
            if error is not None and not (plan.sticky and plan.trouble is Trouble.SHORT):
                is_revived = promise.is_ahead(killed(folder).threads, acks)
            # A store that could not be opened is opened again; for an open one it does nothing.
            await store.open()
            is_ahead = promise.is_ahead(look(folder).threads, acks)
            broken = await broken_now(store, promise, folder, acks)
    finally:
        failures.heal()
        await store.close()
    name = None if error is None else type(error).__name__
    return Outcome(failures.failed, name, is_ahead, is_revived, frozenset(broken))


async def _played(script: Script, store: SQLiteStore, folder: Path, acks: list[str]) -> None:
    for act in script.acts:
        await store.open()
        await act(Stage(store, folder, acks.append))
        await store.close()
