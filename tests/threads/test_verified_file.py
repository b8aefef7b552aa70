"""
What one damaged place of a SQLite file costs: the others are listed and verified all the same.
"""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from foldline.threads.verification import Verified, verify_store

from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.sample import ONE, OTHER, TWO, fill


OF_ONE = "WHERE tenant = 'default' AND id = 'one'"
HUGE = 1 << 62
NAMES = {
    "an id that is no text": f"UPDATE threads SET id = CAST(x'6fff65' AS TEXT) {OF_ONE}",
    "an id that is no name": f"UPDATE threads SET id = 'o/ne' {OF_ONE}",
    "an id as bytes": f"UPDATE threads SET id = CAST('one' AS BLOB) {OF_ONE}",
    "a tenant that is no text": f"UPDATE threads SET tenant = CAST(x'ff' AS TEXT) {OF_ONE}",
    "a tenant as bytes": f"UPDATE threads SET tenant = CAST('default' AS BLOB) {OF_ONE}",
}
BRANCHES = {
    "its branch": f"UPDATE branches SET pk = {HUGE} WHERE pk = "
    f"(SELECT branch FROM threads {OF_ONE})",
    "the branch that it names": f"UPDATE threads SET branch = {HUGE} {OF_ONE}",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of a store with everything in it."""
    path = tmp_path / "store.db"

    async def make() -> None:
        async with SQLiteStore(path) as store:
            await fill(store)

    asyncio.run(make())
    return path


def damage(path: Path, *statements: str) -> None:
    """Run *statements* past every program."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def verified(path: Path) -> list[Verified]:
    """Return what is found in the file at *path*."""

    async def run() -> list[Verified]:
        async with SQLiteStore(path) as store:
            return [one async for one in verify_store(store)]

    return asyncio.run(run())


@pytest.mark.parametrize(
    "statement", [*NAMES.values(), *BRANCHES.values()], ids=[*NAMES, *BRANCHES]
)
def test_one_damaged_place_is_told_and_the_others_are_verified(path: Path, statement: str) -> None:
    """Whatever became of one thread, it is a fault, and the others are verified behind it."""
    damage(path, statement)

    found = verified(path)

    assert {one.key for one in found} >= {OTHER, TWO}
    assert any(one.faults for one in found if one.key in {None, ONE})


@pytest.mark.parametrize("statement", NAMES.values(), ids=NAMES)
def test_one_damaged_name_leaves_the_lists_whole(path: Path, statement: str) -> None:
    """
    Whatever became of the name of one thread, the others are listed, and so are their tenants.
    """
    damage(path, statement)

    async def listed() -> tuple[list[str], list[str]]:
        async with SQLiteStore(path) as store:
            return [one.id async for one in store.threads()], await store.tenants()

    ids, tenants = asyncio.run(listed())

    assert ids == [TWO.id]
    assert {OTHER.tenant, TWO.tenant} <= set(tenants)


def test_stray_is_told_apart_from_broken(path: Path) -> None:
    """What belongs to nothing is a stray fault; what SQLite finds itself is one of the store."""
    damage(path, "INSERT INTO documents VALUES (999, 'tool', 'x', x'00')")
    stray = verified(path)
    forgotten = "DELETE FROM sqlite_schema WHERE name = 'rows_system'"
    damage(path, "PRAGMA writable_schema = ON", forgotten)
    broken = verified(path)

    assert [fault.kind for one in stray for fault in one.faults] == ["stray"]
    assert [fault.kind for one in broken for fault in one.faults] == ["store", "stray"]


def test_a_document_of_another_key_is_one_fault(path: Path) -> None:
    """A document that looks as if another key had closed it, in a thread that opens, is damaged."""
    damage(
        path, "UPDATE documents SET data = CAST('AEAD' || hex(data) AS BLOB) WHERE kind = 'tool'"
    )

    found = verified(path)

    assert [(one.key, fault.kind) for one in found for fault in one.faults] == [(ONE, "tool")]
    assert {one.key for one in found} == {ONE, OTHER, TWO}
