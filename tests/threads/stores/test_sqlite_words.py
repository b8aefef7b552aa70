"""
The index of words in a SQLite file: what it finds, what it forgets, and what its damage costs.
"""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from foldline.threads.stores.sqlite.inspection import look_into
from foldline.threads.stores.sqlite.postings import add_words, drop_broken_words, find_rows, indexed
from foldline.threads.stores.sqlite.words import IndexedSQLiteStorage
from foldline.threads.verification import verify_store

from foldline.errors import StoreError, ThreadConflictError
from foldline.history.messages import Message
from foldline.threads.fault import Fault
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.commit import delete_thread
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.stores.statements import statements
from tests.apps.pages import empty_page, fragment
from tests.threads.stores.opened import use


PACKAGE = "foldline.threads.stores.sqlite"
SQL = statements(PACKAGE)
SAID = [Message.user(f"parcel{number} is on its way") for number in range(600)]
ENTRY = "word = CAST('parcel300' AS BLOB)"
DAMAGE = {
    "a word": f"UPDATE words SET word = CAST('parcel3o0' AS BLOB) WHERE {ENTRY}",
    "its rows": f"UPDATE words SET places = x'07' WHERE {ENTRY}",
    "an entry": f"DELETE FROM words WHERE {ENTRY}",
    "a block": "DELETE FROM words WHERE block = 1",
    "the last block": "DELETE FROM words WHERE block = 2",
    "a sum": "UPDATE words SET places = x'00' WHERE word = x''",
    "the place of a block": "UPDATE words SET block = 9 WHERE block = 2",
    "a block without a number": "UPDATE words SET block = 'x' WHERE block = 2",
    "the owner of words": "UPDATE words SET branch = 99 WHERE block = 2",
    "words of no type": f"UPDATE words SET places = 7.5 WHERE {ENTRY}",
    "a number too high": "UPDATE indexed SET upto = upto + 64",
    "a number too low": "UPDATE indexed SET upto = upto - 1",
    "a number that is none": "UPDATE indexed SET upto = 'x'",
    "the numbers": "DELETE FROM indexed",
}


async def search(store: SQLiteStore, text: str = "parcel300") -> list[int]:
    """Return the numbers of the messages of the thread `t` that hold *text*."""
    thread = await store.thread("t")
    return [match.number for match in await thread.search(text)]


async def faults(store: SQLiteStore) -> list[Fault]:
    """Return everything that is wrong with *store*."""
    return [fault async for one in verify_store(store) for fault in one.faults]


async def repaired(store: SQLiteStore) -> None:
    """Drop what is damaged of the index of *store*."""
    storage = store.backing.storage
    assert isinstance(storage, IndexedSQLiteStorage)
    await storage.writer.run(lambda connection: drop_broken_words(connection, storage.sql))


def execute(path: Path, *pieces: str) -> None:
    """Run each of *pieces* on the file at *path*, past every store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for piece in pieces:
            connection.execute(piece)


def raw(folder: Path) -> bytes:
    """Return every byte of the files in *folder*."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@pytest.fixture
def searched(tmp_path: Path) -> Path:
    """Return the file of a store with a thread that was searched."""

    async def fill(store: SQLiteStore) -> None:
        await (await store.thread("t")).add_messages(SAID)
        assert await search(store) == [300]
        assert await faults(store) == []

    use(tmp_path / "a.db", fill)
    return tmp_path / "a.db"


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_of_the_index_is_told_and_mended(searched: Path, what: str) -> None:
    """
    A damaged index is a fault of its own kind; without it searches find as before, and verify none.
    """
    execute(searched, DAMAGE[what])

    told = use(searched, faults)
    use(searched, repaired)

    assert [fault.kind for fault in told] == ["index"]
    assert use(searched, search) == [300]
    assert use(searched, faults) == []


@pytest.mark.parametrize("way", ["delete", "clear"])
@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_index_hinders_no_deletion(searched: Path, what: str, way: str) -> None:
    """
    With an index that is damaged in any way a thread is deleted; words that lie astray repair drops.
    """
    execute(searched, DAMAGE[what])

    async def delete(store: SQLiteStore) -> None:
        thread = await store.thread("t")
        await (store.delete("t") if way == "delete" else thread.clear())
        if what == "the owner of words":
            assert [fault.kind for fault in await faults(store)] == ["index"]
            await repaired(store)
        assert await faults(store) == []

    use(searched, delete)

    assert [word for word in (b"parcel10", b"parcel599") if word in searched.read_bytes()] == []


