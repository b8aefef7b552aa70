"""Damage is found, named, and nothing else is blamed."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from foldline.threads.repair import Repair, carry_out, find_last_good, plan_repair
from foldline.threads.stores.sqlite.inspection import Inspection, look_into
from foldline.threads.verification import Verified, verify_store, verify_thread

from foldline.errors import FoldlineError, StoreCorruptError
from foldline.history.messages import Message
from foldline.threads.fault import Fault
from foldline.threads.key import ThreadKey
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.storage import SQLiteStorage
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.sample import COUNT, ONE, OTHER, TWO, fill, said


BRANCH = "(SELECT branch FROM threads WHERE tenant = 'default' AND id = 'one')"
THREAD = "(SELECT pk FROM threads WHERE tenant = 'default' AND id = 'one')"
BAD = 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of a store with everything in it."""
    path = tmp_path / "store.db"
    asyncio.run(_filled(path))
    return path


def _store(path: Path) -> SQLiteStore:
    return SQLiteStore(path, checkpoints="full")


async def _filled(path: Path) -> None:
    async with _store(path) as store:
        await fill(store)


def _damage(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def _verify(path: Path, key: ThreadKey = ONE) -> list[Fault]:
    async def run() -> list[Fault]:
        async with _store(path) as store:
            return await verify_thread(store.backing, key)

    return asyncio.run(run())


def _verify_all(path: Path) -> list[Verified]:
    async def run() -> list[Verified]:
        async with _store(path) as store:
            return [one async for one in verify_store(store)]

    return asyncio.run(run())


def _repair(path: Path, key: ThreadKey = ONE) -> Repair:
    async def run() -> Repair:
        async with _store(path) as store:
            repair = await plan_repair(store.backing, key)
            await carry_out(store.backing, repair)
            return repair

    return asyncio.run(run())


def _read(path: Path, key: ThreadKey = ONE) -> list[Message]:
    async def run() -> list[Message]:
        async with _store(path) as store:
            thread = await store.find(key.id, tenant=key.tenant)
            assert thread is not None
            return await thread.get_messages()

    return asyncio.run(run())


def _row(number: int = BAD) -> str:
    return f"(({BRANCH} << 32) + {number})"


def _flipped(offset: int) -> str:
    """Return SQL for the data of a row or document with the byte at *offset* (from 1) replaced."""
    end = f"substr(data, {offset + 1})"
    return (
        f"CAST(substr(data, 1, {offset - 1}) || "
        f"CASE substr(data, {offset}, 1) WHEN x'41' THEN x'42' ELSE x'41' END || {end} AS BLOB)"
    )


ROWS = {
    "seal": f"UPDATE rows SET data = {_flipped(3)} WHERE id = {_row()}",
    "counts": f"UPDATE rows SET data = {_flipped(18)} WHERE id = {_row()}",
    "digest": f"UPDATE rows SET data = {_flipped(30)} WHERE id = {_row()}",
    "body": f"UPDATE rows SET data = {_flipped(70)} WHERE id = {_row()}",
    "truncated": f"UPDATE rows SET data = substr(data, 1, 40) WHERE id = {_row()}",
    "empty": f"UPDATE rows SET data = x'' WHERE id = {_row()}",
    "text": f"UPDATE rows SET data = 'a text' WHERE id = {_row()}",
    "text that is none": f"UPDATE rows SET data = substr(data, 2) || x'00' WHERE id = {_row()}",
    "number": f"UPDATE rows SET data = 7 WHERE id = {_row()}",
    "role": f"UPDATE rows SET system = 1 WHERE id = {_row()}",
    "missing": f"DELETE FROM rows WHERE id = {_row()}",
    "missing to the end": f"DELETE FROM rows WHERE id >= {_row()} AND id < {_row(10**6)}",
    "of another row": f"UPDATE rows SET data = (SELECT data FROM rows WHERE id = {_row(BAD + 4)}) "
    f"WHERE id = {_row()}",
}
HEADS = {
    "head": f"UPDATE threads SET head = {_flipped(30).replace('data', 'head')} WHERE pk = {THREAD}",
    "no head": f"UPDATE threads SET head = x'' WHERE pk = {THREAD}",
    "text for head": f"UPDATE threads SET head = 'a text' WHERE pk = {THREAD}",
    "revision": f"UPDATE threads SET revision = revision + 1 WHERE pk = {THREAD}",
    "expiry": f"UPDATE threads SET expires_at = expires_at + 5 WHERE pk = {THREAD}",
    "branch": "UPDATE threads SET branch = 999 WHERE tenant = 'default' AND id = 'one'",
}
DOCUMENTS = ("metadata", "execution", "reduction", "tool", "checkpoint")


def test_a_whole_store_has_no_faults(path: Path) -> None:
    """Nothing is blamed in a store that nobody has damaged, with everything in it."""
    verified = _verify_all(path)

    assert [(one.key, one.messages) for one in verified] == [
        (OTHER, len(said(3))),
        (ONE, COUNT),
        (TWO, 13),
    ]
    assert [one.faults for one in verified] == [(), (), ()]


@pytest.mark.parametrize("damage", ROWS.values(), ids=ROWS)
def test_the_first_damaged_row_is_named(path: Path, damage: str) -> None:
    """Whatever happens to a row, it is the first fault, and other threads have none."""
    _damage(path, damage)

    faults = _verify(path)

    assert (faults[0].kind, faults[0].name) == ("row", str(BAD))
    assert _verify(path, OTHER) == _verify(path, TWO) == []


@pytest.mark.parametrize("damage", ROWS.values(), ids=ROWS)
def test_what_is_before_a_damaged_row_is_saved(path: Path, damage: str) -> None:
    """A repair keeps every message before the damaged row, and leaves no fault behind."""
    _damage(path, damage)

    repair = _repair(path)

    assert (repair.kept, repair.lost) == (BAD, COUNT - BAD)
    assert any(f"loses {COUNT - BAD} messages" in deed for deed in repair.deeds)
    assert _read(path) == said()[:BAD]
    assert [one.faults for one in _verify_all(path)] == [(), (), ()]


def test_two_swapped_rows_are_found(path: Path) -> None:
    """Two rows that have changed places are found at the first of them."""
    swap = (
        f"CREATE TEMP TABLE kept AS SELECT id, data FROM rows WHERE id IN ({_row()}, {_row(30)})",
        f"UPDATE rows SET data = (SELECT data FROM kept WHERE id = {_row(30)}) WHERE id = {_row()}",
        f"UPDATE rows SET data = (SELECT data FROM kept WHERE id = {_row()}) WHERE id = {_row(30)}",
    )
    _damage(path, *swap)

    assert [fault.name for fault in _verify(path)][:1] == [str(BAD)]


def test_a_row_of_another_thread_is_found(path: Path) -> None:
    """A row that was copied from another thread does not pass, though the text is the same."""
    other = "((SELECT branch FROM threads WHERE tenant = 'acme') << 32) + 3"
    _damage(
        path,
        f"UPDATE rows SET data = (SELECT data FROM rows WHERE id = {other}) WHERE id = {_row(3)}",
    )

    assert [(fault.kind, fault.name) for fault in _verify(path)] == [("row", "3")]


def test_damage_in_shared_rows_is_found_in_every_thread_that_shares_them(path: Path) -> None:
    """A fork that shares a damaged row has it too, and each is repaired by itself."""
    _damage(path, f"UPDATE rows SET data = {_flipped(70)} WHERE id = {_row(5)}")

    assert [_verify(path, key)[0].name for key in (ONE, TWO)] == ["5", "5"]
    assert [_repair(path, key).kept for key in (ONE, TWO)] == [5, 5]
    assert [one.faults for one in _verify_all(path)] == [(), (), ()]


@pytest.mark.parametrize("damage", HEADS.values(), ids=HEADS)
def test_a_damaged_head_costs_no_message(path: Path, damage: str) -> None:
    """A damaged head is found, and a repair makes it anew out of the rows."""
    _damage(path, damage)

    faults = _verify(path)
    repair = _repair(path)

    assert {fault.kind for fault in faults} == {"head"}
    assert repair.kept == COUNT
    assert _read(path) == said()
    assert [one.faults for one in _verify_all(path)] == [(), (), ()]


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("content", [_flipped(25), "x''", "'a text'"], ids=["bit", "empty", "text"])
def test_a_damaged_document_is_named_and_dropped_alone(path: Path, kind: str, content: str) -> None:
    """
    One damaged document is one fault; a repair drops it, and every message and all others stay.
    """
    name = "(SELECT max(name) FROM documents WHERE kind = '" + kind + f"' AND thread = {THREAD})"
    damage = (
        f"UPDATE documents SET data = {content} "
        f"WHERE kind = '{kind}' AND name = {name} AND thread = {THREAD}"
    )
    if kind == "execution":
        in_place = content.replace("data", "execution")
        damage = f"UPDATE threads SET execution = {in_place} WHERE pk = {THREAD}"
    _damage(path, damage)

    faults = _verify(path)
    repair = _repair(path)

    assert [fault.kind for fault in faults] == [kind]
    assert (repair.kept, repair.lost, len(repair.deeds)) == (COUNT, 0, 1)
    assert _read(path) == said()
    assert _verify(path) == []


def test_a_revoked_reduction_falls_back_to_the_one_before(path: Path) -> None:
    """Where the newest reduction is damaged, the one before it is in force after a repair."""
    _damage(
        path,
        f"UPDATE documents SET data = x'00' WHERE kind = 'reduction' AND thread = {THREAD} "
        f"AND name = (SELECT max(name) FROM documents WHERE kind = 'reduction')",
    )
    _repair(path)

    async def cut() -> int | None:
        async with _store(path) as store:
            thread = await store.find(ONE.id)
            reduction = None if thread is None else thread.last_reduction
            return None if reduction is None else reduction.summarized_up_to_index

    assert asyncio.run(cut()) == 8


def test_branches_in_a_circle_end_in_an_error(path: Path) -> None:
    """A branch that names itself as its parent is told and keeps nobody waiting."""
    _damage(path, f"UPDATE branches SET parent = pk, at = 5 WHERE pk = {BRANCH}")

    faults = _verify(path)

    assert (faults[0].kind, faults[0].name) == ("row", "0")
    assert "circle" in faults[0].problem
    assert _verify(path, OTHER) == []
    with pytest.raises(StoreCorruptError):
        _read(path)


def test_what_is_whole_can_be_read_without_a_repair(path: Path) -> None:
    """A damaged thread opens, to be read only, up to its last whole message."""
    _damage(path, ROWS["body"])

    async def read() -> tuple[int, list[Message]]:
        async with _store(path) as store:
            thread = (await find_last_good(store.backing, ONE)).thread
            return thread.count, await thread.get_messages()

    with pytest.raises(StoreCorruptError):
        _read(path)
    assert asyncio.run(read()) == (BAD, said()[:BAD])


def test_damaged_rows_stay_where_they_are(path: Path) -> None:
    """A repair deletes no row: those behind the damaged one stay on the branch that is left."""
    _damage(path, ROWS["body"])
    with closing(sqlite3.connect(path)) as connection:
        (before,) = connection.execute("SELECT count(*) FROM rows").fetchone()

    _repair(path)

    with closing(sqlite3.connect(path)) as connection:
        (after,) = connection.execute("SELECT count(*) FROM rows").fetchone()
    assert after == before


def test_a_repaired_thread_goes_on(path: Path) -> None:
    """After a repair the thread can be written to, and what is written is whole."""
    _damage(path, ROWS["missing"])
    _repair(path)

    async def add() -> int:
        async with _store(path) as store:
            thread = await store.thread(ONE.id)
            await thread.add_message(Message.user("Is anything lost?"))
            return thread.count

    assert asyncio.run(add()) == BAD + 1
    assert _verify(path) == []


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (f"UPDATE threads SET id = 'a/b' WHERE pk = {THREAD}", "a thread has a damaged name"),
        ("DELETE FROM threads WHERE tenant = 'acme'", "belong to a thread that is not there"),
        ("DELETE FROM branches WHERE tenant = 'acme'", "rows belong to a branch that is not there"),
        ("INSERT INTO documents VALUES (999, 'tool', 'x', x'00')", "documents belong to a thread"),
        ("UPDATE documents SET kind = 'uool' WHERE kind = 'tool'", "of no known kind"),
        ("UPDATE branches SET tenant = 'evil' WHERE thread = 3", "a thread of another tenant"),
    ],
    ids=["name", "thread", "branch", "document", "kind", "tenant"],
)
def test_what_belongs_to_nothing_is_told(path: Path, damage: str, problem: str) -> None:
    """
    Rows, branches and documents without an owner, and names that cannot be, are faults of the store.
    """
    _damage(path, damage)

    below = [fault.problem for one in _verify_all(path) if one.key is None for fault in one.faults]

    assert any(problem in one for one in below), below


