"""PostgreSQL as a storage: the promises of the kit, what is left in the tables, and odd texts."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest

from foldline.errors import StoreError, ThreadConflictError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.testing.storage import StorageCheck, StorageConformance
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.step import Branch, Document, Step, StoredRow
from foldline.threads.storage import ThreadStorage, WordIndex
from foldline.threads.stores.postgres.storage import PostgresStorage
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun
from tests.servers.postgres import PostgresServer


TABLES = ("branches", "documents", "indexed", "rows", "threads", "words")
NOTHING = dict.fromkeys(TABLES, 0)
ODD_NAMES = [
    "",
    "a\0b",
    "\ud800",
    "'; DROP TABLE threads; --",
    "%s %(id)s {}",
    "\\x00",
    "é",
    "\uffff",
    "\U0001f600",
    "x" * 2000,
]


OPEN = AgentLoopState(
    run_id="r", conversation_id="c", started_at=datetime(2026, 1, 1, tzinfo=UTC), iteration=1
)


@pytest.fixture(scope="module")
def database(postgres_server: PostgresServer) -> Iterator[str]:
    """Return the address of a database that the tests share, with tables."""

    async def make(address: str) -> None:
        async with PostgresStore(address):
            pass

    with postgres_server.database() as address:
        asyncio.run(make(address))
        yield address


@pytest.fixture
def dsn(database: str) -> Iterator[str]:
    """Return the address of that database, whose tables are emptied afterwards."""
    yield database
    with psycopg.connect(database) as connection:
        for table in TABLES:
            connection.execute(f"DELETE FROM foldline.{table}".encode())


def counts(dsn: str, schema: str = "foldline") -> dict[str, int]:
    """Return how many rows each table has."""
    found: dict[str, int] = {}
    with psycopg.connect(dsn) as connection:
        for table in TABLES:
            row = connection.execute(f"SELECT count(*) FROM {schema}.{table}".encode()).fetchone()
            found[table] = 0 if row is None else row[0]
    return found


def step(expected: int, branch: bytes, **changes: object) -> Step:
    """Return a step on *branch*, which opens it where it makes the thread."""
    fields: dict[str, object] = {
        "id": b"12345678",
        "expected": expected,
        "head": b"head",
        "branch": branch,
        "opens": None if expected else Branch(branch, None, 0),
        "last_activity": 1.0,
    }
    return Step(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("check", StorageConformance.checks(), ids=lambda one: one.name)
def test_conformance(dsn: str, check: StorageCheck) -> None:
    """PostgreSQL keeps every promise of a storage, and what a check wrote goes."""
    applies = asyncio.run(StorageConformance(lambda: PostgresStorage(dsn)).prove(check))

    assert applies
    assert counts(dsn) == NOTHING


def test_protocols(dsn: str) -> None:
    """It is a storage with an index of words."""
    storage = PostgresStorage(dsn)

    assert isinstance(storage, ThreadStorage)
    assert isinstance(storage, WordIndex)


def test_a_thread_lives(dsn: str) -> None:
    """
    A conversation is written, loaded, searched, rewound, forked and deleted, and nothing is left.
    """

    async def live() -> tuple[list[str], list[str], list[int], list[str]]:
        async with PostgresStore(dsn) as store:
            thread = await store.thread("t", tenant="acme")
            await thread.add_messages([Message.system("s"), Message.user("red fox")])
            await thread.commit(messages=[Message.assistant("blue")], execution=OPEN)
            fork = await thread.fork("f", at=1)
            await thread.rewind(1)
            await thread.add_message(Message.assistant("green fox"))
            again = await store.thread("t", tenant="acme")
            told = [one.text for one in await again.get_messages()]
            found = [one.number for one in await again.search("fox")]
            shared = [one.text for one in await fork.get_messages()]
            await store.delete("t", tenant="acme")
            rest = [one.text for one in await fork.get_messages()]
            await store.delete("f", tenant="acme")
            return told, shared, found, rest

    told, shared, found, rest = asyncio.run(live())

    assert told == ["s", "red fox", "green fox"]
    assert shared == rest == ["s", "red fox"]
    assert found == [2, 1]
    assert counts(dsn) == NOTHING


def test_clear_leaves_what_a_fork_shares(dsn: str) -> None:
    """Clearing a thread deletes all its rows but those that a fork shares."""

    async def live() -> list[dict[str, int]]:
        async with PostgresStore(dsn) as store:
            thread = await store.thread("t")
            await thread.add_messages([Message.user(f"m{number}") for number in range(6)])
            await thread.search("m1")
            fork = await thread.fork("f", at=2)
            seen = [counts(dsn)]
            await thread.clear()
            seen.append(counts(dsn))
            await store.delete("t")
            await store.delete(fork.id)
            return [*seen, counts(dsn)]

    before, cleared, gone = asyncio.run(live())

    assert (before["rows"], before["words"], before["threads"]) == (6, 6, 2)
    assert (cleared["rows"], cleared["words"], cleared["threads"]) == (2, 2, 2)
    assert gone == NOTHING


def test_of_racing_writers_one_wins(dsn: str) -> None:
    """
    Of two stores that write to one thread one is told of the other, and then appends behind it.
    """

    async def live() -> tuple[str, list[str]]:
        async with PostgresStore(dsn) as one, PostgresStore(dsn) as other:
            first, second = await one.thread("t"), await other.thread("t")
            await first.add_message(Message.user("a"))
            with pytest.raises(ThreadConflictError) as caught:
                await second.add_message(Message.user("b"))
            await second.append([Message.user("b")])
            texts = [message.text for message in await second.get_messages()]
            await one.delete("t")
            return str(caught.value), texts

    error, texts = asyncio.run(live())

    assert "at revision 2, not 1" in error
    assert texts == ["a", "b"]


def test_many_writers_lose_nothing(dsn: str) -> None:
    """
    Tasks of several stores that append to one thread at once write every batch once and whole.
    """

    async def live() -> list[str]:
        async with PostgresStore(dsn) as one, PostgresStore(dsn, pool_size=2) as other:

            async def write(store: PostgresStore, writer: int) -> None:
                thread = await store.thread("t")
                for number in range(5):
                    texts = [f"{writer} {number} {half}" for half in "ab"]
                    await thread.append([Message.user(text) for text in texts])

            await asyncio.gather(*(write((one, other)[n % 2], n) for n in range(6)))
            thread = await one.thread("t")
            texts = [message.text for message in await thread.get_messages()]
            await one.delete("t")
            return texts

    texts = asyncio.run(live())

    assert sorted(texts) == sorted(
        f"{writer} {number} {half}" for writer in range(6) for number in range(5) for half in "ab"
    )
    assert all(one[:-1] == two[:-1] for one, two in zip(texts[::2], texts[1::2], strict=True))


async def race(store: PostgresStore) -> None:
    """Fork a thread in several places while it is deleted."""
    thread = await store.thread("t")
    await thread.add_messages([Message.user(f"m{number}") for number in range(8)])
    forks = [thread.fork(f"f{number}", at=number + 3) for number in range(4)]
    *made, _ = await asyncio.gather(*forks, store.delete("t"), return_exceptions=True)
    for number, fork in enumerate(made):
        if isinstance(fork, ConversationThread):
            assert len(await fork.get_messages()) == number + 3
        else:
            assert isinstance(fork, ThreadNotFoundError | StoreError), fork
        await store.delete(f"f{number}")


def test_forks_and_deletions_at_once(dsn: str) -> None:
    """A fork that races with the deletion of its source has every row, or is refused."""

    async def live() -> None:
        async with PostgresStore(dsn, pool_size=6) as store:
            for _ in range(15):
                await race(store)

    asyncio.run(live())

    assert counts(dsn) == NOTHING


def test_tenants_never_meet(dsn: str) -> None:
    """Threads of one id and two tenants know nothing of each other, their branches included."""

    async def live() -> tuple[list[StoredRow], list[StoredRow], list[str], bool]:
        storage = PostgresStorage(dsn)
        await storage.open()
        own, foreign = ThreadKey("a", "t"), ThreadKey("b", "t")
        branch = b"b" * 16
        await storage.commit(
            own, step(0, branch, rows=[StoredRow(branch=branch, seq=0, system=False, data=b"x")])
        )
        seen = await storage.rows(own, branch, 0, 9)
        hidden = await storage.rows(foreign, branch, 0, 9)
        tenants = await storage.tenants()
        with pytest.raises(ThreadNotFoundError):
            await storage.commit(foreign, step(0, branch, opens=None))
        missed = await storage.delete(foreign)
        await storage.delete(own)
        await storage.close()
        return seen, hidden, tenants, missed

    seen, hidden, tenants, missed = asyncio.run(live())

    assert seen == [StoredRow(branch=b"b" * 16, seq=0, system=False, data=b"x")]
    assert hidden == []
    assert tenants == ["a"]
    assert missed is False


def test_odd_names(dsn: str) -> None:
    """
    Names of documents come back as they are, in the order of their characters, and can be dropped.
    """

    async def live() -> tuple[list[str], list[str], list[str]]:
        storage = PostgresStorage(dsn)
        await storage.open()
        key, branch = ThreadKey("a", "t"), b"b" * 16
        put = [Document("tool", name, b"\0\xff") for name in ODD_NAMES]
        await storage.commit(key, step(0, branch, put=put))
        found = [one.name for one in await storage.documents(key, "tool")]
        stored = await storage.load(key)
        assert stored is not None
        loaded = [one.name for one in stored.documents]
        drop = [("tool", name) for name in ODD_NAMES[:-1]]
        await storage.commit(key, step(1, branch, drop=drop))
        left = [one.name for one in await storage.documents(key, "tool")]
        await storage.commit(key, step(2, branch, drop=[("tool", None)]))
        left += [one.name for one in await storage.documents(key, "tool")]
        await storage.delete(key)
        await storage.close()
        return found, loaded, left

    found, loaded, left = asyncio.run(live())

    assert found == sorted(ODD_NAMES, reverse=True)
    assert sorted(loaded) == sorted(ODD_NAMES)
    assert left == ODD_NAMES[-1:]


@pytest.mark.parametrize("text", ODD_NAMES)
def test_odd_texts(dsn: str, text: str) -> None:
    """What was said, how a call was named and what is searched may hold anything."""
    call = Message(role="assistant", parts=(ToolCallPart(id=text, name="f", arguments="{}"),))

    async def live() -> tuple[list[Message], tuple[ToolRun, ...]]:
        async with PostgresStore(dsn) as store:
            thread = await store.thread("t")
            run = ToolRun(call_id=text, name="f", place=1)
            await thread.commit(messages=[Message.user(text), call], tools=[run])
            again = await store.thread("t")
            messages = await again.get_messages()
            assert await again.search(f"word {text.replace(chr(34), '')}") == []
            await store.delete("t")
            return messages, again.pending_tools

    messages, tools = asyncio.run(live())

    assert messages == [Message.user(text), call]
    assert [run.call_id for run in tools] == [text]
    assert counts(dsn) == NOTHING


def test_words_of_any_length(dsn: str) -> None:
    """A word that is too long for an index is found, and one that begins like it is not."""
    long = "a" * 5000

    async def live() -> tuple[list[int], list[int]]:
        async with PostgresStore(dsn) as store:
            thread = await store.thread("t")
            await thread.add_messages([Message.user(long), Message.user(f"{long}b x")])
            both = [one.number for one in await thread.search(long)]
            longer = [one.number for one in await thread.search(f"{long}b")]
            await store.delete("t")
            return both, longer

    assert asyncio.run(live()) == ([0], [1])


def test_a_large_commit(dsn: str) -> None:
    """Ten thousand messages are one commit."""

    async def live() -> tuple[int, str]:
        async with PostgresStore(dsn) as store:
            thread = await store.thread("t")
            await thread.add_messages([Message.user(f"m{number}") for number in range(10_000)])
            revision = thread.revision
            messages = await (await store.thread("t")).get_messages()
            await store.delete("t")
            return revision, messages[-1].text

    assert asyncio.run(live()) == (2, "m9999")