def test_an_index_is_not_mended_in_a_file_that_is_broken(searched: Path) -> None:
    """
    Where SQLite finds the file itself damaged nothing is dropped of an index that is damaged too.
    """
    execute(searched, DAMAGE["an entry"])
    fragment(searched)

    async def mend(store: SQLiteStore) -> tuple[list[Fault], list[Fault], list[Fault]]:
        storage = store.backing.storage
        assert isinstance(storage, IndexedSQLiteStorage)
        return await storage.inspect(), await storage.mend(), await storage.inspect()

    told, mended, left = use(searched, mend)

    assert {fault.kind for fault in told} == {"store", "index"}
    assert (mended, left) == ([], told)


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.parametrize("at", [255, 256, 257, 300, 301, 512, 599])
def test_a_deletion_beside_a_fork_hides_no_damage(searched: Path, what: str, at: int) -> None:
    """
    Where words are damaged in a block that is cut, they are told still, or all of them are found.
    """
    execute(searched, DAMAGE[what])

    async def cut(store: SQLiteStore) -> None:
        thread = await store.thread("t")
        fork = await thread.fork("fork", at=at)
        await store.delete("t")
        told = [fault.kind for fault in await faults(store)]
        for number in {at - 1, min(at - 1, 300)}:
            found = [match.number for match in await fork.search(f"parcel{number}")]
            assert told == ["index"] or found == [number]

    use(searched, cut)


@pytest.mark.parametrize("what", ["a block", "the last block"])
def test_rows_that_are_added_hide_no_damage(searched: Path, what: str) -> None:
    """A block that was lost is told of still where rows behind it have entered the index."""
    execute(searched, DAMAGE[what])

    async def add(store: SQLiteStore) -> tuple[list[int], list[str]]:
        await (await store.thread("t")).add_message(Message.user("late"))
        found = await search(store, "late")
        return found, [fault.kind for fault in await faults(store)]

    assert use(searched, add) == ([600], ["index"])


@pytest.mark.parametrize("name", ["words", "indexed"])
def test_a_search_reads_messages_where_its_index_cannot_be_read(searched: Path, name: str) -> None:
    """With a torn page in the index a search finds what is there."""
    empty_page(searched, 0, name)

    assert use(searched, search) == [300]


def test_a_search_needs_no_room(tmp_path: Path) -> None:
    """
    Where the index cannot grow a search finds what is there, and nothing is left half written.
    """

    async def fill(store: SQLiteStore) -> tuple[list[int], list[Fault]]:
        await (await store.thread("t")).add_messages(SAID)
        storage = store.backing.storage
        assert isinstance(storage, IndexedSQLiteStorage)
        await storage.writer.run(lambda c: c.execute("PRAGMA max_page_count = 1").fetchone())
        with pytest.raises(StoreError, match="SQLITE_FULL"):
            await (await store.thread("other")).add_messages(SAID)
        return await search(store), await faults(store)

    assert use(tmp_path / "a.db", fill) == ([300], [])


def test_an_index_that_somebody_drops_meanwhile_hides_nothing(searched: Path) -> None:
    """Rows behind a gap do not enter the index, so that a search does not take it for complete."""

    async def race(store: SQLiteStore) -> tuple[int, list[int], list[Fault]]:
        thread = await store.thread("t")
        storage = store.backing.storage
        assert isinstance(storage, IndexedSQLiteStorage)
        branch = await storage.branch_of(thread.key)
        assert branch is not None
        await thread.add_message(Message.user("late"))
        execute(searched, "DELETE FROM words", "DELETE FROM indexed")
        await storage.index(thread.key, branch, [(600, "late")])
        first = await storage.indexed(thread.key, branch)
        return first, await search(store), await faults(store)

    assert use(searched, race) == (0, [300], [])


