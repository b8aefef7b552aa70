"""Damage in the tables of a SQLite file is found, wherever it is."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from foldline.errors import StoreCorruptError
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.tools import ToolRun
from tests.depth import by_depth


Damage = Callable[[sqlite3.Connection, Random], None]
MESSAGES = [
    Message.system("rules"),
    Message.user("one"),
    Message.assistant("", tool_calls=[ToolCallPart("c", "t", "{}")]),
    Message.tool("c", "two"),
    Message.system("more rules"),
    Message.user("three"),
    Message.assistant("four"),
    Message.user("five"),
    Message.assistant("six"),
]


async def _make(path: Path) -> None:
    async with SQLiteStore(path, durability="relaxed") as store:
        other = await store.thread("other")
        await other.add_messages(MESSAGES)
        thread = await store.thread("a")
        await thread.commit(
            Change(
                messages=MESSAGES,
                execution=AgentLoopState(
                    run_id="r", conversation_id="a", started_at=thread.created_at
                ),
                tools=[ToolRun(call_id="open", name="t")],
            )
        )
        window = await thread.window()
        state = HistoryReductionState.create(
            window.history,
            "summary",
            5,
            target_count=2,
            reduction_threshold=1,
            message_count_at_reduction=7,
            created_at=thread.created_at,
        )
        await thread.save_reduction(state)
        await thread.set_metadata({"k": "v"}, display_name="n")


async def _read(path: Path, damage: Callable[[], None] | None = None) -> tuple[object, ...]:
    """Return what a program sees of the thread: a fresh one, or one that read it before *damage*."""
    async with SQLiteStore(path, durability="relaxed") as store:
        if damage is not None:
            await _seen(store)
            damage()
        return await _seen(store)


async def _seen(store: SQLiteStore) -> tuple[object, ...]:
    """Return all of the thread: each message, the window, the state."""
    thread = await store.thread("a")
    everything = await thread.get_messages()
    again = await store.thread("a")
    window = await again.window()
    history = window.history
    return (
        everything,
        history[history.start :],
        history.system,
        (history.digest(), history.tokens(), history.system_tokens),
        window.reduction,
        await thread.reductions(),
        thread.execution_state,
        thread.pending_tools,
        (dict(thread.metadata), thread.display_name, thread.head.archived),
    )


def _flipped(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _mine(connection: sqlite3.Connection) -> tuple[int, int, int]:
    pk, live = connection.execute("SELECT pk, live FROM threads WHERE id = 'a'").fetchone()
    return pk, live << 32, (live << 32) + len(MESSAGES)


def _flip_row(connection: sqlite3.Connection, random: Random) -> None:
    _, start, stop = _mine(connection)
    row = random.randrange(start, stop)
    (data,) = connection.execute("SELECT data FROM rows WHERE id = ?", (row,)).fetchone()
    connection.execute("UPDATE rows SET data = ? WHERE id = ?", (_flipped(data, random), row))


def _flip_head(connection: sqlite3.Connection, random: Random) -> None:
    (head,) = connection.execute("SELECT head FROM threads WHERE id = 'a'").fetchone()
    connection.execute("UPDATE threads SET head = ? WHERE id = 'a'", (_flipped(head, random),))


def _flip_document(connection: sqlite3.Connection, random: Random) -> None:
    pk, _, _ = _mine(connection)
    rows = connection.execute("SELECT kind, name FROM documents WHERE thread = ?", (pk,)).fetchall()
    kind, name = random.choice([*rows, ("execution", "")])
    _write(connection, kind, name, _flipped(_content(connection, kind, name), random))


def _content(connection: sqlite3.Connection, kind: str, name: str) -> bytes:
    pk, _, _ = _mine(connection)
    select = "SELECT execution FROM threads WHERE pk = ?"
    values: tuple[object, ...] = (pk,)
    if kind != "execution":
        select = "SELECT data FROM documents WHERE thread = ? AND kind = ? AND name >= ?"
        values = (pk, kind, name)
    (data,) = connection.execute(select, values).fetchone()
    return bytes(data)


def _write(connection: sqlite3.Connection, kind: str, name: str, data: bytes) -> None:
    pk, _, _ = _mine(connection)
    update = "UPDATE threads SET execution = ? WHERE pk = ?"
    values: tuple[object, ...] = (data, pk)
    if kind != "execution":
        update = "UPDATE documents SET data = ? WHERE thread = ? AND kind = ? AND name >= ?"
        values = (data, pk, kind, name)
    connection.execute(update, values)


def _flip_system(connection: sqlite3.Connection, random: Random) -> None:
    _, start, stop = _mine(connection)
    row = random.randrange(start, stop)
    connection.execute("UPDATE rows SET system = 1 - system WHERE id = ?", (row,))


def _swap_system(connection: sqlite3.Connection, random: Random) -> None:
    _, start, _ = _mine(connection)
    one, other = random.choice((0, 4)), random.choice((1, 2, 3, 5, 6, 7, 8))
    for row, value in ((one, 0), (other, 1)):
        connection.execute("UPDATE rows SET system = ? WHERE id = ?", (value, start + row))


def _cut_row(connection: sqlite3.Connection, random: Random) -> None:
    _, start, stop = _mine(connection)
    row = random.randrange(start, stop)
    (size,) = connection.execute("SELECT length(data) FROM rows WHERE id = ?", (row,)).fetchone()
    values = (random.randrange(size), row)
    connection.execute("UPDATE rows SET data = substr(data, 1, ?) WHERE id = ?", values)


def _swap_rows(connection: sqlite3.Connection, random: Random) -> None:
    _, start, stop = _mine(connection)
    one, other = random.sample(range(start, stop), 2)
    contents = [
        connection.execute("SELECT data FROM rows WHERE id = ?", (row,)).fetchone()[0]
        for row in (other, one)
    ]
    connection.executemany(
        "UPDATE rows SET data = ? WHERE id = ?", zip(contents, (one, other), strict=True)
    )


def _take_foreign_row(connection: sqlite3.Connection, random: Random) -> None:
    _, start, _ = _mine(connection)
    at = random.randrange(len(MESSAGES))
    source = "(SELECT live FROM threads WHERE id = 'other')"
    connection.execute(
        f"UPDATE rows SET data = (SELECT data FROM rows WHERE id = ({source} << 32) + ?) "
        "WHERE id = ?",
        (at, start + at),
    )


def _drop_row(connection: sqlite3.Connection, random: Random) -> None:
    _, start, stop = _mine(connection)
    connection.execute("DELETE FROM rows WHERE id = ?", (random.randrange(start, stop),))


def _take_foreign_head(connection: sqlite3.Connection, random: Random) -> None:
    connection.execute(
        "UPDATE threads SET head = (SELECT head FROM threads WHERE id = 'other') WHERE id = 'a'"
    )


def _change_revision(connection: sqlite3.Connection, random: Random) -> None:
    move = random.choice((-2, -1, 1, 2, 1000))
    connection.execute("UPDATE threads SET revision = revision + ? WHERE id = 'a'", (move,))


def _rename_thread(connection: sqlite3.Connection, random: Random) -> None:
    connection.execute("UPDATE threads SET id = 'b' WHERE id = 'a'")
    connection.execute("UPDATE threads SET id = 'a' WHERE id = 'other'")


def _move_document(connection: sqlite3.Connection, random: Random) -> None:
    kinds = ("metadata", "execution", "tool", "reduction")
    source, target = random.sample(kinds, 2)
    _write(connection, target, "", _content(connection, source, ""))


DAMAGES: dict[Damage, int] = {
    _flip_row: 120,
    _flip_head: 60,
    _flip_document: 60,
    _flip_system: 40,
    _swap_system: 20,
    _cut_row: 40,
    _swap_rows: 30,
    _take_foreign_row: 20,
    _drop_row: 20,
    _take_foreign_head: 1,
    _change_revision: 5,
    _rename_thread: 1,
    _move_document: 20,
}


@pytest.mark.slow
@pytest.mark.parametrize("is_known", [False, True], ids=["unknown", "known"])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.strip("_"))
def test_damage_is_never_served(damage: Damage, is_known: bool, tmp_path: Path) -> None:
    """Whatever was changed in the file, reading it is refused or gives what was written."""
    path = tmp_path / "a.db"
    asyncio.run(_make(path))
    whole = asyncio.run(_read(path))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    original, refused, random = path.read_bytes(), 0, Random(damage.__name__)
    cases = by_depth(1 + DAMAGES[damage] // 8, DAMAGES[damage])

    def do_damage() -> None:
        with closing(sqlite3.connect(path)) as connection:
            damage(connection, random)
            connection.commit()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    for _ in range(cases):
        path.write_bytes(original)
        if not is_known:
            do_damage()
        try:
            seen = asyncio.run(_read(path, do_damage if is_known else None))
        except StoreCorruptError as error:
            refused += not any(word in str(error) for word in ("rules", "three", "summary"))
        else:
            assert seen == whole

    assert refused == cases


async def test_damage_of_a_moment_is_no_conflict(tmp_path: Path) -> None:
    """Where a row is damaged, every kept moment that holds it says so."""
    path = tmp_path / "a.db"

    async def look() -> int:
        async with SQLiteStore(path, checkpoints="full") as store:
            checkpointer = ThreadCheckpointer(store)
            checkpoints = await checkpointer.history("a", limit=2)
            for checkpoint in checkpoints:
                moment = await checkpointer.load_at("a", checkpoint.id)
                assert moment is not None
                with pytest.raises(StoreCorruptError):
                    await moment.get_messages()
            return len(checkpoints)

    async with SQLiteStore(path, checkpoints="full") as store:
        thread = await store.thread("a")
        state = AgentLoopState(run_id="r", conversation_id="a", started_at=thread.created_at)
        for number in range(2):
            await thread.commit(Change(messages=[Message.user(f"{number}")], execution=state))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE rows SET data = zeroblob(60) WHERE id & 4294967295 = 0")
        connection.commit()

    assert await look() == 2


async def test_a_search_finds_no_changed_word(tmp_path: Path) -> None:
    """A search reads what nobody has changed, or says that it is damaged."""
    path = tmp_path / "a.db"
    await _make(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE rows SET data = CAST(replace(data, 'six', 'sax') AS BLOB) "
            "WHERE instr(data, 'six')"
        )
    async with SQLiteStore(path) as store:
        thread = await store.thread("a")
        with pytest.raises(StoreCorruptError, match="is damaged"):
            await thread.search("sax")
