"""Commits that wait together, made by a few statements."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Struct

from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.stores.sqlite.log import WriteLog
from foldline.threads.stores.sqlite.tables import Tables, apart
from foldline.threads.stores.sqlite.worker import Job


# How many heads or rows one statement writes: two texts of each, so that they are parsed once, with
# fewer variables than the 999 that every SQLite takes.
_SIZES: Final = (64, 8)
# Before this release there is no UPDATE FROM.
_CAN_JOIN: Final = sqlite3.sqlite_version_info >= (3, 33)
_NUMBER: Final = re.compile(r"\?(\d+)")
_Values: TypeAlias = Sequence[object]
_Item = TypeVar("_Item")


class Commit(Struct, frozen=True, eq=False):
    """The job that makes one commit, in tables that a connection gets."""

    key: ThreadKey
    change: Change
    # Whether it deletes rows, whose bytes the log must not keep.
    deletes: bool
    log: WriteLog
    sql: Mapping[str, str]
    clock: Callable[[], float]
    places: dict[ThreadKey, tuple[int, int]]

    def __call__(self, connection: sqlite3.Connection) -> None:
        """Make it, or raise before anything was written."""
        Tables(connection, self.sql, self.clock, self.places).commit(self.key, self.change)
        if self.deletes:
            self.log.ask()


def write_together(connection: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> list[Job[Any]]:
    """
    Make the commits among *jobs* that only go on, and return the jobs that remain.

    After each statement the writer waits until no other thread runs, so that a crowd that also reads
    is served faster by few of them. What does not fit, such as a conflict, remains.
    """
    ready: dict[ThreadKey, tuple[Commit, _Values]] = {}
    for job in jobs if _CAN_JOIN else ():
        one = job.call
        # Of two commits of one thread the first comes first.
        if isinstance(one, Commit) and one.key not in ready:
            values = _only_head(connection, one)
            if values is not None:
                ready[one.key] = one, values
    made: set[int] = set()
    for piece in _pieces(list(ready.values())):
        made.update(map(id, _written(connection, piece)))
    return [job for job in jobs if id(job.call) not in made]


def _only_head(connection: sqlite3.Connection, one: Commit) -> _Values | None:
    """Return the values of the next head if *one* writes nothing else but rows; None if it does."""
    change = one.change
    state, others = apart(change)
    if others or change.drop or change.keeps is not None:
        return None
    tables = Tables(connection, one.sql, one.clock, one.places)
    return tables.next_head(one.key, change, state)


def _written(
    connection: sqlite3.Connection, piece: Sequence[tuple[Commit, _Values]]
) -> list[Commit]:
    """Write what fits of *piece*, and return it."""
    made, heads = [one for one, _ in piece], [values for _, values in piece]
    tables = Tables(connection, made[0].sql, made[0].clock, made[0].places)
    text = _heads(tables.sql["set_next_head"], len(heads), len(heads[0]))
    if connection.execute(text, [*chain.from_iterable(heads)]).rowcount != len(heads):
        made = [one for one in made if tables.has_head(one.key, one.change)]
    rows = [row for one in made for row in tables.new_rows(one.key, one.change)]
    for some in _pieces(rows):
        connection.execute(_rows(tables.sql["add_row"], len(some)), [*chain.from_iterable(some)])
    return made


def _pieces(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    """Yield *items* in pieces of the sizes that statements have, and the others one by one."""
    start = 0
    for size in (*_SIZES, 1):
        while len(items) - start >= size:
            yield items[start : start + size]
            start += size


@cache
def _heads(text: str, number: int, width: int) -> str:
    """Return the statement *text*, which writes one head, for a *number* of them."""
    one = f"({', '.join('?' * width)})"
    source = f"FROM (VALUES {', '.join([one] * number)}) AS new WHERE"
    return _NUMBER.sub(r"new.column\1", text).replace("WHERE", source, 1)


@cache
def _rows(text: str, number: int) -> str:
    return text + ", (?, ?, ?)" * (number - 1)
