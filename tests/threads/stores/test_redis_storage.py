"""
Redis as a storage: the promises of the kit, the same answers as memory, and keys that belong together.
"""

import asyncio
from random import Random
from typing import cast

import pytest
from msgspec.structs import replace

from foldline.errors import FoldlineError, StoreCorruptError, StoreError, ThreadNotFoundError
from foldline.testing.storage import StorageCheck, StorageConformance
from foldline.threads.key import ThreadKey
from foldline.threads.step import Branch, Document, DocumentKind, Step, StoredRow, StoredThread
from foldline.threads.storage import ThreadStorage, WordIndex
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.stores.redis.storage import RedisStorage
from tests.threads.stores.redis_image import image, tell


KINDS: tuple[DocumentKind, ...] = ("metadata", "execution", "reduction", "tool", "checkpoint")
KEY = ThreadKey("acme", "t")
ROOT = b"r" * 16


def key_of(kind: str, name: str) -> bytes:
    """Return a key of the tenant `acme`."""
    return f"{{foldline}}/{kind}/acme/{name}".encode()


def step(expected: int, branch: bytes = ROOT, **changes: object) -> Step:
    """Return a step that makes a thread, or goes on with one."""
    fields: dict[str, object] = {
        "id": b"12345678",
        "expected": expected,
        "head": b"head %d" % expected,
        "branch": branch,
        "opens": Branch(branch, None, 0) if expected == 0 else None,
        "last_activity": 1.5,
    }
    return Step(**(fields | changes))  # type: ignore[arg-type]


def rows_from(start: int, count: int, branch: bytes = ROOT) -> list[StoredRow]:
    """Return *count* rows, every third of a system message."""
    return [
        StoredRow(branch=branch, seq=seq, system=seq % 3 == 0, data=b"row %d" % seq)
        for seq in range(start, start + count)
    ]


def plain(answer: object) -> object:
    """Return an answer of a storage with the documents of threads in one order."""
    if isinstance(answer, list):
        return [plain(one) for one in cast("list[object]", answer)]
    if isinstance(answer, StoredThread):
        documents = sorted(answer.documents, key=lambda one: (one.kind, one.name))
        return replace(answer, documents=documents)
    return answer


class Walk:
    """The same steps at random on two storages."""

    def __init__(self, storages: list[ThreadStorage], seed: int) -> None:
        self.storages = storages
        self.random = Random(seed)
        self.threads: dict[ThreadKey, tuple[int, bytes, int]] = {}
        self.branches: list[tuple[str, bytes]] = []

    async def both(self, name: str, *given: object, **options: object) -> None:
        answers: list[object] = []
        for storage in self.storages:
            try:
                answers.append(plain(await getattr(storage, name)(*given, **options)))
            except FoldlineError as error:
                answers.append((type(error), str(error)))
        assert answers[0] == answers[1], (name, given)

    def pick(self) -> ThreadKey:
        number = self.random.randrange(5)
        return ThreadKey(f"tenant-{number % 2}", f"t{number}")

    def documents(self) -> list[Document]:
        return [
            Document(
                self.random.choice(KINDS), f"{self.random.randrange(4)}", self.random.randbytes(5)
            )
            for _ in range(self.random.randrange(4))
        ]

    async def write(self, key: ThreadKey, *, leave: ThreadKey | None, purge: bool) -> None:
        revision, branch, count = self.threads.get(key, (0, b"", 0))
        opens = None
        if leave is not None or purge or revision == 0:
            _, parent, most = (0, b"", 0) if leave is None else self.threads[leave]
            count = self.random.randint(0, most)
            branch = self.random.randbytes(16)
            opens = Branch(branch, parent or None, count if parent else 0)
            self.branches.append((key.tenant, branch))
        rows = [
            StoredRow(
                branch=branch,
                seq=count + at,
                system=self.random.random() < 0.2,
                data=self.random.randbytes(4),
            )
            for at in range(self.random.randrange(6))
        ]
        kind = self.random.choice(KINDS)
        made = step(
            revision,
            branch,
            opens=opens,
            rows=rows,
            put=self.documents(),
            drop=[(kind, self.random.choice([None, "0", "1"]))],
            expires_at=self.random.choice([None, 12.25]),
            purge=purge,
        )
        await self.both("commit", key, made)
        self.threads[key] = (revision + 1, branch, count + len(rows))

    async def go(self) -> None:
        key, act = self.pick(), self.random.random()
        relatives = [one for one in self.threads if one.tenant == key.tenant]
        if key in self.threads and act < 0.15:
            await self.both("delete", key)
            del self.threads[key]
        elif key in self.threads and act < 0.3:
            await self.write(key, leave=key, purge=self.random.random() < 0.3)
        elif key in self.threads and act < 0.4:
            await self.write(key, leave=None, purge=True)
        elif key not in self.threads and relatives and act < 0.7:
            await self.write(key, leave=self.random.choice(relatives), purge=False)
        else:
            await self.write(key, leave=None, purge=False)

    async def compare(self) -> None:
        await self.both("tenants")
        for tenant in ("tenant-0", "tenant-1"):
            for limit in (None, 1):
                await self.both("threads", tenant, after="t1", limit=limit)
        for key, (_, branch, count) in self.threads.items():
            for kind in KINDS:
                await self.both("documents", key, kind, limit=self.random.choice([None, 1, 2]))
            start, stop = sorted(self.random.choices(range(count + 2), k=2))
            for system in (False, True):
                await self.both("rows", key, branch, start, stop, system=system)
                await self.both("rows", key, branch, 0, count, system=system)


