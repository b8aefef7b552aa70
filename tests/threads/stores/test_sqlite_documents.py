"""The documents of a SQLite store, some of which take the place of others."""

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from foldline.threads.change import Change, Document, DocumentKind
from foldline.threads.key import ThreadKey
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.stores.sqlite.store import SQLiteStorage


KEY = ThreadKey("default", "t")
EPOCH = b"b" * 16
KINDS: tuple[DocumentKind, ...] = ("metadata", "execution", "reduction", "tool", "checkpoint")
NAMES = ("", "a", "b", "c")


def _named(kind: DocumentKind, name: str) -> str:
    """Return *name*, unless there is only one document of *kind*."""
    return "" if kind == "execution" else name


def change_at(revision: int, random: Random) -> Change:
    """Return a change that drops and writes documents at random, often of the same names."""
    kinds = random.sample(KINDS, 2)
    return Change(
        id=b"i" * 8,
        revision=revision,
        head=b"h",
        epoch=EPOCH,
        put=[
            Document(kind, _named(kind, name), random.randbytes(random.choice((3, 300, 3_000))))
            for kind in kinds
            for name in random.sample(NAMES, random.randrange(3))
        ],
        drop=[
            (kind, name)
            for kind in kinds
            for name in random.sample((*NAMES, None), random.randrange(3))
        ],
    )


async def seen(storage: SQLiteStorage | MemoryStorage) -> list[list[Document]]:
    """Return the documents of each kind, all and the newest two, and those that are loaded."""
    found: list[list[Document]] = []
    for kind in KINDS:
        found.append(await storage.documents(KEY, kind))
        found.append(await storage.documents(KEY, kind, limit=2))
    loaded = await storage.load(KEY)
    assert loaded is not None
    return [*found, sorted(loaded.documents, key=lambda one: (one.kind, one.name))]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 2, 3))]
)
async def test_documents_are_those_of_a_memory(tmp_path: Path, seed: int) -> None:
    """Whatever one commit drops and writes, the file holds the documents that a memory holds."""
    random, memory = Random(seed), MemoryStorage()
    file = SQLiteStorage(tmp_path / "a.db", durability="relaxed")
    await file.open()
    for revision in range(150):
        change = change_at(revision, random)
        await memory.commit(KEY, change)
        await file.commit(KEY, change)
        assert await seen(file) == await seen(memory), change
    await file.close()


async def test_an_heir_takes_the_row_of_what_is_dropped(tmp_path: Path) -> None:
    """A document that comes as another one of its kind goes is written in its place."""
    path = tmp_path / "a.db"
    plain = Change(id=b"i" * 8, head=b"h", epoch=EPOCH)
    storage = SQLiteStorage(path)
    await storage.open()
    for revision in range(3):
        put = [Document("reduction", str(revision + 1), b"x" * 500)]
        drop = [("reduction", "1")] if revision == 2 else []
        await storage.commit(KEY, replace(plain, revision=revision, put=put, drop=drop))
    await storage.close()
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT rowid, name FROM documents ORDER BY rowid").fetchall()

    assert rows == [(1, "3"), (2, "2")]
