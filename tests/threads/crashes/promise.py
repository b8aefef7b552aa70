"""What a script promises, moment by moment, and whether it was kept."""

import asyncio
import shutil
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from foldline.errors import FoldlineError
from foldline.threads.store import ThreadStore
from tests.faults.scratch import scratch
from tests.threads.crashes.disk import DATABASE, look
from tests.threads.crashes.face import face_of, writable
from tests.threads.crashes.script import ONCE, Script, effects_in
from tests.threads.crashes.sight import ThreadSight


class Promise(Struct, frozen=True):
    """Each thread of a script as it is behind each of its commits."""

    moments: Mapping[str, Sequence[ThreadSight | None]]

    def broken(
        self, threads: Mapping[str, ThreadSight], acks: Sequence[str], *, relaxed: bool = False
    ) -> set[str]:
        """
        Return what is wrong with *threads* where the commits in *acks* were acknowledged.

        Each thread has to stand at its last acknowledged commit or at the one that was under way;
        with *relaxed*, at an earlier one that was `lost`.
        """
        counts = Counter(acks)
        found: set[str] = set()
        for name, moments in self.moments.items():
            sight, done = threads.get(name), counts[name]
            if sight in moments[done : done + 2]:
                continue
            found.add("lost" if sight in moments[:done] else "mixed")
        if not threads.keys() <= self.moments.keys():
            found.add("unknown thread")
        return found

    def is_ahead(self, threads: Mapping[str, ThreadSight], acks: Sequence[str]) -> bool:
        """Whether *threads* show a commit that is not in *acks*."""
        counts = Counter(acks)
        return any(threads.get(one) != self.moments[one][counts[one]] for one in self.moments)


def promise_of(script: Script, *, found: Path | None = None) -> Promise:
    """
    Return what *script* promises, as it is when nothing goes wrong.

    Args:
        script: What is done.
        found: The folder that it continues with, instead of what it prepares itself; a copy is used.
    """
    with scratch() as top:
        folder = top / "work"
        if found is None:
            folder.mkdir()
            script.prepare(folder)
        else:
            shutil.copytree(found, folder)
        before = look(folder).threads
        moments: dict[str, list[ThreadSight | None]] = {name: [one] for name, one in before.items()}

        def note(name: str) -> None:
            disk = look(folder)
            assert not disk.broken
            moments.setdefault(name, [None]).append(disk.threads.get(name))

        script(folder, note)
        end = look(folder)
    assert not end.broken
    assert end.threads == {name: one[-1] for name, one in moments.items() if one[-1] is not None}
    return Promise(moments)


def broken_after(script: Script, promise: Promise, folder: Path, acks: Sequence[str]) -> set[str]:
    """Return the promises that are broken in *folder* to somebody who opens the store as it is."""
    try:
        return asyncio.run(_broken_after(script, promise, folder, acks))
    except FoldlineError as error:
        return {type(error).__name__}


async def _broken_after(
    script: Script, promise: Promise, folder: Path, acks: Sequence[str]
) -> set[str]:
    async with script.store(folder) as store:
        broken = await broken_now(store, promise, folder, acks)
    return broken | damage(folder)


async def broken_now(
    store: ThreadStore, promise: Promise, folder: Path, acks: Sequence[str]
) -> set[str]:
    """
    Return the promises that the open *store* breaks, to anyone who reads it, its file, or writes.
    """
    face = await face_of(store)
    disk = look(folder)
    broken = promise.broken(face.threads, acks) | face.broken | disk.broken
    if disk.threads != face.threads:
        broken.add("face and disk apart")
    if not await writable(store):
        broken.add("not writable")
    return broken


def damage(folder: Path) -> set[str]:
    """Return `damaged` where SQLite finds fault with the file in *folder*."""
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        is_sound = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return set() if is_sound else {"damaged"}


def broken_effects(folder: Path) -> set[str]:
    """Return what is wrong with the side effects of tools, given what the store knows of them."""
    threads = look(folder).threads
    effects = Counter(effects_in(folder))
    intents = {call for sight in threads.values() for call, _ in sight.tools}
    answered = {call for sight in threads.values() for call in sight.answered}
    finished = {call for sight in threads.values() for call, result in sight.tools if result}
    found = {
        "done twice": any(effects[one] > 1 for one in effects if one.startswith(ONCE)),
        "no intent": not set(effects) <= intents | answered,
        "no effect": not _really_done(finished, threads) <= set(effects),
    }
    return {name for name, is_broken in found.items() if is_broken}


def _really_done(finished: set[str], threads: Mapping[str, ThreadSight]) -> set[str]:
    results = {call: result for sight in threads.values() for call, result in sight.tools}
    return {call for call in finished if str(results[call]).startswith("result-of")}
