"""What a commit and a deletion do to the tables of a SQLite file."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import UNSET, UnsetType

from foldline.errors import StoreCorruptError, ThreadConflictError, ThreadNotFoundError
from foldline.threads.key import ThreadKey
from foldline.threads.step import Branch, Document, DocumentKind, Step, StoredThread
from foldline.threads.stores.sqlite.lineage import SEQ_BITS, SEQ_MASK, lineage
from foldline.threads.stores.sqlite.names import check_absent
from foldline.threads.stores.sqlite.postings import drop_words


__all__ = ["commit_step", "delete_thread"]


_SQL = Mapping[str, str]
_STATE: Final = "execution"


def commit_step(connection: sqlite3.Connection, sql: _SQL, key: ThreadKey, step: Step) -> None:
    """
    Do all of *step* in the open transaction.

    Raises:
        ThreadConflictError: The revision is not the expected one; nothing was written.
        ThreadNotFoundError: The branch that it goes on from is gone, or of another thread; nothing
            was written.
        StoreCorruptError: What is stored of its branch is damaged; nothing was written.
    """
    found = connection.execute(sql["find_thread"], (key.tenant, key.id)).fetchone()
    if found is None:
        check_absent(connection, sql, key)
    pk, revision, branch, name = found or (None, 0, 0, b"")
    if revision != step.expected:
        raise ThreadConflictError(thread_id=key.id, expected=step.expected, actual=revision)
    if step.opens is not None:
        branch = _open_branch(connection, sql, key, step.opens, thread=pk)
    else:
        _check_branch(key, name, expected=step.branch)
    values = (branch, step.head, step.last_activity, step.expires_at)
    state = _state_of(step)
    if pk is None:
        new = (key.tenant, key.id, *values, None if state is UNSET else state)
        connection.execute(sql["add_thread"], new)
        (pk,) = connection.execute("SELECT last_insert_rowid()").fetchone()
    elif state is UNSET:
        connection.execute(sql["move_thread"], (revision + 1, *values, pk, revision))
    else:
        moved = (revision + 1, *values, state, pk, revision)
        connection.execute(sql["move_thread_and_state"], moved)
    if step.opens is not None:
        connection.execute(sql["own_branch"], (pk, branch))
    if step.rows:
        base = branch << SEQ_BITS
        connection.executemany(
            sql["add_row"], [(base + row.seq, row.system, row.data) for row in step.rows]
        )
    _change_documents(connection, sql, pk, step)
    if step.purge:
        _disown(connection, sql, pk, but=branch)


def _check_branch(key: ThreadKey, name: object, *, expected: bytes) -> None:
    if name == expected:
        return
    if not isinstance(name, bytes):
        message = f"the branch of thread {key.id!r} has lost its name"
        raise StoreCorruptError(message)
    # The thread was deleted and made anew, and has come to the same revision.
    raise ThreadNotFoundError(thread_id=key.id)


def _open_branch(
    connection: sqlite3.Connection, sql: _SQL, key: ThreadKey, opens: Branch, *, thread: int | None
) -> int:
    parent = None
    if opens.parent is not None:
        parent = _parent_pk(connection, sql, key, opens, thread=thread)
    # What shares nothing keeps nobody from being deleted.
    values = (opens.id, key.tenant, parent if opens.at else None, opens.at)
    connection.execute(sql["add_branch"], values)
    (pk,) = connection.execute("SELECT last_insert_rowid()").fetchone()
    return int(pk)


def _parent_pk(
    connection: sqlite3.Connection, sql: _SQL, key: ThreadKey, opens: Branch, *, thread: int | None
) -> int:
    """
    Return the branch that owns the last row before those of *opens*.

    A branch whose own rows all lie behind *at* has nothing to share, so that it is passed over:
    it may then be deleted without regard to the new one.
    """
    name = opens.parent or b""
    found = connection.execute(sql["find_branch"], (name, key.tenant)).fetchone()
    if found is None:
        # Somebody has deleted or cleared the thread that was to be forked.
        raise ThreadNotFoundError(thread_id=key.id)
    pk = int(found[0])
    owner = connection.execute(sql["sweep_facts"], (pk,)).fetchone()[0]
    if owner is None or thread not in {None, owner}:
        # It is of a thread that was deleted, or cleared, and maybe made anew. Forks of it may still
        # need its rows, but whoever deleted it wants nobody else to have them.
        raise ThreadNotFoundError(thread_id=key.id)
    for pk, _, start, _ in lineage(connection, sql, key, name):  # noqa: B007 - the last counts
        if start < opens.at:
            break
    return pk


def _state_of(step: Step) -> bytes | UnsetType | None:
    """
    Return the execution state that *step* puts into the row of the thread; None where it drops it.
    """
    is_dropped = any(kind == _STATE and not name for kind, name in step.drop)
    state: bytes | UnsetType | None = None if is_dropped else UNSET
    for one in step.put:
        if one.kind == _STATE and not one.name:
            state = one.data
    return state


def _change_documents(connection: sqlite3.Connection, sql: _SQL, pk: int, step: Step) -> None:
    put = [one for one in step.put if one.kind != _STATE or one.name]
    gone = {*step.drop}
    for kind, name in step.drop:
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
    """
    Return the document that may take the place of one that is dropped: no page more is written.
    """
    if name is None:
        return None
    return next(
        (one for one in put if one.kind == kind and not {(kind, one.name), (kind, None)} & gone),
        None,
    )


def delete_thread(
    connection: sqlite3.Connection, sql: _SQL, key: ThreadKey, expected: StoredThread | None
) -> bool:
    """
    Delete a thread with everything that no fork of it shares; False where there is none.

    Raises:
        ThreadConflictError: It is not the thread *expected* any more, where that is given.
    """
    found = connection.execute(sql["find_thread"], (key.tenant, key.id)).fetchone()
    revision = 0 if found is None else found[1]
    if expected is not None and expected.revision != revision:
        raise ThreadConflictError(thread_id=key.id, expected=expected.revision, actual=revision)
    if found is None:
        check_absent(connection, sql, key)
        return False
    pk = found[0]
    if expected is not None:
        (head,) = connection.execute(sql["head_of"], (pk,)).fetchone()
        if head != expected.head:
            # The thread was deleted and made anew, and has come to the same revision.
            raise ThreadConflictError(thread_id=key.id, expected=revision, actual=0)
    connection.execute(sql["drop_all_documents"], (pk,))
    _disown(connection, sql, pk)
    connection.execute(sql["drop_thread"], (pk,))
    return True


def _disown(connection: sqlite3.Connection, sql: _SQL, pk: int, *, but: int | None = None) -> None:
    """Let the thread *pk* own no branch, or one alone, and delete what only it has needed."""
    left = [branch for (branch,) in connection.execute(sql["branches_of"], (pk,))]
    left = [branch for branch in left if branch != but]
    connection.executemany(sql["disown"], [(branch,) for branch in left])
    for branch in left:
        _sweep(connection, sql, branch)


def _sweep(connection: sqlite3.Connection, sql: _SQL, branch: int | None) -> None:
    """Delete the rows of a branch that nobody owns, but for those that another one shares."""
    while branch is not None:
        facts = connection.execute(sql["sweep_facts"], (branch,)).fetchone()
        if facts is None or facts[0] is not None:
            return
        _, parent, shared = facts
        base = branch << SEQ_BITS
        span = (base + (shared or 0), base + SEQ_MASK + 1)
        connection.execute(sql["drop_rows"], span)
        drop_words(connection, sql, branch, shared or 0)
        if shared is not None:
            return
        connection.execute(sql["drop_branch"], (branch,))
        branch = parent
