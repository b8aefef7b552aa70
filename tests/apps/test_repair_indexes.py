"""
What a repair advises where every message is whole and what finds it is not, and that it works.
"""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from foldline.threads.stores.sqlite.header import number_in, schema_of

from foldline.apps.cli.stores import COPY_TABLES
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.stores.statements import migrations
from tests.apps.pages import empty_page, fragment, pages_of
from tests.apps.ways import carry_out
from tests.threads.sample import ONE, fill


Run = Callable[..., Any]

DUMP = "`sqlite3 -readonly STORE '.dump "
TABLES = ("branches", "threads", "rows", "documents")
INDEXES = (
    "sqlite_autoindex_threads_1",
    "sqlite_autoindex_documents_1",
    "sqlite_autoindex_branches_1",
    "branches_parent",
    "branches_thread",
    "rows_system",
)


def _contents(path: Path) -> list[list[Any]]:
    """Return every row of every table but those that searches make anew."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            sorted(connection.execute(f"SELECT * FROM {table} NOT INDEXED"), key=repr)
            for table in TABLES
        ]


def _make(path: Path, count: int, *, words: str = "and so on") -> None:
    async def make() -> None:
        async with SQLiteStore(path) as store:
            for number in range(count):
                thread = await store.thread(f"{number:03}{'x' * 60}")
                await thread.add_messages([Message.user(f"{n} {words}") for n in range(20)])

    asyncio.run(make())


def _shorten(path: Path) -> None:
    """Let the index of names forget its last entry, as a write does that was lost."""
    (top, *_), _ = pages_of(path, "sqlite_autoindex_threads_1")
    data = bytearray(path.read_bytes())
    count = int.from_bytes(data[top + 3 : top + 5])
    data[top + 3 : top + 5] = (count - 1).to_bytes(2)
    path.write_bytes(data)


def _repeat(path: Path) -> None:
    """Let the index of names hold its first entry in place of its second one too."""
    (top, *_), _ = pages_of(path, "sqlite_autoindex_threads_1")
    data = bytearray(path.read_bytes())
    data[top + 10 : top + 12] = data[top + 8 : top + 10]
    path.write_bytes(data)


@pytest.mark.parametrize("tear", [_shorten, _repeat], ids=["lost", "twice"])
def test_a_thread_that_cannot_be_listed_is_not_called_whole(
    run: Run, tmp_path: Path, tear: Callable[[Path], None]
) -> None:
    """
    Where an index hides a thread this is told, and what is named first brings the thread back.
    """
    path = tmp_path / "x.db"
    _make(path, 4)
    tear(path)

    told = run("repair", "--store", path)
    copied = run("verify", "--store", carry_out(told.out, path))

    last = told.out.splitlines()[-1]
    assert told.code == 1
    assert f"is damaged: every thread that can be listed is whole: {DUMP}" in last
    assert (copied.code, copied.out[:9]) == (0, "4 threads")


@pytest.fixture
def searched(tmp_path: Path) -> Path:
    """Return the file of a store with everything in it, and an index of many words."""

    async def make() -> None:
        async with SQLiteStore(tmp_path / "x.db", checkpoints="full") as store:
            await fill(store)
            thread = await store.thread("words")
            many = [" ".join(f"w{n * 90 + k}" for k in range(90)) for n in range(40)]
            await thread.add_messages([Message.user(words) for words in many])
            for id in ("words", ONE.id):
                await (await store.thread(id)).search("parcel")

    asyncio.run(make())
    return tmp_path / "x.db"


@pytest.mark.parametrize("name", INDEXES)
def test_a_torn_index_costs_nothing(run: Run, searched: Path, name: str) -> None:
    """Where a page of an index is lost, what is named first by each command leaves no row out."""
    before = _contents(searched)
    empty_page(searched, 0, name)

    told = [run(command, "--store", searched) for command in ("repair", "verify")]
    copy = carry_out(told[0].out, searched)
    verified = run("verify", "--store", copy)

    assert [(one.code, one.out.count(DUMP), one.err) for one in told] == [(1, 1, "")] * 2
    assert (verified.code, verified.out[:9]) == (0, "4 threads")
    assert _contents(copy) == before


def test_what_the_log_alone_holds_is_in_the_copy(run: Run, tmp_path: Path) -> None:
    """
    Beside the log of a killed program the copy has what was acknowledged last, and both files stay.
    """
    path, live = tmp_path / "x.db", tmp_path / "live.db"
    _make(live, 3)
    empty_page(live, 0, "rows_system")

    async def killed() -> None:
        async with SQLiteStore(live) as store:
            await (await store.thread("late")).add_message(Message.user("and so on"))
            for end in ("", "-wal"):
                shutil.copy(f"{live}{end}", f"{path}{end}")

    asyncio.run(killed())
    log = Path(f"{path}-wal")
    before = path.read_bytes(), log.read_bytes()

    copy = carry_out(COPY_TABLES, path)

    assert (path.read_bytes(), log.read_bytes()) == before
    assert run("verify", "--store", copy).out[:9] == "4 threads"


def test_the_copy_is_a_store_of_today(run: Run, searched: Path) -> None:
    """It has the mark, the version, the tables and the indexes of a new store, and no other."""
    empty_page(searched, 0, "rows_system")

    copy = carry_out(run("verify", "--store", searched).out, searched)

    with closing(sqlite3.connect(copy)) as connection:
        found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema") if sql}
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        version = schema_of(number_in(connection))
    with closing(sqlite3.connect(":memory:")) as connection:
        known = migrations("foldline.threads.stores.sqlite")
        for piece in (piece for _, pieces in known for piece in pieces):
            connection.execute(piece)
        new = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema") if sql}
    assert (mark, version) == (APPLICATION_ID, known[-1][0])
    assert {_plain(sql) for sql in found} == {_plain(sql) for sql in new}


def _plain(sql: str) -> str:
    return "".join(sql.split())


def test_of_two_threads_of_one_name_none_is_left_out(run: Run, tmp_path: Path) -> None:
    """Where a table holds what its index forbids the copy has no threads, instead of one fewer."""
    path = tmp_path / "x.db"
    _make(path, 4)
    (top, *_), size = pages_of(path, "threads")
    data = path.read_bytes()
    page = data[top : top + size].replace(b"001" + b"x" * 60, b"000" + b"x" * 60)
    path.write_bytes(data[:top] + page + data[top + size :])

    copied = run("verify", "--store", carry_out(run("verify", "--store", path).out, path))

    assert (copied.code, copied.out, copied.err.count("\n")) == (1, "", 1)


def test_a_torn_table_is_not_called_whole(run: Run, tmp_path: Path) -> None:
    """
    Where messages are lost the copy has no threads, and its verification says that it will not do.
    """
    path = tmp_path / "x.db"
    _make(path, 10, words="and so on " * 30)
    empty_page(path, 1, "rows")

    copied = run("verify", "--store", carry_out(run("verify", "--store", path).out, path))

    assert (copied.code, copied.out, copied.err.count("\n")) == (1, "", 1)


@pytest.mark.parametrize("name", ["words", "indexed"])
def test_a_torn_index_of_words_costs_nothing(run: Run, searched: Path, name: str) -> None:
    """
    Where the index of words alone is torn, what is named mends it and leaves all else as it was.
    """
    before = _contents(searched)
    empty_page(searched, 0, name)

    told = run("repair", "--store", searched)
    copy = carry_out(told.out, searched)
    verified, found = (
        run("verify", "--store", copy),
        run("threads", "search", "words", "w77", "--store", copy),
    )

    assert (told.code, verified.code, found.code) == (1, 0, 0)
    assert f"damaged: every thread is whole: {DUMP}" in told.out
    assert "1 message found" in found.out
    assert _contents(copy) == before


def test_a_page_with_nothing_wrong_in_its_rows_costs_nothing(run: Run, tmp_path: Path) -> None:
    """What SQLite finds wrong with a page, and no thread, is gone from the copy that is named."""
    path = tmp_path / "x.db"
    _make(path, 10, words="and so on " * 30)
    before = _contents(path)
    fragment(path)

    told = run("repair", "--store", path)
    copy = carry_out(told.out, path)

    assert "damaged: every thread is whole" in told.out
    assert (run("verify", "--store", copy).code, _contents(copy) == before) == (0, True)