class _Dropped(IndexedSQLiteStorage):
    """
    A storage whose index somebody drops before a word is looked up in it, and makes anew behind.
    """

    async def find(self, key: ThreadKey, branch: bytes, stop: int, words: list[str]) -> list[int]:
        """Drop the index, look *words* up, and make the index anew."""

        def _drop(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM words")
            connection.execute("DELETE FROM indexed")

        await self.writer.run(_drop)
        try:
            return await super().find(key, branch, stop, words)
        finally:
            rows = [(number, f"parcel{number}") for number in range(stop)]
            await self.index(key, branch, rows)


@pytest.mark.parametrize("at", [None, 200])
def test_an_index_that_comes_back_meanwhile_hides_nothing(tmp_path: Path, at: int | None) -> None:
    """
    What a search looks up in an index that is not there is not believed where it is there behind.
    """

    async def find() -> list[int]:
        async with ThreadStore(_Dropped(tmp_path / "a.db")) as store:
            thread = await store.thread("t")
            await thread.add_messages(SAID)
            asked = thread if at is None else await thread.fork("fork", at=at)
            return [match.number for match in await asked.search("parcel150")]

    assert asyncio.run(find()) == [150]


class _Cleared(IndexedSQLiteStorage):
    """A storage of which somebody clears the thread just before a word is looked up in it."""

    async def find(self, key: ThreadKey, branch: bytes, stop: int, words: list[str]) -> list[int]:
        """Clear the thread, then look *words* up."""
        async with SQLiteStore(self.file.path) as other:
            await (await other.thread(key.id)).clear()
        return await super().find(key, branch, stop, words)


def test_a_thread_that_is_cleared_meanwhile_is_a_conflict(tmp_path: Path) -> None:
    """Who looks for words of messages that somebody else clears just then is told so."""

    async def find() -> None:
        async with ThreadStore(_Cleared(tmp_path / "a.db")) as store:
            thread = await store.thread("t")
            await thread.add_messages(SAID)
            await thread.search("parcel150")

    with pytest.raises(ThreadConflictError):
        asyncio.run(find())


@pytest.mark.parametrize("shared", [1, 255, 256, 257, 300, 599, 600])
@pytest.mark.parametrize("known", [200, 600])
def test_a_fork_keeps_the_words_that_it_shares(tmp_path: Path, shared: int, known: int) -> None:
    """
    Where a source is deleted its fork finds what both shared, and no byte of another word is left.
    """
    path = tmp_path / "a.db"

    async def live(store: SQLiteStore) -> tuple[list[int], list[Fault], list[Fault]]:
        thread = await store.thread("source")
        await thread.add_messages(SAID[:known])
        await thread.search("parcel7")
        await thread.add_messages(SAID[known:])
        fork = await thread.fork("t", at=shared)
        await store.delete("source")
        before = await faults(store)
        assert shared == len(SAID) or f"parcel{shared}".encode() not in raw(tmp_path)
        await fork.add_messages(SAID)
        found = await search(store, f"parcel{shared - 1}")
        return found, before, await faults(store)

    assert use(path, live) == ([shared + shared - 1, shared - 1], [], [])


def test_an_index_finds_what_reading_finds(tmp_path: Path) -> None:
    """Whatever is added between searches, they find the same with an index as without one."""
    long = "z" * 70

    def texts() -> list[str]:
        words = ["red", "fox", "naïve", "東京", "a_b", f"{long}1", f"{long}2"]
        return [" ".join(words[place] for place in {n % 7, n % 5, n % 3}) for n in range(700)]

    async def tell(store: MemoryStore | SQLiteStore) -> list[list[int]]:
        found: list[list[int]] = []
        async with store:
            thread = await store.thread("t")
            for start, stop in ((0, 1), (1, 255), (255, 256), (256, 300), (300, 700)):
                await thread.add_messages([Message.user(text) for text in texts()[start:stop]])
                for query in ("red", "fox red", "東京", f"{long}1", "absent", "naïve a_b"):
                    matches = await thread.search(query, limit=1000)
                    found.append([match.number for match in matches])
        return found

    with_index, read = (
        asyncio.run(tell(SQLiteStore(tmp_path / "a.db"))),
        asyncio.run(tell(MemoryStore())),
    )

    assert with_index == read
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        assert connection.execute("SELECT max(length(word)) FROM words").fetchone() == (64,)
    assert any(found for found in read)


def test_a_deletion_costs_what_is_deleted(tmp_path: Path) -> None:
    """
    To delete a small thread that was searched writes as many pages beside a large index as beside none.
    """

    def pages(others: int) -> int:
        path = tmp_path / f"{others}.db"

        async def fill(store: SQLiteStore) -> None:
            for number in range(others):
                thread = await store.thread(f"other{number}")
                await thread.add_messages(SAID)
                await thread.search("parcel7")
            await (await store.thread("t")).add_message(Message.user("small"))
            await search(store)

        use(path, fill)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA secure_delete = ON")
            size: int = connection.execute("PRAGMA page_size").fetchone()[0]
            connection.execute("BEGIN")
            assert delete_thread(connection, SQL, ThreadKey("default", "t"), None)
            connection.execute("COMMIT")
            return Path(f"{path}-wal").stat().st_size // size

    assert pages(8) <= pages(1) + 2


def test_an_index_of_before_is_made_anew(tmp_path: Path, searched: Path) -> None:
    """
    From a file of the second version the index goes, with its bytes, and searches make it anew.
    """
    execute(
        searched,
        "DROP TABLE words",
        "CREATE VIRTUAL TABLE words USING fts5 (text)",
        "INSERT INTO words (rowid, text) VALUES (1, 'secretword')",
        "UPDATE indexed SET upto = 600",
        "PRAGMA user_version = 2",
    )
    assert b"secretword" in searched.read_bytes()

    found = use(searched, search)

    assert found == [300]
    assert b"secretword" not in searched.read_bytes()
    assert use(searched, faults) == []


def test_rows_are_added_once_and_without_a_gap(searched: Path) -> None:
    """What is in the index already is passed over, and nothing is added behind what is missing."""
    with closing(sqlite3.connect(searched, isolation_level=None)) as connection:
        (branch,) = connection.execute("SELECT branch FROM threads").fetchone()
        add_words(connection, SQL, branch, 0, [(598, "again"), (599, "again"), (600, "new")])
        add_words(connection, SQL, branch, 0, [(602, "far")])

        assert indexed(connection, SQL, branch) == 601
        assert find_rows(connection, SQL, branch, (0, 700), ["again"]) == []
        assert find_rows(connection, SQL, branch, (0, 700), ["new"]) == [600]
        assert find_rows(connection, SQL, branch, (0, 700), ["far"]) == []
        assert find_rows(connection, SQL, branch, (301, 700), ["parcel300"]) == []
        assert look_into(connection, SQL).index == ()
