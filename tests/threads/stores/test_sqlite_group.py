"""Commits that wait for the writer of a SQLite file together, and the statements that make them."""

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from foldline.errors import ThreadConflictError
from foldline.testing.storage.check import Lab, Scribe
from foldline.threads.change import Change, Document
from foldline.threads.lease import NOBODY, Lease
from foldline.threads.stores.sqlite import group
from foldline.threads.stores.sqlite.store import SQLiteStorage
from tests.threads.stores.writing import lab_of


async def known(lab: Lab, number: int) -> list[Scribe]:
    """Return *number* writers of threads whose places the store remembers."""
    scribes = [lab.scribe(f"t{place}") for place in range(number)]
    for _ in range(2):
        await asyncio.gather(*(scribe.write(1) for scribe in scribes))
    return scribes


async def at_once(
    storage: SQLiteStorage, pairs: Sequence[tuple[Scribe, Change]]
) -> tuple[list[BaseException | None], int]:
    """Make commits that all wait; return what came of each, and how many statements wrote heads."""
    begun, gate, lines = threading.Event(), threading.Event(), list[str]()

    def _wait(connection: sqlite3.Connection) -> None:
        connection.set_trace_callback(lines.append)
        begun.set()
        gate.wait()

    tasks = [asyncio.create_task(storage.writer.run(_wait))]
    await asyncio.to_thread(begun.wait)
    tasks += [asyncio.create_task(storage.commit(one.key, change)) for one, change in pairs]
    await asyncio.sleep(0)
    gate.set()
    _, *done = await asyncio.gather(*tasks, return_exceptions=True)
    for (scribe, change), failure in zip(pairs, done, strict=True):
        if failure is None:
            scribe.made(change)
    return done, sum("UPDATE threads SET revision" in line for line in lines)


async def test_few_statements_write_many(tmp_path: Path) -> None:
    """Of 74 threads that wait, 64 and 8 share a statement, two have their own, and each is whole."""
    storage = SQLiteStorage(tmp_path / "a.db")
    async with lab_of(storage) as lab:
        scribes = await known(lab, 74)
        pairs = [(one, one.change(one.drawn(place % 4))) for place, one in enumerate(scribes)]
        done, statements = await at_once(storage, pairs)
        for scribe in scribes:
            await scribe.verify()

    assert (done, statements) == ([None] * 74, 4)


@pytest.mark.parametrize("version", ["new", "old"])
async def test_states_and_leases_are_kept_apart(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread gets its own state and lease, or keeps what it has; the same without UPDATE FROM."""
    monkeypatch.setattr(group, "_CAN_JOIN", version == "new")
    storage = SQLiteStorage(tmp_path / "a.db", clock=lambda: 100.0)
    found: list[tuple[object, object]] = []
    async with lab_of(storage) as lab:
        scribes = await known(lab, 8)
        leases = [None, NOBODY, *(Lease(f"run {place}", 10.0 + place) for place in range(6))]
        state = Document("execution", "", b"state")
        for one in scribes[:2]:
            await one.write(lease=Lease("before", 5.0), put=[state])
        changes: list[Change] = []
        for place, (one, lease) in enumerate(zip(scribes, leases, strict=True)):
            put = [Document("execution", "", b"%d" % place)] if place % 2 else []
            changes.append(one.change(one.drawn(1), lease=lease, put=put))
        done, statements = await at_once(storage, list(zip(scribes, changes, strict=True)))
        for one in scribes:
            stored = await one.stored()
            found.append((stored.lease, [document.data for document in stored.documents]))

    assert (done, statements) == ([None] * 8, 1 if version == "new" else 8)
    assert found[:2] == [(Lease("before", 5.0), [b"state"]), (None, [b"1"])]
    assert found[2:] == [
        (Lease(f"run {place}", 10.0 + place), [b"%d" % (place + 2)] if place % 2 else [])
        for place in range(6)
    ]


async def test_a_conflict_fails_alone(tmp_path: Path) -> None:
    """Of commits in one statement the one that expects another revision fails, with nothing of it."""
    storage = SQLiteStorage(tmp_path / "a.db")
    async with lab_of(storage) as lab:
        scribes = await known(lab, 8)
        pairs = [(one, one.change(one.drawn(2))) for one in scribes]
        pairs[5] = scribes[5], scribes[5].change(scribes[5].drawn(2), revision=1)
        done, _ = await at_once(storage, pairs)
        for scribe in scribes:
            await scribe.verify()

    (failure,) = [one for one in done if one is not None]
    assert done.index(failure) == 5
    assert isinstance(failure, ThreadConflictError)
    assert (failure.expected, failure.actual) == (1, 2)


async def test_the_first_of_two_rivals_wins(tmp_path: Path) -> None:
    """Of two commits on the same revision of a thread the one that came first is made."""
    storage = SQLiteStorage(tmp_path / "a.db")
    async with lab_of(storage) as lab:
        scribes = await known(lab, 8)
        pairs = [(one, one.change(one.drawn(1))) for one in (*scribes, scribes[3])]
        done, _ = await at_once(storage, pairs)
        await scribes[3].verify()

    assert [isinstance(one, ThreadConflictError) for one in done] == [False] * 8 + [True]


async def test_more_than_going_on_is_made_alone(tmp_path: Path) -> None:
    """Documents, a rewind, a clearing, a prune and a new thread among those that wait are made whole."""
    storage = SQLiteStorage(tmp_path / "a.db")
    async with lab_of(storage) as lab:
        scribes = await known(lab, 13)
        tool, epoch = Document("tool", "call", b"answer"), scribes[3].epoch
        await scribes[3].rewind(1, 1)
        await scribes[4].write(put=[tool])
        pairs = [(one, one.change(one.drawn(1))) for one in scribes]
        pairs[0] = scribes[0], scribes[0].change(scribes[0].drawn(1), put=[tool])
        pairs[1] = scribes[1], scribes[1].rewinding(1, 1)
        pairs[2] = scribes[2], scribes[2].rewinding(0, 1, clears=True)
        pairs[3] = scribes[3], scribes[3].change(scribes[3].drawn(1), keeps=[])
        pairs[4] = scribes[4], scribes[4].change(scribes[4].drawn(1), drop=[("tool", "call")])
        new = lab.scribe("new")
        pairs.append((new, new.change(new.drawn(2))))
        done, statements = await at_once(storage, pairs)
        for scribe, _ in pairs:
            await scribe.verify()
        await scribes[3].verify_gone(epoch)
        documents = [await scribes[place].documents() for place in (0, 4)]

    assert (done, statements) == ([None] * 14, 1 + 6)
    assert documents == [{"call": b"answer"}, {}]
