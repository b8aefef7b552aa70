"""The file of a store, read with nothing but SQLite and the decoders of foldline."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from foldline.errors import FoldlineError
from foldline.threads.change import Document
from foldline.threads.cipher import Vault
from foldline.threads.head import Head, content_of, decode_record, decode_reduction
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import Checkpoint
from foldline.threads.row import SEAL_SIZE, StoredRow, check_chain, read_body, read_row
from foldline.threads.storage import StoredThread
from tests.threads.crashes.sight import Parts, Sights, ThreadSight, sight_of


DATABASE = "threads.db"
"""The name of the file in the folder of a case."""

_BITS = 32
_VAULT = Vault()


class _Thread(Struct, frozen=True):
    tenant: str
    name: str
    revision: int
    live: int
    epoch: bytes
    head: bytes
    execution: bytes | None


class _Tables(Struct, frozen=True):
    threads: Mapping[int, _Thread]
    # The id of each epoch and its thread, the oldest first.
    epochs: Mapping[int, tuple[bytes, int]]
    rows: Mapping[int, Mapping[int, tuple[int, bytes]]]
    documents: Mapping[int, Sequence[Document]]


def look(folder: Path) -> Sights:
    """Return what lies in the file in *folder*; a file that cannot be read is `damaged`."""
    try:
        with closing(sqlite3.connect(folder / DATABASE)) as connection:
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                return Sights({}, frozenset({"damaged"}))
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                return Sights({}, frozenset({"half made"} if tables else ()))
            # Others may commit meanwhile: all of it is read as of one moment.
            connection.execute("BEGIN")
            tables = _tables(connection)
        return _disk(tables)
    except (sqlite3.DatabaseError, FoldlineError, UnicodeDecodeError, KeyError):
        return Sights({}, frozenset({"damaged"}))


def _tables(connection: sqlite3.Connection) -> _Tables:
    threads = {
        pk: _Thread(*one)
        for pk, *one in connection.execute(
            "SELECT pk, tenant, id, revision, live, epoch, head, execution FROM threads"
        )
    }
    epochs = connection.execute("SELECT pk, id, thread FROM epochs ORDER BY pk")
    rows: dict[int, dict[int, tuple[int, bytes]]] = {}
    for row_id, system, data in connection.execute("SELECT id, system, data FROM rows ORDER BY id"):
        rows.setdefault(row_id >> _BITS, {})[row_id & ((1 << _BITS) - 1)] = (system, data)
    documents: dict[int, list[Document]] = {}
    for pk, *one in connection.execute("SELECT * FROM documents ORDER BY thread, kind, name DESC"):
        documents.setdefault(pk, []).append(Document(*one))
    for pk, thread in threads.items():
        if thread.execution is not None:
            documents.setdefault(pk, []).append(Document("execution", "", thread.execution))
    return _Tables(
        threads=threads,
        epochs={pk: (id, thread) for pk, id, thread in epochs},
        rows=rows,
        documents=documents,
    )


def _disk(tables: _Tables) -> Sights:
    broken = _loose_ends(tables)
    sights: dict[str, ThreadSight] = {}
    for pk, thread in tables.threads.items():
        sights[thread.name], found = _sight(tables, pk, thread)
        broken |= found
    return Sights(sights, frozenset(broken))


def _sight(tables: _Tables, pk: int, thread: _Thread) -> tuple[ThreadSight, set[str]]:
    key = ThreadKey(thread.tenant, thread.name)
    documents = tables.documents.get(pk, [])
    reductions = [one for one in documents if one.kind == "reduction"]
    loaded = [one for one in documents if one.kind not in {"reduction", "checkpoint"}]
    stored = StoredThread(
        key=key,
        revision=thread.revision,
        head=thread.head,
        documents=[*loaded, *reductions[:1]],
    )
    record = decode_record(stored, _VAULT)
    rows = [
        StoredRow(number, bool(system), data)
        for number, (system, data) in tables.rows.get(thread.live, {}).items()
    ]
    sight, broken = sight_of(
        Parts(
            revision=thread.revision,
            count=record.head.count,
            archived=record.head.archived,
            messages=[read_body(read_row(row, _VAULT).body) for row in rows],
            name=record.display_name,
            execution=record.execution,
            newest=record.reduction,
            reductions=[decode_reduction(_VAULT, key, one).state for one in reductions],
            tools=record.tools,
            checkpoints=[
                content_of(_VAULT, key, one, Checkpoint)
                for one in documents
                if one.kind == "checkpoint"
            ],
        )
    )
    return sight, broken | _row_defects(thread, record.head, rows)


def _row_defects(thread: _Thread, head: Head, rows: Sequence[StoredRow]) -> set[str]:
    is_sealed = check_chain(rows, bytes(SEAL_SIZE), head.runs) is None
    is_last = not rows or rows[-1].seal == head.seal
    digest = read_row(rows[-1], _VAULT).digest if rows and not rows[-1].system else head.digest
    found = {
        "bad seal": not (is_sealed and is_last and digest == head.digest),
        "rows after the head": len(rows) > head.count,
        "foreign epoch": thread.epoch != head.epoch,
    }
    return {name for name, is_broken in found.items() if is_broken}


def _loose_ends(tables: _Tables) -> set[str]:
    """Return what belongs to nothing, or has gaps."""
    live = {thread.live for thread in tables.threads.values()}
    newest = {thread: id for id, thread in tables.epochs.values()}
    found = {
        "rows of no epoch": not tables.rows.keys() <= tables.epochs.keys() | live,
        "documents of no thread": not tables.documents.keys() <= tables.threads.keys(),
        "epochs of no thread": not newest.keys() <= tables.threads.keys(),
        "another epoch is the last": any(
            newest.get(pk) != thread.epoch for pk, thread in tables.threads.items()
        ),
        "gap": any(
            list(rows) != list(range(min(rows), min(rows) + len(rows)))
            or (pk in live and min(rows) != 0)
            for pk, rows in tables.rows.items()
        ),
    }
    return {name for name, is_broken in found.items() if is_broken}
