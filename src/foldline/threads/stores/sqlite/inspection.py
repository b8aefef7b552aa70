"""
What is wrong in a SQLite file below its threads.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType

from msgspec import Struct

from foldline.threads.head import SEAL_SIZE
from foldline.threads.row import seal_of
from foldline.threads.stores.sqlite.lineage import SEQ_BITS, SEQ_MASK


__all__ = ["Inspection", "broken_seals", "inspect", "look_into", "read_names"]


_LARGEST = (1 << 63) - 1
_MOST_PROBLEMS = 20
_SQL = Mapping[str, str]

_ORPHANS: Mapping[str, str] = MappingProxyType(
    {
        "threads_without_branch": "threads name a branch that is not there",
        "branches_without_thread": "branches belong to a thread that is not there",
        "branches_without_parent": "branches go on behind one that is not there",
        "branches_of_nobody": "branches belong to no thread and are shared by none",
        "branches_of_others": "branches belong to a thread of another tenant",
        "documents_without_thread": "documents belong to a thread that is not there",
        "documents_of_no_kind": "documents are of no known kind",
    }
)


class Inspection(Struct, frozen=True, kw_only=True):
    """
    What is wrong in a file below its threads, one sentence each, without any text of them.
    """

    broken: tuple[str, ...] = ()
    """What SQLite itself finds: who writes there may lose rows that are only out of reach."""

    stray: tuple[str, ...] = ()
    """What belongs to nothing, and harms nobody who writes beside it."""


def read_names(connection: sqlite3.Connection, sql: _SQL) -> list[tuple[str, str]]:
    """
    Return tenant and id of every thread, in order, allowed or not.
    """
    found = connection.execute(sql["names"]).fetchall()
    return [(_text(tenant), _text(id)) for tenant, id in found]


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")


def inspect(connection: sqlite3.Connection, sql: _SQL) -> list[str]:
    """
    Return what the integrity check of SQLite finds, and what belongs to nothing.
    """
    found = look_into(connection, sql)
    return [*found.broken, *found.stray]


def look_into(connection: sqlite3.Connection, sql: _SQL) -> Inspection:
    """
    Return what `inspect` does, what is broken apart from what is stray.
    """
    broken: list[str] = []
    stray: list[str] = []
    for look, found in ((_integrity, broken), (_orphans, stray), (_stray_rows, stray)):
        try:
            found.extend(look(connection, sql))
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorname", type(error).__name__)
            broken.append(f"the file cannot be read through ({code})")
    return Inspection(broken=tuple(broken), stray=tuple(stray))


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
    known = [pk for (pk,) in connection.execute(sql["branch_numbers"]).fetchall()]
    stray = 0
    for before, after in pairwise((-1, *known, _LARGEST >> SEQ_BITS)):
        if after - before > 1:
            span = ((before + 1) << SEQ_BITS, after << SEQ_BITS)
            stray += connection.execute(sql["rows_between"], span).fetchone()[0]
    if stray:
        yield f"{stray} message rows belong to a branch that is not there"


def broken_seals(connection: sqlite3.Connection, sql: _SQL) -> list[str]:
    """
    Return the branches in use on which a seal does not fit, one sentence each.

    It needs no key: seals are made over what is stored.
    """
    problems: list[str] = []
    for (branch,) in connection.execute(sql["branches_in_use"]).fetchall():
        before = bytes(SEAL_SIZE)
        expected = 0
        for name, number, data in _rows(connection, sql, branch):
            if number != expected or not isinstance(data, bytes):
                problems.append(_damaged(expected, branch))
                break
            if data[:SEAL_SIZE] != seal_of(before, name, number, data[SEAL_SIZE:]):
                problems.append(_damaged(expected, branch))
                break
            before, expected = data[:SEAL_SIZE], number + 1
    return problems


def _damaged(number: int, branch: int) -> str:
    return f"message row {number} of branch {branch} is damaged"


def _rows(
    connection: sqlite3.Connection, sql: _SQL, branch: int
) -> Iterator[tuple[bytes, int, object]]:
    """
    Give the rows of *branch*, those that it shares first: branch, number and content.
    """
    spans: list[tuple[int, bytes, int, int]] = []
    stop, known = SEQ_MASK, {branch}
    found = connection.execute(sql["branch_facts"], (branch,)).fetchone()
    while found is not None:
        name, parent, at = found
        spans.append((branch, name, at, stop))
        stop = min(stop, at)
        if parent is None or parent in known:
            break
        branch = parent
        known.add(branch)
        found = connection.execute(sql["branch_facts"], (branch,)).fetchone()
    for pk, name, at, end in reversed(spans):
        base = pk << SEQ_BITS
        for id, _, data in connection.execute(sql["rows"], (base + at, base + end)):
            yield name, id & SEQ_MASK, data