@pytest.mark.parametrize("check", StorageConformance.checks(), ids=lambda one: one.name)
def test_conformance(redis_url: str, check: StorageCheck) -> None:
    """Redis keeps every promise of a storage that applies to it, and what a check wrote goes."""
    applies = asyncio.run(StorageConformance(lambda: RedisStorage(redis_url)).prove(check))

    assert applies is not check.needs_words
    assert asyncio.run(image(redis_url)) == {}


def test_no_index_of_words(redis_url: str) -> None:
    """Redis finds no words by itself, so that a search reads the messages."""
    assert not isinstance(RedisStorage(redis_url), WordIndex)


@pytest.mark.parametrize("seed", range(6))
def test_walks_like_memory(redis_url: str, seed: int) -> None:
    """
    Any steps give the same answers as in memory, and no key is left when the threads are deleted.
    """

    async def walk() -> None:
        storages: list[ThreadStorage] = [MemoryStorage(), RedisStorage(redis_url)]
        pair = Walk(storages, seed)
        await storages[1].open()
        for _ in range(50):
            await pair.go()
            await pair.compare()
        for key in pair.threads:
            await pair.both("delete", key)
        await storages[1].close()

    asyncio.run(walk())

    assert asyncio.run(image(redis_url)) == {}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("thread", "t"),
        ("names", "t"),
        ("owned", "t"),
        ("branch", "6e" * 16),
        ("rows", "6e" * 16),
        ("system", "6e" * 16),
        ("children", "6e" * 16),
        ("branch", "72" * 16),
        ("rows", "72" * 16),
        ("children", "72" * 16),
        ("threads", ""),
    ],
)
def test_foreign_key_refuses_the_whole(redis_url: str, kind: str, name: str) -> None:
    """Where one key that a commit needs holds something else, nothing at all is written."""

    async def attempt() -> tuple[object, object]:
        storage = RedisStorage(redis_url)
        await storage.open()
        await storage.commit(KEY, step(0, rows=rows_from(0, 4)))
        await tell(redis_url, "SET", key_of(kind, name).rstrip(b"/"), "foreign")
        before = await image(redis_url)
        new = b"n" * 16
        put = [Document("metadata", "", b"x")]
        rows = rows_from(3, 9, new)
        made = step(1, new, opens=Branch(new, ROOT, 3), rows=rows, put=put, purge=True)
        with pytest.raises(StoreCorruptError):
            await storage.commit(KEY, made)
        await storage.close()
        return before, await image(redis_url)

    before, after = asyncio.run(attempt())

    assert after == before


@pytest.mark.parametrize("start", [0, 3, 5])
def test_gap_is_refused(redis_url: str, start: int) -> None:
    """
    Rows whose numbers do not follow those that are there are refused, with all of their commit.
    """

    async def attempt() -> tuple[object, object]:
        storage = RedisStorage(redis_url)
        await storage.open()
        await storage.commit(KEY, step(0, rows=rows_from(0, 4)))
        before = await image(redis_url)
        with pytest.raises(StoreCorruptError):
            await storage.commit(KEY, step(1, rows=rows_from(start, 2)))
        await storage.close()
        return before, await image(redis_url)

    before, after = asyncio.run(attempt())

    assert after == before


def test_stale_branch_is_refused(redis_url: str) -> None:
    """
    A thread that was made anew takes no rows for the branch of the old one, which a fork shares.
    """

    async def attempt() -> list[StoredRow]:
        storage = RedisStorage(redis_url)
        await storage.open()
        fork, new = ThreadKey("acme", "fork"), b"n" * 16
        await storage.commit(KEY, step(0, rows=rows_from(0, 4)))
        opens = Branch(b"f" * 16, ROOT, 4)
        await storage.commit(fork, step(0, b"f" * 16, opens=opens))
        await storage.delete(KEY)
        await storage.commit(KEY, step(0, new))
        with pytest.raises(ThreadNotFoundError):
            await storage.commit(KEY, step(1, rows=rows_from(4, 1)))
        found = await storage.rows(fork, b"f" * 16, 0, 9)
        await storage.close()
        return found

    assert asyncio.run(attempt()) == rows_from(0, 4)


