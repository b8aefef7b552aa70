"""
What a repair advises where every message is whole and what finds it is not, and that it works.
"""

import asyncio
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from foldline.history.messages import Message
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.apps.pages import empty_page, fragment, pages_of
from tests.threads.sample import ONE, fill


Run = Callable[..., Any]

REINDEX = "on a copy, `sqlite3 COPY REINDEX`, then `foldline verify --store COPY`"
TABLES = ("branches", "threads", "rows", "documents")


def _carry_out(path: Path, sql: str) -> Path:
    """
    Run *sql* on a copy of the store, and return the copy.
    """
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.executescript(sql)
    return copy


def _contents(path: Path) -> list[list[Any]]:
    """
    Return every row of every table but those that searches make anew.
    """
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
    """
    Let the index of names forget its last entry, as a write does that was lost.
    """
    (top, *_), _ = pages_of(path, "sqlite_autoindex_threads_1")
    data = bytearray(path.read_bytes())
    count = int.from_bytes(data[top + 3 : top + 5])
    data[top + 3 : top + 5] = (count - 1).to_bytes(2)
    path.write_bytes(data)


def _repeat(path: Path) -> None:
    """
    Let the index of names hold its first entry in place of its second one too.
    """
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
    copied = run("verify", "--store", _carry_out(path, "REINDEX"))

    last = told.out.splitlines()[-1]
    assert told.code == 1
    assert f"is damaged: every thread that can be listed is whole: {REINDEX}" in last
    assert (copied.code, copied.out[:9]) == (0, "4 threads")


@pytest.fixture
def searched(tmp_path: Path) -> Path:
    """
    Return the file of a store with everything in it, and an index of many words.
    """

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


def _named(told: str) -> str:
    """
    Return the statements of the second command that was named.
    """
    found = re.search(r'COPY "([^"]+)"`', told)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    "name", ["words_data", "words_content", "words_docsize", "words_idx", "words_config"]
)
def test_a_torn_index_of_words_costs_nothing(run: Run, searched: Path, name: str) -> None:
    """
    Where the index of words alone is torn, what is named mends it and leaves all else as it was.
    """
    before = _contents(searched)
    empty_page(searched, 0, name)

    told = run("repair", "--store", searched)
    copy = _carry_out(searched, _named(told.out))
    verified, found = (
        run("verify", "--store", copy),
        run("threads", "search", "words", "w77", "--store", copy),
    )

    assert (told.code, verified.code, found.code) == (1, 0, 0)
    assert f"damaged: every thread is whole: {REINDEX}" in told.out
    assert "1 message found" in found.out
    assert _contents(copy) == before


def test_a_page_with_nothing_wrong_in_its_rows_costs_nothing(run: Run, tmp_path: Path) -> None:
    """
    What SQLite finds wrong with a page, and no thread, is gone from the copy that is named.
    """
    path = tmp_path / "x.db"
    _make(path, 10, words="and so on " * 30)
    before = _contents(path)
    fragment(path)

    told = run("repair", "--store", path)
    copy = _carry_out(path, _named(told.out))

    assert "damaged: every thread is whole" in told.out
    assert (run("verify", "--store", copy).code, _contents(copy) == before) == (0, True)
