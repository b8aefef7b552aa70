"""What is read from the tables of a SQLite file, and what a commit and a deletion do to them."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import islice, starmap
from math import inf
from operator import attrgetter
from time import time
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from foldline.errors import ThreadConflictError, ThreadNotFoundError
from foldline.threads.change import Change, Copy, Document, DocumentKind, Epoch
from foldline.threads.key import ThreadKey, listed_key, name_of
from foldline.threads.lease import Lease, lease_at
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread
from foldline.threads.stores.sqlite.migration import SEQ_BITS, SEQ_MASK


# What most turns see, and the row before, whose chain hash the first one is compared with.
_TAIL: Final = 26
_STATE: Final = "execution"
_LAST: Final = 1 << 62
_MOST_PLACES: Final = 4_096
_NUMBER, _SYSTEM, _DATA = map(attrgetter, ("seq", "system", "data"))

State: TypeAlias = bytes | UnsetType | None
"""An execution state; None clears it, and without one it stays."""


class Tables(Struct, frozen=True):
    """The tables that a connection has open, in a transaction."""

    connection: sqlite3.Connection
    sql: Mapping[str, str]
    clock: Callable[[], float] = time
    # Where threads were found: their own number, and that under which their rows lie.
    places: dict[ThreadKey, tuple[int, int]] = {}

    def run(self, name: str, *values: object) -> sqlite3.Cursor:
        """Run the statement of that name."""
        return self.connection.execute(self.sql[name], values)

    def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread with its newest rows; None if there is none."""
        found = self.run("load", key.tenant, key.id).fetchone()
        if found is None:
            return None
        *facts, live = found
        base = live << SEQ_BITS
        try:
            newest = _rows(self.run("tail", base, base + SEQ_MASK, _TAIL))
        except sqlite3.DatabaseError:
            # Reading the damaged row itself reports it; the thread can be loaded all the same.
            newest = []
        return self._stored(key, facts, newest[::-1])

    def _stored(
        self, key: ThreadKey, facts: Sequence[Any], tail: Sequence[StoredRow] = ()
    ) -> StoredThread:
        pk, revision, head, state, expires_at, holder, held_until = facts
        documents = [Document(*row) for row in self.run("load_documents", pk)]
        if state is not None:
            documents.append(Document(_STATE, "", state))
        return StoredThread(
            key=key,
            revision=revision,
            head=head,
            documents=documents,
            expires_at=expires_at,
            lease=lease_at(holder, held_until, self.clock()) if holder else None,
            tail=tail,
        )

    def threads(self, tenant: str, after: str, limit: int | None) -> list[StoredThread]:
        """Return the threads of *tenant* from a name on."""
        with closing(self.run("threads", tenant, after)) as rows:
            found = (
                self._stored(key, (pk, *rest))
                for pk, name, *rest in rows
                if (key := listed_key(tenant, name_of(name))) is not None
            )
            return list(islice(found, limit))

    def hold(self, key: ThreadKey, lease: Lease) -> bool:
        """Let *lease* last as long from now on; False if its holder does not have it."""
        now = self.clock()
        values = (now + lease.seconds, key.tenant, key.id, lease.holder, now)
        return self.run("hold", *values).rowcount > 0

    def rows(
        self, key: ThreadKey, epoch: bytes, span: tuple[int, int], *, system: bool
    ) -> list[StoredRow]:
        """Return the rows in *span* as they were at *epoch*; none if it is unknown."""
        numbers = self._numbers(key, epoch)
        if len(numbers) == 1:
            return self._in_span(numbers[0], span, "system_rows" if system else "rows")
        rows = {row.seq: row for number in numbers for row in self._in_span(number, span)}
        return [rows[seq] for seq in sorted(rows) if rows[seq].system or not system]

    def _numbers(self, key: ThreadKey, epoch: bytes) -> list[int]:
        """Return where rows of *epoch* lie, each to be put over those before; none if unknown."""
        found = self.run("find", key.tenant, key.id).fetchone()
        if found is None:
            return []
        pk, _, live, current, *_ = found
        if not epoch or epoch == current:
            return [live]
        epochs = self.run("epochs", pk).fetchall()
        place = next((place for place, (_, id) in enumerate(epochs) if id == epoch), None)
        if place is None:
            return []
        # The first epoch that replaced a row replaced the one of that time.
        return [live, *(number for number, _ in reversed(epochs[place + 1 :]))]

    def _in_span(self, number: int, span: tuple[int, int], name: str = "rows") -> list[StoredRow]:
        base = number << SEQ_BITS
        return _rows(self.run(name, base + span[0], base + span[1]))

    def commit(self, key: ThreadKey, change: Change) -> None:
        """Do all of *change*, or raise before anything was written."""
        state, put = apart(change)
        pk, live = self.places.get(key, (0, 0))
        values, run = self.next_head(key, change, state), self.connection.execute
        if values is None or run(self.sql["set_next_head"], values).rowcount != 1:
            pk, live = self._place(key, change)
            self._set_head(pk, live, change, state)
        if rows := change.rows:
            numbers = map((live << SEQ_BITS).__add__, map(_NUMBER, rows))
            systems, data = map(int, map(_SYSTEM, rows)), map(bytearray, map(_DATA, rows))
            self.connection.executemany(
                self.sql["add_row"], zip(numbers, systems, data, strict=True)
            )
        if change.drop or put:
            self._change_documents(pk, change.drop, put)
        if change.keeps is not None:
            self._forget(pk, {*change.keeps, change.current_epoch})

    def next_head(self, key: ThreadKey, change: Change, state: State) -> list[object] | None:
        """Return what `set_next_head` takes, which may not fit; None if it is not enough."""
        lease, gone_at, due_at = change.lease, change.gone_at, change.due_at
        pk, live = self.places.get(key, (0, 0))
        if not pk or change.opens or state is None:
            return None
        # Before all but numbers, str and bytearray are bound, None too, an adapter is looked for:
        # twice as slow.
        return [
            change.revision,
            bytearray(change.head),
            change.active_at,
            pk,
            bytearray(change.epoch),
            key.tenant,
            key.id,
            inf if gone_at is None else gone_at,
            inf if due_at is None else due_at,
            "" if state is UNSET else bytearray(state),
            "" if lease is None else lease.holder,
            "" if lease is None else self.clock() + lease.seconds,
            live,
        ]

    def has_head(self, key: ThreadKey, change: Change) -> bool:
        """Whether the head is the one that *change* writes."""
        found = self.run("find", key.tenant, key.id).fetchone()
        return found is not None and found[-1] == change.head

    def new_rows(self, key: ThreadKey, change: Change) -> list[tuple[int, int, bytearray]]:
        """Return what `add_row` takes for the rows of *change*, where the thread was found."""
        base = self.places[key][1] << SEQ_BITS
        return [(base + row.seq, int(row.system), bytearray(row.data)) for row in change.rows]

    def _place(self, key: ThreadKey, change: Change) -> tuple[int, int]:
        """Return where the thread is that *change* fits, made or with a new epoch if it says so."""
        found = self._at(key, change.revision)
        if found is None:
            return self._make(key, change)
        pk, _, live, epoch, *_ = found
        if epoch != change.epoch:
            # The thread was deleted and made again, and has come to the same revision.
            raise ThreadNotFoundError(thread_id=key.id)
        if change.opens is not None:
            self._open_epoch(pk, live, change.opens, clears=change.clears)
        if len(self.places) >= _MOST_PLACES:
            self.places.clear()
        self.places[key] = pk, live
        return pk, live

    def _at(self, key: ThreadKey, revision: int | None) -> tuple[Any, ...] | None:
        """Return what is known of the thread, if it is at that revision."""
        found: tuple[Any, ...] | None = self.run("find", key.tenant, key.id).fetchone()
        actual = 0 if found is None else found[1]
        if revision not in {None, actual}:
            raise ThreadConflictError(thread_id=key.id, expected=revision or 0, actual=actual)
        return found

    def _make(self, key: ThreadKey, change: Change) -> tuple[int, int]:
        count = 0 if change.copies is None else change.copies.count
        sources = [] if change.copies is None else self._sources(key, change.copies)
        pk = self.run("add_thread", key.tenant, key.id).lastrowid or 0
        live = self.run("add_epoch", pk, change.epoch).lastrowid or 0
        for number in sources:
            base = number << SEQ_BITS
            self.run("copy_rows", (live - number) << SEQ_BITS, base, base + count)
        return pk, live

    def _sources(self, key: ThreadKey, copies: Copy) -> list[int]:
        numbers = self._numbers(ThreadKey(key.tenant, copies.source.id), copies.epoch)
        last = (copies.count - 1, copies.count)
        if not numbers or (copies.count and not any(self._in_span(one, last) for one in numbers)):
            # It was deleted, cleared, or rewound and pruned since it was read.
            raise ThreadNotFoundError(thread_id=copies.source.id)
        return numbers

    def _open_epoch(self, pk: int, live: int, opens: Epoch, *, clears: bool) -> None:
        number = self.run("add_epoch", pk, opens.id).lastrowid or 0
        if clears:
            self._drop_rows(pk, live)
            self.run("drop_epochs", pk, number)
        else:
            base = live << SEQ_BITS
            shift = (number - live) << SEQ_BITS
            self.run("move_rows", shift, base + opens.at, base + SEQ_MASK + 1)

    def _set_head(self, pk: int, live: int, change: Change, state: State) -> None:
        has_state, lease = state is not UNSET, change.lease
        held = (None, None) if lease is None else (lease.holder, self.clock() + lease.seconds)
        epoch, times = change.current_epoch, (change.active_at, change.gone_at, change.due_at)
        head = (change.revision + 1, live, epoch, change.head, *times)
        self.run("set_head", *head, has_state, state if has_state else None, *held, pk)

    def _change_documents(
        self, pk: int, drop: Sequence[tuple[DocumentKind, str | None]], put: list[Document]
    ) -> None:
        gone = {*drop}
        for kind, name in drop:
            if name is None:
                self.run("drop_documents", pk, kind)
                continue
            # The new document that may take the place of the one that is dropped.
            new = next((one for one in put if one.kind == kind and not _is_named(one, gone)), None)
            if new is None:
                self.run("drop_document", pk, kind, name)
            elif self.run("move_document", new.name, bytearray(new.data), pk, kind, name).rowcount:
                put.remove(new)
        for one in put:
            self.run("put_document", pk, one.kind, one.name, bytearray(one.data))

    def _forget(self, pk: int, kept: set[bytes]) -> None:
        """Delete the rows that were replaced before the first of the epochs *kept* ended."""
        epochs = self.run("epochs", pk).fetchall()
        first = next(place for place, (_, id) in enumerate(epochs) if id in kept)
        for number, _ in epochs[1 : first + 1]:
            self._drop_span(number)
        self.run("drop_epochs", pk, epochs[first][0])

    def _drop_rows(self, pk: int, live: int) -> None:
        self._drop_span(live)
        for number, _ in self.run("epochs", pk).fetchall():
            self._drop_span(number)

    def _drop_span(self, number: int) -> None:
        base = number << SEQ_BITS
        self.run("drop_rows", base, base + SEQ_MASK + 1)

    def delete(self, key: ThreadKey, expected: StoredThread | None) -> bool:
        """Delete a thread with everything that belongs to it; False if there is none."""
        self.places.pop(key, None)
        found = self._at(key, None if expected is None else expected.revision)
        if found is None:
            return False
        pk, revision, live, _, head = found
        if expected is not None and head != expected.head:
            # The thread was deleted and made again, and has come to the same revision.
            raise ThreadConflictError(thread_id=key.id, expected=revision, actual=0)
        self._drop_rows(pk, live)
        self.run("drop_epochs", pk, _LAST)
        self.run("drop_all_documents", pk)
        self.run("drop_thread", pk)
        return True


def apart(change: Change) -> tuple[State, list[Document]]:
    """Return the execution state that *change* puts beside the head, and its other documents."""
    drop = change.drop
    state: State = None if drop and ((_STATE, None) in drop or (_STATE, "") in drop) else UNSET
    others: list[Document] = []
    for one in change.put:
        if one.kind == _STATE and not one.name:
            state = one.data
        else:
            others.append(one)
    return state, others


def _rows(found: sqlite3.Cursor) -> list[StoredRow]:
    return list(starmap(StoredRow, found))


def _is_named(one: Document, names: set[tuple[DocumentKind, str | None]]) -> bool:
    return (one.kind, one.name) in names or (one.kind, None) in names