def test_fork_keeps_only_what_it_shares(redis_url: str) -> None:
    """Behind a rewind, a fork that shares less than the rewind left keeps no row of the rest."""

    async def attempt() -> tuple[list[StoredRow], object, object]:
        storage = RedisStorage(redis_url)
        await storage.open()
        second, third = b"2" * 16, b"3" * 16
        await storage.commit(KEY, step(0, rows=rows_from(0, 9)))
        opens = Branch(second, ROOT, 6)
        await storage.commit(KEY, step(1, second, opens=opens, rows=rows_from(6, 2, second)))
        fork = ThreadKey("acme", "fork")
        await storage.commit(fork, step(0, third, opens=Branch(third, second, 2)))
        await storage.delete(KEY)
        found = await storage.rows(fork, third, 0, 9)
        await storage.close()
        rows = await tell(redis_url, "LRANGE", key_of("rows", ROOT.hex()), "0", "-1")
        marks = await tell(redis_url, "ZRANGE", key_of("system", ROOT.hex()), "0", "-1")
        return found, rows, marks

    found, rows, marks = asyncio.run(attempt())

    assert found == rows_from(0, 2)
    assert rows == [b"srow 0", b"mrow 1"]
    assert marks == [b"0"]


def test_lost_key_is_noticed(redis_url: str) -> None:
    """A thread of which a key has been dropped is damaged, and not a thread without documents."""

    async def attempt() -> None:
        storage = RedisStorage(redis_url)
        await storage.open()
        await storage.commit(KEY, step(0, put=[Document("reduction", "1", b"x")]))
        await tell(redis_url, "DEL", key_of("names", "t"))
        with pytest.raises(StoreCorruptError, match="lost some of its keys"):
            await storage.load(KEY)
        await storage.close()

    asyncio.run(attempt())


def test_lost_thread_is_not_listed(redis_url: str) -> None:
    """A thread whose head has been dropped is in no list, and those behind it are."""

    async def attempt() -> list[str]:
        storage = RedisStorage(redis_url)
        await storage.open()
        for number, id in enumerate(("a", "b", "c")):
            await storage.commit(ThreadKey("acme", id), step(0, b"%d" % number * 16))
        await tell(redis_url, "DEL", key_of("thread", "b"))
        found = await storage.threads("acme", limit=2)
        await storage.close()
        return [one.key.id for one in found]

    assert asyncio.run(attempt()) == ["a", "c"]


def test_too_many_rows_are_refused(redis_url: str) -> None:
    """A commit with more words than one command may have is refused before it is sent."""

    async def attempt() -> None:
        storage = RedisStorage(redis_url)
        await storage.open()
        rows = [StoredRow(branch=ROOT, seq=0, system=False, data=b"")] * 500_001
        with pytest.raises(StoreError, match="500001 messages"):
            await storage.commit(KEY, step(0, rows=rows))
        await storage.close()

    asyncio.run(attempt())

    assert asyncio.run(image(redis_url)) == {}


def test_many_system_messages(redis_url: str) -> None:
    """System messages come alone across forks, in order, however many there are."""

    async def attempt() -> list[StoredRow]:
        storage = RedisStorage(redis_url)
        await storage.open()
        fork, branch = ThreadKey("acme", "fork"), b"f" * 16
        await storage.commit(KEY, step(0, rows=rows_from(0, 2_500)))
        opens = Branch(branch, ROOT, 2_000)
        rows = rows_from(2_000, 100, branch)
        await storage.commit(fork, step(0, branch, opens=opens, rows=rows))
        found = await storage.rows(fork, branch, 10, 2_050, system=True)
        await storage.close()
        return found

    expected = [*rows_from(0, 2_000)[10:], *rows_from(2_000, 50, b"f" * 16)]

    assert asyncio.run(attempt()) == [row for row in expected if row.system]


def test_tenant_is_in_every_key(redis_url: str) -> None:
    """Every key begins with the prefix in braces, and every key of a thread names its tenant."""

    async def write() -> None:
        storage = RedisStorage(redis_url, prefix="app:1")
        await storage.open()
        branch = b"n" * 16
        put = [Document("tool", "a/b\0", b"x")]
        await storage.commit(KEY, step(0, rows=rows_from(0, 4), put=put))
        await storage.commit(KEY, step(1, branch, opens=Branch(branch, ROOT, 2)))
        await storage.close()

    asyncio.run(write())
    keys = set(asyncio.run(image(redis_url)))

    shared = {b"{app:1}/format", b"{app:1}/tenants"}
    assert shared < keys
    assert all(key.split(b"/")[0::2][:2] == [b"{app:1}", b"acme"] for key in keys - shared)
