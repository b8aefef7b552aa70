"""Damage is found, named, and nothing else is blamed; whole rows are saved from around it."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from foldline.errors import FoldlineError, StoreCorruptError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.threads.cipher import AesCipher
from foldline.threads.key import ThreadKey
from foldline.threads.rescue import GAP_KEY, WholeRows, whole_rows
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.verify import Verified, verify_store, verify_thread
from tests.depth import by_depth
from tests.threads.sample import COUNT, ONE, OTHER, TWO, faults_of, fill, said


LIVE = "(SELECT live FROM threads WHERE tenant = 'default' AND id = 'one')"
THREAD = "(SELECT pk FROM threads WHERE tenant = 'default' AND id = 'one')"
BAD = 20
KEYS = {"plain": None, "encrypted": bytes(32)}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a store with everything in it."""
    path = tmp_path_factory.mktemp("filled") / "store.db"

    async def make() -> None:
        async with _store(path) as store:
            await fill(store)

    asyncio.run(make())
    return path


@pytest.fixture
def path(tmp_path: Path, filled: Path) -> Path:
    """Return a copy of that file."""
    path = tmp_path / "store.db"
    shutil.copy(filled, path)
    return path


def _store(path: Path, key: bytes | None = None) -> SQLiteStore:
    cipher = None if key is None else AesCipher(key)
    return SQLiteStore(path, checkpoints="full", cipher=cipher)


