"""What is wrong in a SQLite file below its threads."""

import sqlite3
from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from foldline.errors import StoreCorruptError
from foldline.threads.fault import Fault
from foldline.threads.head import SEAL_SIZE
from foldline.threads.key import name_of
from foldline.threads.old_row import seal_of
from foldline.threads.stores.sqlite.header import number_in, schema_of
from foldline.threads.stores.sqlite.lineage import SEQ_BITS, SEQ_MASK
from foldline.threads.stores.sqlite.postings import broken_words
from foldline.threads.stores.statements import migrations


__all__ = ["Inspection", "broken_seals", "count_broken_words", "look_into", "read_names"]


_LARGEST = (1 << 63) - 1
_MOST_PROBLEMS = 20
_PACKAGE: Final = "foldline.threads.stores.sqlite"
_SQL = Mapping[str, str]

_ORPHANS: Mapping[str, str] = MappingProxyType(
    {
        "branches_without_thread": "branches belong to a thread that is not there",
        "branches_without_parent": "branches go on behind one that is not there",
        "branches_of_nobody": "branches belong to no thread and are shared by none",
        "branches_of_others": "branches belong to a thread of another tenant",
        "documents_without_thread": "documents belong to a thread that is not there",
        "documents_of_no_kind": "documents are of no known kind",
    }
)


class Inspection(Struct, frozen=True, kw_only=True):
    """What is wrong in a file below its threads, one sentence each, without any text of them."""

    broken: tuple[str, ...] = ()
    """What SQLite itself finds: who writes there may lose rows that are only out of reach."""

    stray: tuple[str, ...] = ()
    """What belongs to nothing, and harms nobody who writes beside it."""

    index: tuple[str, ...] = ()
    """What searches may miss; no message is lost, and what is dropped they make anew."""

    threads: int | None = None
    """How many threads there are, counted without any index; None where nobody can tell."""

    @property
    def faults(self) -> list[Fault]:
        """
        The same as faults: what is broken is of the store, and the rest of the index or stray.
        """
        broken = [Fault(kind="store", problem=problem) for problem in self.broken]
        index = [Fault(kind="index", problem=problem) for problem in self.index]
        return broken + index + [Fault(kind="stray", problem=problem) for problem in self.stray]


def read_names(connection: sqlite3.Connection, sql: _SQL) -> list[tuple[str, str]]:
    """Return tenant and id of every thread, in order, allowed or not."""
    found = connection.execute(sql["names"]).fetchall()
    return [(name_of(tenant), name_of(id)) for tenant, id in found]


def look_into(connection: sqlite3.Connection, sql: _SQL) -> Inspection:
    """Return what the integrity check of SQLite finds, what belongs to nothing, and lost words."""
    broken: list[str] = []
    stray: list[str] = []
    index: list[str] = []
    looks = ((_integrity, broken), (_orphans, stray), (_stray_rows, stray), (_lost_words, index))
    for look, found in looks:
        try:
            found.extend(look(connection, sql))
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorname", type(error).__name__)
            broken.append(f"the file cannot be read through ({code})")
    return Inspection(
        broken=tuple(broken),
        stray=tuple(stray),
        index=tuple(index),
        threads=_stored_threads(connection, sql),
    )


def _stored_threads(connection: sqlite3.Connection, sql: _SQL) -> int | None:
    try:
        return int(connection.execute(sql["stored_threads"]).fetchone()[0])
    except sqlite3.DatabaseError:
        # What is wrong there is among what is broken already.
        return None


def _integrity(connection: sqlite3.Connection, _: _SQL) -> Iterator[str]:
    check = f"PRAGMA integrity_check({_MOST_PROBLEMS})"
    for (line,) in connection.execute(check).fetchall():
        if line != "ok":
            yield f"integrity check of SQLite: {line}"


def _orphans(connection: sqlite3.Connection, sql: _SQL) -> Iterator[str]:
    for name, meaning in _ORPHANS.items():
        (count,) = connection.execute(sql[name]).fetchone()
        if count:
            yield f"{count} {meaning}"


def _stray_rows(connection: sqlite3.Connection, sql: _SQL) -> Iterator[str]:
    last = _LARGEST >> SEQ_BITS
    numbers = connection.execute(sql["branch_numbers"]).fetchall()
    # No row can belong to a branch whose number was changed to none.
    known = [pk for (pk,) in numbers if 0 <= pk < last]
    stray = 0
    for before, after in pairwise((-1, *known, last)):
        if after - before > 1:
            span = ((before + 1) << SEQ_BITS, after << SEQ_BITS)
            stray += connection.execute(sql["rows_between"], span).fetchone()[0]
    if stray:
        yield f"{stray} message rows belong to a branch that is not there"


def count_broken_words(connection: sqlite3.Connection, sql: _SQL) -> int:
    """
    Return how many branches have words that are not as they were written.

    In tables of another version, as in a backup of a store that no newer foldline has opened, none.
    """
    if schema_of(number_in(connection)) != migrations(_PACKAGE)[-1][0]:
        return 0
    return len(broken_words(connection, sql))


def _lost_words(connection: sqlite3.Connection, sql: _SQL) -> Iterator[str]:
    count = count_broken_words(connection, sql)
    if count:
        yield f"the words of {count} branches are not as they were written"


def broken_seals(connection: sqlite3.Connection, sql: _SQL) -> list[str]:
    """
    Return the branches of threads that are not there, or on which a seal does not fit.

    It needs no key: seals are made over what is stored.
    """
    problems: list[str] = []
    for branch, tenant in connection.execute(sql["branches_in_use"]).fetchall():
        try:
            _check_seals(connection, sql, branch, name_of(tenant))
        except StoreCorruptError as error:
            problems.append(str(error))
        except (OverflowError, TypeError):
            # What is damaged may be of any size, and no number at all.
            problems.append("a branch in use has a number that is none")
    return problems


def _check_seals(connection: sqlite3.Connection, sql: _SQL, branch: int, tenant: str) -> None:
    before, expected = bytes(SEAL_SIZE), 0
    for name, number, data in _rows(connection, sql, branch, tenant):
        if (
            number != expected
            or not isinstance(data, bytes)
            or data[:SEAL_SIZE] != seal_of(before, name, number, data[SEAL_SIZE:])
        ):
            message = f"message row {expected} of branch {branch} is damaged"
            raise StoreCorruptError(message)
        before, expected = data[:SEAL_SIZE], number + 1


def _rows(
    connection: sqlite3.Connection, sql: _SQL, branch: int, tenant: str
) -> Iterator[tuple[bytes, int, object]]:
    """Give the rows of *branch*, those that it shares first: branch, number and content."""
    spans: list[tuple[int, bytes, int, int]] = []
    stop, known = SEQ_MASK, set[int]()
    parent: int | None = branch
    while parent is not None:
        found = connection.execute(sql["find_parent"], (parent, tenant)).fetchone()
        if found is None or parent in known:
            message = "the branch of a thread, or one that it goes on behind, is not there"
            raise StoreCorruptError(message)
        known.add(parent)
        pk, parent, at, name = found
        spans.append((pk, name, at, stop))
        stop = min(stop, at)
    for pk, name, at, end in reversed(spans):
        base = pk << SEQ_BITS
        for id, _, data in connection.execute(sql["rows"], (base + at, base + end)):
            yield name, id & SEQ_MASK, data
