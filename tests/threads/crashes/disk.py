"""The file of a store, read with nothing but SQLite and the decoders of foldline."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from foldline.errors import FoldlineError
from foldline.threads.change import Document
from foldline.threads.cipher import Vault
from foldline.threads.head import (
    SEAL_SIZE,
    ThreadRecord,
    decode_checkpoint,
    decode_record,
    decode_reduction,
    open_document,
)
from foldline.threads.key import ThreadKey
from foldline.threads.row import StoredRow, check_chain, read_body, read_row
from foldline.threads.storage import StoredThread
from tests.threads.crashes.sight import Parts, ThreadSight, sight_of


__all__ = ["DATABASE", "Disk", "look"]

DATABASE = "threads.db"
"""The name of the file in the folder of a case."""

_BITS = 32
_VAULT = Vault()


class Disk(Struct, frozen=True):
    """What lies in the file."""

    threads: Mapping[str, ThreadSight]
    """Each thread by its id."""

    broken: frozenset[str]
    """The names of the promises that it breaks by itself."""


class _Branch(Struct, frozen=True):
    id: bytes
    thread: int | None
    parent: int | None
    at: int


class _Tables(Struct, frozen=True):
    threads: Mapping[int, tuple[str, str, int, int, bytes]]
    branches: Mapping[int, _Branch]
    rows: Mapping[int, Mapping[int, tuple[int, bytes]]]
    documents: Mapping[int, Sequence[Document]]


def look(folder: Path) -> Disk:
    """Return what lies in the file in *folder*; a file that cannot be read is `damaged`."""
    try:
        with closing(sqlite3.connect(folder / DATABASE)) as connection:
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                return Disk({}, frozenset({"damaged"}))
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                return Disk({}, frozenset({"half made"} if tables else ()))
            tables = _tables(connection)
        return _disk(tables)
    except (sqlite3.DatabaseError, FoldlineError, UnicodeDecodeError, KeyError):
        return Disk({}, frozenset({"damaged"}))


def _tables(connection: sqlite3.Connection) -> _Tables:
    threads = connection.execute("SELECT pk, tenant, id, revision, branch, head FROM threads")
    branches = connection.execute("SELECT pk, id, thread, parent, at FROM branches")
    rows: dict[int, dict[int, tuple[int, bytes]]] = {}
    for row_id, system, data in connection.execute("SELECT id, system, data FROM rows ORDER BY id"):
        rows.setdefault(row_id >> _BITS, {})[row_id & ((1 << _BITS) - 1)] = (system, data)
    documents: dict[int, list[Document]] = {}
    for pk, *one in connection.execute("SELECT * FROM documents ORDER BY thread, kind, name DESC"):
        documents.setdefault(pk, []).append(Document(*one))
    states = connection.execute("SELECT pk, execution FROM threads WHERE execution IS NOT NULL")
    for pk, state in states:
        documents.setdefault(pk, []).append(Document("execution", "", state))
    return _Tables(
        threads={pk: tuple(one) for pk, *one in threads},
        branches={pk: _Branch(*one) for pk, *one in branches},
        rows=rows,
        documents=documents,
    )


def _disk(tables: _Tables) -> Disk:
    broken = _loose_ends(tables)
    sights: dict[str, ThreadSight] = {}
    for pk, thread in tables.threads.items():
        sight, found = _thread(tables, pk, thread)
        sights[sight[0]] = sight[1]
        broken |= found
    return Disk(sights, frozenset(broken))


def _thread(
    tables: _Tables, pk: int, thread: tuple[str, str, int, int, bytes]
) -> tuple[tuple[str, ThreadSight], set[str]]:
    tenant, name, revision, branch, head = thread
    key = ThreadKey(tenant, name)
    documents = tables.documents.get(pk, [])
    reductions = [one for one in documents if one.kind == "reduction"]
    loaded = [one for one in documents if one.kind not in {"reduction", "checkpoint"}]
    stored = StoredThread(
        key=key, revision=revision, head=head, documents=[*loaded, *reductions[:1]]
    )
    record = decode_record(stored, _VAULT)
    rows = _rows(tables, branch, record.head.count)
    sight, broken = sight_of(
        Parts(
            revision=revision,
            count=record.head.count,
            archived=record.head.archived,
            messages=[read_body(read_row(row, _VAULT).body) for row in rows],
            name=record.display_name,
            execution=record.execution,
            newest=record.reduction,
            reductions=[decode_reduction(_VAULT, key, one) for one in reductions],
            tools=record.tools,
            checkpoints=[
                decode_checkpoint(open_document(_VAULT, key, one))
                for one in documents
                if one.kind == "checkpoint"
            ],
        )
    )
    return (name, sight), broken | _row_defects(tables, branch, record, rows)


def _row_defects(
    tables: _Tables, branch: int, record: ThreadRecord, rows: Sequence[StoredRow]
) -> set[str]:
    head = record.head
    own = tables.rows.get(branch, {})
    is_sealed = check_chain(rows, bytes(SEAL_SIZE)) is None
    is_last = not rows or rows[-1].data[:SEAL_SIZE] == head.seal
    counts = read_row(rows[-1], _VAULT).digest if rows and not rows[-1].system else head.digest
    found = {
        "bad seal": not (is_sealed and is_last and counts == head.digest),
        "rows behind the head": bool(own) and max(own) >= head.count,
        "foreign branch": tables.branches[branch].id != head.branch,
    }
    return {name for name, is_broken in found.items() if is_broken}


def _rows(tables: _Tables, branch: int, count: int) -> list[StoredRow]:
    rows: list[StoredRow] = []
    stop, at = count, branch
    while True:
        known = tables.branches[at]
        own = tables.rows.get(at, {})
        rows[:0] = [
            StoredRow(
                branch=known.id,
                seq=number,
                system=bool(own[number][0]),
                data=own[number][1],
            )
            for number in range(known.at, stop)
            if number in own
        ]
        stop = min(stop, known.at)
        if known.parent is None:
            return rows
        at = known.parent


def _loose_ends(tables: _Tables) -> set[str]:
    """Return what belongs to nothing, or has gaps."""
    parents = {branch.parent for branch in tables.branches.values()}
    found = {
        "rows of no branch": not tables.rows.keys() <= tables.branches.keys(),
        "documents of no thread": not tables.documents.keys() <= tables.threads.keys(),
        "gap": any(
            list(rows) != list(range(tables.branches[pk].at, tables.branches[pk].at + len(rows)))
            for pk, rows in tables.rows.items()
            if pk in tables.branches
        ),
        "branches of nobody": any(
            branch.thread not in tables.threads and pk not in parents
            for pk, branch in tables.branches.items()
        ),
    }
    return {name for name, is_broken in found.items() if is_broken}