def _damage(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


async def _verify(path: Path) -> list[str]:
    async with _store(path) as store:
        return await faults_of(store, ONE)


async def test_counted_reminders(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread whose reminders were counted as messages of the user is whole."""
    reminder = Message.user("<system-reminder>The list is empty.</system-reminder>")

    store = MemoryStore()
    thread = await store.thread("one")
    with monkeypatch.context() as patched:
        patched.setattr(Message, "is_from_user", property(lambda one: one.role == "user"))
        await thread.add_messages([Message.user("Go on."), reminder])
    await thread.add_messages([Message.assistant("Done."), reminder, Message.user("Good.")])
    assert await faults_of(store, thread.key) == []


@pytest.mark.parametrize("users", [False, True])
async def test_a_wrong_count_of_users(monkeypatch: pytest.MonkeyPatch, *, users: bool) -> None:
    """A row that counts an answer as a message of the user, or a message of the user as none, is not whole."""
    store = MemoryStore()
    thread = await store.thread("one")
    with monkeypatch.context() as patched:
        patched.setattr(Message, "is_from_user", users)
        await thread.add_messages([Message.user("Go on."), Message.assistant("Done.")])
    assert "its counts are not those" in " ".join(await faults_of(store, thread.key))


async def _verify_all(path: Path) -> list[Verified]:
    async with _store(path) as store:
        return [one async for one in verify_store(store)]


async def _read(path: Path, key: ThreadKey = ONE) -> list[Message]:
    async with _store(path) as store:
        thread = await store.thread(key)
        return await thread.get_messages()


async def _rescue(path: Path, key: bytes | None = None) -> tuple[WholeRows, list[Message]]:
    """Return the whole rows of a thread, and the messages of a new thread made of them."""
    async with _store(path, key) as store:
        found = await whole_rows(store.context, ONE)
        thread = await store.restore(found.to_snapshot(), thread_id="rescued")
        assert await faults_of(store, thread.key) == []
        return found, await thread.get_messages()


def _row(number: int = BAD) -> str:
    return f"(({LIVE} << 32) + {number})"


def _flipped(offset: int, column: str = "data") -> str:
    """Return SQL for bytes with the one at *offset* (from 1) replaced."""
    return (
        f"CAST(substr({column}, 1, {offset - 1}) || CASE substr({column}, {offset}, 1) "
        f"WHEN x'41' THEN x'42' ELSE x'41' END || substr({column}, {offset + 1}) AS BLOB)"
    )


ROWS = {
    "origin": f"UPDATE rows SET data = {_flipped(3)} WHERE id = {_row()}",
    "chain hash": f"UPDATE rows SET data = {_flipped(19)} WHERE id = {_row()}",
    "counts": f"UPDATE rows SET data = {_flipped(34)} WHERE id = {_row()}",
    "digest": f"UPDATE rows SET data = {_flipped(46)} WHERE id = {_row()}",
    "body": f"UPDATE rows SET data = {_flipped(86)} WHERE id = {_row()}",
    "truncated": f"UPDATE rows SET data = substr(data, 1, 56) WHERE id = {_row()}",
    "zeroed": f"UPDATE rows SET data = zeroblob(length(data)) WHERE id = {_row()}",
    "empty": f"UPDATE rows SET data = x'' WHERE id = {_row()}",
    "text": f"UPDATE rows SET data = 'a text' WHERE id = {_row()}",
    "number": f"UPDATE rows SET data = 7 WHERE id = {_row()}",
    "missing": f"DELETE FROM rows WHERE id = {_row()}",
    "of another row": f"UPDATE rows SET data = (SELECT data FROM rows WHERE id = {_row(BAD + 4)}) "
    f"WHERE id = {_row()}",
}
HEADS = {
    "head": f"UPDATE threads SET head = {_flipped(30, 'head')} WHERE pk = {THREAD}",
    "no head": f"UPDATE threads SET head = x'' WHERE pk = {THREAD}",
    "text for head": f"UPDATE threads SET head = 'a text' WHERE pk = {THREAD}",
    "revision": f"UPDATE threads SET revision = revision + 1 WHERE pk = {THREAD}",
    "expiry": f"UPDATE threads SET expires_at = expires_at + 5 WHERE pk = {THREAD}",
}
DOCUMENTS = ("metadata", "execution", "reduction", "tool", "checkpoint")


async def test_a_whole_store_has_no_faults(path: Path) -> None:
    """Nothing is blamed in a store that nobody has damaged, with everything in it."""
    verified = await _verify_all(path)

    assert [(one.key, one.messages) for one in verified] == [
        (OTHER, len(said(3))),
        (ONE, COUNT),
        (TWO, 13),
    ]
    assert [one.faults for one in verified] == [(), (), ()]


@pytest.mark.parametrize("damage", ROWS.values(), ids=ROWS)
async def test_the_first_damaged_row_is_named(path: Path, damage: str) -> None:
    """Whatever happens to a row, it is the first fault; forks and other threads have none."""
    _damage(path, damage)

    (one,) = [one for one in await _verify_all(path) if one.faults]

    assert (one.key, one.messages) == (ONE, BAD)
    assert one.faults[0].startswith(f"row {BAD}: ")


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        (f"UPDATE rows SET system = 1 WHERE id = {_row()}", 0),
        (f"DELETE FROM rows WHERE id >= {_row()} AND id < {_row(10**6)}", COUNT - BAD),
    ],
    ids=["role", "end"],
)
async def test_flags_and_ends_are_verified(path: Path, damage: str, lost: int) -> None:
    """A wrong role flag and a missing end are found; what is whole in itself is not lost."""
    _damage(path, damage)

    found, _ = await _rescue(path)

    assert (await _verify(path))[0].startswith(f"row {BAD}: ")
    assert len(found.messages) == COUNT - lost


async def test_a_row_after_the_last_is_named(path: Path) -> None:
    """A row that is stored after the end of a thread is a fault."""
    last = f"SELECT {_row(COUNT)}, system, data FROM rows WHERE id = {_row(COUNT - 1)}"
    _damage(path, f"INSERT INTO rows (id, system, data) {last}")

    assert await _verify(path) == [f"row {COUNT}: it is after the last row"]


@pytest.mark.parametrize("damage", ROWS.values(), ids=ROWS)
async def test_all_other_rows_are_saved(path: Path, damage: str) -> None:
    """Every whole message comes back in order, also after the bad one, with a marker for that."""
    _damage(path, damage)

    found, messages = await _rescue(path)

    assert found.gaps() == ([(BAD, BAD)] if BAD not in found.messages else [])
    assert [*found.messages.values()] == [
        one for number, one in enumerate(said()) if number in found.messages
    ]
    assert len(found.messages) >= COUNT - 1
    for number in set(range(COUNT)) - set(found.messages):
        assert (messages[number].role, messages[number].metadata) == (
            "system",
            {GAP_KEY: [number, number]},
        )


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
async def test_a_zeroed_row_costs_one_message(tmp_path: Path, key: bytes | None) -> None:
    """Of 48 messages with a zeroed row in the middle, 47 come back."""
    path = tmp_path / "a.db"
    messages = [Message.user(f"message {number}") for number in range(48)]
    async with _store(path, key) as store:
        await (await store.thread(ONE.id)).add_messages(messages)
    _damage(path, f"UPDATE rows SET data = zeroblob(length(data)) WHERE id = {_row(24)}")

    found, restored = await _rescue(path, key)

    assert (len(found.messages), found.total, found.gaps()) == (47, 48, [(24, 24)])
    assert restored[:24] + restored[25:] == messages[:24] + messages[25:]
    assert restored[24].text == "[1 message is missing here: number 24 was damaged in the store]"


async def test_every_gap_is_marked(path: Path) -> None:
    """Gaps of any length are marked with their numbers, also at both ends."""
    for first, last in ((0, 2), (10, 10), (40, 41)):
        _damage(path, f"DELETE FROM rows WHERE id BETWEEN {_row(first)} AND {_row(last)}")

    found, messages = await _rescue(path)

    assert found.gaps() == [(0, 2), (10, 10), (40, 41)]
    assert messages[0].text.startswith("[3 messages are missing here: numbers 0 to 2 were")
    assert len(messages) == COUNT - 6 + 3


@pytest.mark.parametrize("number", [0, 3])
async def test_a_row_of_another_thread_is_refused(path: Path, number: int) -> None:
    """A row copied from another tenant's thread is refused, also where it is read alone."""
    other = f"((SELECT live FROM threads WHERE tenant = 'acme') << 32) + {number}"
    row = f"SELECT data FROM rows WHERE id = {other}"
    _damage(path, f"UPDATE rows SET data = ({row}) WHERE id = {_row(number)}")

    assert (await _verify(path))[0].startswith(f"row {number}: ")
    async with _store(path) as store:
        thread = await store.thread(ONE.id)
        with pytest.raises(StoreCorruptError):
            await thread.get_range(number, number + 1)


@pytest.mark.parametrize("damage", HEADS.values(), ids=HEADS)
async def test_a_damaged_head_costs_no_message(path: Path, damage: str) -> None:
    """A damaged head is the one fault, and every message is saved without it."""
    _damage(path, damage)

    found, messages = await _rescue(path)

    assert [fault.partition(":")[0] for fault in await _verify(path)] == ["head"]
    assert messages == [*found.messages.values()] == said()


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("content", ["bit", "x''", "'a text'"])
async def test_a_damaged_document_is_named_alone(path: Path, kind: str, content: str) -> None:
    """One damaged document is one fault, and the thread is not read with it."""
    table, column, where = "documents", "data", f"kind = '{kind}' AND thread = {THREAD}"
    if kind == "execution":
        table, column, where = "threads", "execution", f"pk = {THREAD}"
    elif kind in {"reduction", "checkpoint"}:
        where += f" AND name = (SELECT max(name) FROM documents WHERE {where})"
    changed = _flipped(25, column) if content == "bit" else content
    _damage(path, f"UPDATE {table} SET {column} = {changed} WHERE {where}")

    faults = await _verify(path)

    assert [fault.split()[0].rstrip(":") for fault in faults] == [kind]
    if kind != "checkpoint":
        with pytest.raises(StoreCorruptError):
            await _read(path)


def test_a_flipped_byte_of_the_file_is_found_or_harmless(path: Path) -> None:
    """
    Wherever a byte of the file is flipped, it is a fault, a typed error, or nothing is lost by it.
    """
    whole, cases = path.read_bytes(), by_depth(23, 97)
    expected = [asyncio.run(_read(path, key)) for key in (ONE, TWO, OTHER)]
    found = 0
    for at in range(100, len(whole), len(whole) // cases):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            if not any(one.faults for one in asyncio.run(_verify_all(path))):
                assert [asyncio.run(_read(path, key)) for key in (ONE, TWO, OTHER)] == expected, at
                continue
        except FoldlineError:
            pass
        found += 1

    assert found > cases // 10


async def test_memory_is_verified_too() -> None:
    """The threads of every store are verified, with their earlier epochs."""
    async with MemoryStore(checkpoints="full") as store:
        await fill(store)
        await (await store.thread(ONE.id)).rewind(5)
        verified = [one async for one in verify_store(store)]

    assert [(one.key, one.faults) for one in verified] == [(OTHER, ()), (ONE, ()), (TWO, ())]


async def test_a_thread_that_is_being_written_to_is_whole() -> None:
    """Verifying while somebody appends blames nobody."""
    async with MemoryStore() as store:
        thread = await store.thread("busy")

        async def write() -> None:
            for number in range(60):
                await thread.add_message(Message.user(f"{number}"))
                await asyncio.sleep(0)

        writing = asyncio.create_task(write())
        faults: list[str] = []
        while not writing.done():
            faults += await faults_of(store, thread.key)
            await asyncio.sleep(0)
        assert faults == []


async def test_damage_is_found_while_somebody_writes(path: Path) -> None:
    """What is found each time is damage, however often the thread is written to."""
    _damage(path, f"DELETE FROM rows WHERE id = {_row()}")

    async with _store(path) as store, _store(path) as other:
        thread = await other.thread(ONE)

        async def write() -> None:
            while True:
                await thread.add_message(Message.user("more"))
                await asyncio.sleep(0)

        writing = asyncio.create_task(write())
        faults = await faults_of(store, ONE)
        writing.cancel()
        await asyncio.wait([writing])

    assert faults == [f"row {BAD}: it is missing or cannot be read"]


async def test_a_thread_that_is_not_there_has_no_faults() -> None:
    """Of a thread that nobody made nothing is said, and nothing can be saved."""
    async with MemoryStore() as store:
        assert await verify_thread(store.context, ONE) is None
        with pytest.raises(ThreadNotFoundError):
            await whole_rows(store.context, ONE)
