"""What a commit and a deletion do to the tables of a SQLite file."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import UNSET, UnsetType

from foldline.errors import ThreadConflictError, ThreadNotFoundError
from foldline.threads.change import Change, Copy, Document, DocumentKind, Epoch
from foldline.threads.key import ThreadKey
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread
from foldline.threads.stores.sqlite.migration import SEQ_BITS, SEQ_MASK


__all__ = ["commit_change", "delete_thread", "read_rows"]


_Sql = Mapping[str, str]
_STATE: Final = "execution"
_LAST: Final = 1 << 62


def commit_change(
    connection: sqlite3.Connection, sql: _Sql, key: ThreadKey, change: Change
) -> None:
    """
    Do all of *change* in the open transaction.

    Raises:
        ThreadConflictError: The thread has another revision; nothing was written.
        ThreadNotFoundError: The thread was deleted and made again, or the thread to be copied is gone;
            nothing was written.
    """
    found = connection.execute(sql["find"], (key.tenant, key.id)).fetchone()
    revision = 0 if found is None else found[1]
    if revision != change.revision:
        raise ThreadConflictError(thread_id=key.id, expected=change.revision, actual=revision)
    if found is None:
        pk, live = _make(connection, sql, key, change)
    else:
        pk, _, live, epoch, _ = found
        if epoch != change.epoch:
            # The thread was deleted and made again, and has come to the same revision.
            raise ThreadNotFoundError(thread_id=key.id)
        if change.opens is not None:
            live = _open_epoch(connection, sql, pk, live, change.opens, clears=change.clears)
        _move(connection, sql, pk, change)
    if change.rows:
        _add_rows(connection, sql, live, change.rows)
    if change.drop or change.put:
        _change_documents(connection, sql, pk, change)
    if change.keeps is not None:
        _forget(connection, sql, pk, {*change.keeps, change.current_epoch})


def _add_rows(
    connection: sqlite3.Connection, sql: _Sql, live: int, rows: Sequence[StoredRow]
) -> None:
    base = live << SEQ_BITS
    values = [(base + row.seq, row.system, row.data) for row in rows]
    connection.executemany(sql["add_row"], values)


def _make(
    connection: sqlite3.Connection, sql: _Sql, key: ThreadKey, change: Change
) -> tuple[int, int]:
    state = _state_of(change)
    times = (change.active_at, change.gone_at)
    new = (key.tenant, key.id, change.epoch, change.head, *times, None if state is UNSET else state)
    copied = None if change.copies is None else _source(connection, sql, key, change.copies)
    connection.execute(sql["add_thread"], new)
    pk = _last_id(connection)
    connection.execute(sql["add_epoch"], (pk, change.epoch))
    live = _last_id(connection)
    connection.execute(sql["set_epoch"], (live, change.epoch, pk))
    if isinstance(copied, int) and change.copies is not None:
        base = copied << SEQ_BITS
        shift = (live - copied) << SEQ_BITS
        connection.execute(sql["copy_rows"], (shift, base, base + change.copies.count))
    elif isinstance(copied, list):
        _add_rows(connection, sql, live, copied)
    return pk, live


def _last_id(connection: sqlite3.Connection) -> int:
    (pk,) = connection.execute("SELECT last_insert_rowid()").fetchone()
    return int(pk)


def _source(
    connection: sqlite3.Connection, sql: _Sql, key: ThreadKey, copies: Copy
) -> int | list[StoredRow]:
    """
    Return where the rows of a fork lie now, or, of an earlier epoch, the rows.

    Raises:
        ThreadNotFoundError: The thread was deleted, cleared, or rewound and pruned since it was read.
    """
    span = (0, copies.count)
    found = connection.execute(sql["find"], (key.tenant, copies.source.id)).fetchone()
    if found is not None:
        pk, _, live, epoch, _ = found
        if copies.epoch != epoch:
            rows = _at_epoch(connection, sql, (pk, live), copies.epoch, span)
            if rows is not None and len(rows) == copies.count:
                return rows
        elif not copies.count or _in_span(
            connection, sql["rows"], live, (copies.count - 1, copies.count)
        ):
            return int(live)
    raise ThreadNotFoundError(thread_id=copies.source.id)


def _open_epoch(
    connection: sqlite3.Connection, sql: _Sql, pk: int, live: int, opens: Epoch, *, clears: bool
) -> int:
    """Begin the epoch *opens*; return where the live rows lie."""
    connection.execute(sql["add_epoch"], (pk, opens.id))
    number = _last_id(connection)
    if clears:
        _drop_rows(connection, sql, pk, live)
        connection.execute(sql["drop_epochs"], (pk, number))
        connection.execute(sql["set_epoch"], (number, opens.id, pk))
        return number
    base = live << SEQ_BITS
    shift = (number - live) << SEQ_BITS
    connection.execute(sql["move_rows"], (shift, base + opens.at, base + SEQ_MASK + 1))
    return live


def _move(connection: sqlite3.Connection, sql: _Sql, pk: int, change: Change) -> None:
    state = _state_of(change)
    head = (change.revision + 1, change.current_epoch, change.head)
    values = (*head, change.active_at, change.gone_at)
    if state is UNSET:
        connection.execute(sql["move_thread"], (*values, pk, change.revision))
    else:
        connection.execute(sql["move_thread_and_state"], (*values, state, pk, change.revision))


def _state_of(change: Change) -> bytes | UnsetType | None:
    """Return the execution state that *change* puts beside the head; None if it drops it."""
    is_dropped = any(kind == _STATE and not name for kind, name in change.drop)
    state: bytes | UnsetType | None = None if is_dropped else UNSET
    for one in change.put:
        if one.kind == _STATE and not one.name:
            state = one.data
    return state


def _change_documents(connection: sqlite3.Connection, sql: _Sql, pk: int, change: Change) -> None:
    put = [one for one in change.put if one.kind != _STATE or one.name]
    gone = {*change.drop}
    for kind, name in change.drop:
        heir = _heir(gone, put, kind, name)
        if name is None:
            connection.execute(sql["drop_documents"], (pk, kind))
        elif heir is None:
            connection.execute(sql["drop_document"], (pk, kind, name))
        elif connection.execute(
            sql["move_document"], (heir.name, heir.data, pk, kind, name)
        ).rowcount:
            put.remove(heir)
    for one in put:
        connection.execute(sql["put_document"], (pk, one.kind, one.name, one.data))


def _heir(
    gone: set[tuple[DocumentKind, str | None]],
    put: Sequence[Document],
    kind: DocumentKind,
    name: str | None,
) -> Document | None:
    """Return the document that may take the place of one that is dropped."""
    if name is None:
        return None
    return next(
        (one for one in put if one.kind == kind and not {(kind, one.name), (kind, None)} & gone),
        None,
    )


def _forget(connection: sqlite3.Connection, sql: _Sql, pk: int, kept: set[bytes]) -> None:
    """Delete the rows that were replaced before the first of the epochs *kept* ended."""
    epochs = connection.execute(sql["epochs"], (pk,)).fetchall()
    first = next(place for place, (_, id) in enumerate(epochs) if id in kept)
    for number, _ in epochs[1 : first + 1]:
        _drop_span(connection, sql, number)
    connection.execute(sql["drop_epochs"], (pk, epochs[first][0]))


def _drop_rows(connection: sqlite3.Connection, sql: _Sql, pk: int, live: int) -> None:
    _drop_span(connection, sql, live)
    for number, _ in connection.execute(sql["epochs"], (pk,)).fetchall():
        _drop_span(connection, sql, number)


def _drop_span(connection: sqlite3.Connection, sql: _Sql, number: int) -> None:
    base = number << SEQ_BITS
    connection.execute(sql["drop_rows"], (base, base + SEQ_MASK + 1))


def delete_thread(
    connection: sqlite3.Connection, sql: _Sql, key: ThreadKey, expected: StoredThread | None
) -> bool:
    """
    Delete a thread with everything that belongs to it; False if there is none.

    Raises:
        ThreadConflictError: It is not the thread *expected* any more, if that is given.
    """
    found = connection.execute(sql["find"], (key.tenant, key.id)).fetchone()
    revision = 0 if found is None else found[1]
    if expected is not None and expected.revision != revision:
        raise ThreadConflictError(thread_id=key.id, expected=expected.revision, actual=revision)
    if found is None:
        return False
    pk, _, live, _, head = found
    if expected is not None and head != expected.head:
        # The thread was deleted and made again, and has come to the same revision.
        raise ThreadConflictError(thread_id=key.id, expected=revision, actual=0)
    _drop_rows(connection, sql, pk, live)
    connection.execute(sql["drop_epochs"], (pk, _LAST))
    connection.execute(sql["drop_all_documents"], (pk,))
    connection.execute(sql["drop_thread"], (pk,))
    return True


def read_rows(
    connection: sqlite3.Connection,
    sql: _Sql,
    key: ThreadKey,
    epoch: bytes,
    span: tuple[int, int],
    *,
    system: bool,
) -> list[StoredRow]:
    """Return the rows of *key* in *span* as they were at *epoch*; none if it has no such epoch."""
    found = connection.execute(sql["find"], (key.tenant, key.id)).fetchone()
    if found is None:
        return []
    pk, _, live, current, _ = found
    if not epoch or epoch == current:
        return _in_span(connection, sql["system_rows" if system else "rows"], live, span)
    rows = _at_epoch(connection, sql, (pk, live), epoch, span)
    return [row for row in rows or () if row.system or not system]


def _in_span(
    connection: sqlite3.Connection, select: str, number: int, span: tuple[int, int]
) -> list[StoredRow]:
    base = number << SEQ_BITS
    found = connection.execute(select, (base + span[0], base + span[1]))
    return [StoredRow(id & SEQ_MASK, is_system == 1, data) for id, is_system, data in found]


def _at_epoch(
    connection: sqlite3.Connection,
    sql: _Sql,
    thread: tuple[int, int],
    epoch: bytes,
    span: tuple[int, int],
) -> list[StoredRow] | None:
    """Return rows as they were at *epoch*: those replaced since, and the live ones; None if unknown."""
    pk, live = thread
    epochs = connection.execute(sql["epochs"], (pk,)).fetchall()
    places = [place for place, (_, id) in enumerate(epochs) if id == epoch]
    if not places:
        return None
    select = sql["rows"]
    rows = {row.seq: row for row in _in_span(connection, select, live, span)}
    # The first epoch that replaced a row replaced the one of that time.
    for number, _ in reversed(epochs[places[0] + 1 :]):
        rows.update((row.seq, row) for row in _in_span(connection, select, number, span))
    return [rows[seq] for seq in sorted(rows)]