def test_what_is_stray_is_told_apart_from_what_is_broken(path: Path) -> None:
    """
    Beside what belongs to nothing SQLite finds its file whole; what it finds itself is broken.
    """
    _damage(path, "INSERT INTO documents VALUES (999, 'tool', 'x', x'00')")

    async def look() -> Inspection:
        async with _store(path) as store:
            storage = store.backing.storage
            assert isinstance(storage, SQLiteStorage)
            return await storage.reader.run(lambda connection: look_into(connection, storage.sql))

    stray = asyncio.run(look())
    forgotten = "DELETE FROM sqlite_schema WHERE name = 'rows_system'"
    _damage(path, "PRAGMA writable_schema = ON", forgotten)
    broken = asyncio.run(look())

    assert (stray.broken, len(stray.stray)) == ((), 1)
    assert (len(broken.broken), broken.stray) == (1, stray.stray)


def test_a_flipped_byte_of_the_file_is_found_or_harmless(path: Path) -> None:
    """
    Wherever a byte of the file is flipped, it is a fault, a typed error, or nothing is lost by it.
    """
    whole = path.read_bytes()
    expected = [_read(path, key) for key in (ONE, TWO, OTHER)]
    found = 0
    for at in range(100, len(whole), len(whole) // 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            if not any(one.faults for one in _verify_all(path)):
                assert [_read(path, key) for key in (ONE, TWO, OTHER)] == expected, at
                continue
        except FoldlineError:
            pass
        found += 1

    assert found > 10


def test_memory_is_verified_too() -> None:
    """A store that cannot be looked into is verified thread by thread."""

    async def run() -> list[Verified]:
        async with MemoryStore(checkpoints="full") as store:
            await fill(store)
            return [one async for one in verify_store(store)]

    verified = asyncio.run(run())

    assert [one.key for one in verified] == [OTHER, ONE, TWO]
    assert not any(one.faults for one in verified)


def test_a_thread_that_is_being_written_to_is_whole() -> None:
    """Verifying while somebody appends blames nobody."""

    async def run() -> list[Fault]:
        async with MemoryStore() as store:
            thread = await store.thread("busy")

            async def write() -> None:
                for number in range(200):
                    await thread.add_message(Message.user(f"{number}"))
                    await asyncio.sleep(0)

            writing = asyncio.create_task(write())
            faults: list[Fault] = []
            while not writing.done():
                faults += await verify_thread(store.backing, thread.key)
                await asyncio.sleep(0)
            return faults

    assert asyncio.run(run()) == []


def test_damage_is_found_while_somebody_writes(path: Path) -> None:
    """Rows that are missing, and those that are there behind them, are told apart as ever."""
    _damage(path, f"DELETE FROM rows WHERE id - ({BRANCH} << 32) BETWEEN {BAD} AND {BAD + 1}")

    async def run() -> tuple[list[Fault], Repair, int]:
        async with _store(path) as store, _store(path) as other:
            thread = await other.thread(ONE.id, tenant=ONE.tenant)

            async def write() -> None:
                while True:
                    await thread.add_message(Message.user("more"))
                    await asyncio.sleep(0)

            writing = asyncio.create_task(write())
            try:
                faults = [one for _ in range(5) for one in await verify_thread(store.backing, ONE)]
                repair = await plan_repair(store.backing, ONE)
                good = await find_last_good(store.backing, ONE)
            finally:
                writing.cancel()
                await asyncio.wait([writing])
            return faults, repair, good.thread.count

    faults, repair, good = asyncio.run(run())

    told = f"rows {BAD} to {BAD + 1} are missing"
    assert [one.problem for one in faults] == [told] * 5
    assert (repair.kept, good) == (BAD, BAD)


def test_every_gap_is_named(tmp_path: Path) -> None:
    """Rows behind a long gap are met, so that no more is called missing than is."""
    path = tmp_path / "long.db"

    async def make() -> None:
        async with SQLiteStore(path) as store:
            thread = await store.thread(ONE.id)
            await thread.add_messages([Message.user(f"{number}") for number in range(3_000)])

    asyncio.run(make())
    gaps = ((10, 1_999), (2_500, 2_500), (2_990, 2_999))
    for first, last in gaps:
        _damage(path, f"DELETE FROM rows WHERE id - ({BRANCH} << 32) BETWEEN {first} AND {last}")

    faults = [one for one in _verify(path) if one.kind == "row"]

    assert [one.name for one in faults] == [str(first) for first, _ in gaps]


def test_a_thread_that_is_not_there_has_no_faults(tmp_path: Path) -> None:
    """Of a thread that nobody made nothing is said."""
    assert _verify(tmp_path / "empty.db") == []
