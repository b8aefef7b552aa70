"""
Which rows of a branch in a SQLite file hold which words.

The rows stand in blocks of 256, and a word has one entry in each block that holds it: the places of
its rows there. So a search writes what it adds side by side, what belongs to a branch goes without
a look at any other, and a word is found by one step for each block.

The entry of no word holds the sum of all others of its block and of the number behind its last row,
so that damage is told from what was written. No message depends on it: what is damaged is dropped,
and the next search makes it anew.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final
from zlib import crc32


__all__ = ["add_words", "broken_words", "drop_broken_words", "drop_words", "find_rows", "indexed"]


_SQL = Mapping[str, str]

_BLOCK: Final = 256
# A longer word is known by its beginning: what is found is searched again.
_LONGEST: Final = 64
_SUM: Final = b""
_SUM_SIZE: Final = 4
_SUM_MASK: Final = (1 << 8 * _SUM_SIZE) - 1


def indexed(connection: sqlite3.Connection, sql: _SQL, branch: int) -> int | None:
    """Return the number behind the last row of *branch* in the index; None where none is in it."""
    found = connection.execute(sql["indexed"], (branch,)).fetchone()
    return None if found is None else int(found[0])


def find_rows(
    connection: sqlite3.Connection,
    sql: _SQL,
    branch: int,
    span: tuple[int, int],
    words: Sequence[str],
) -> list[int]:
    """
    Return the numbers of the rows of *branch* in *span* that hold every one of *words*, in order.
    """
    start, stop = span
    stop = min(stop, indexed(connection, sql, branch) or 0)
    if stop <= start:
        return []
    blocks = (start // _BLOCK, (stop - 1) // _BLOCK)
    found: set[int] | None = None
    for word in words:
        entries = connection.execute(sql["find_words"], (*blocks, branch, _key_of(word)))
        numbers = {block * _BLOCK + place for block, places in entries for place in places}
        found = numbers if found is None else found & numbers
        if not found:
            return []
    return sorted(number for number in found or () if start <= number < stop)


def add_words(
    connection: sqlite3.Connection,
    sql: _SQL,
    branch: int,
    start: int,
    words: Sequence[tuple[int, str]],
) -> None:
    """
    Add rows of *branch*, whose own begin with *start*, to the index; those in it are passed over.

    Where there would be a gap none is added: somebody has dropped the words of the rows before.
    """
    known = indexed(connection, sql, branch)
    upto = start if known is None else known
    rows = [(number, text) for number, text in words if number >= upto]
    if not rows or rows[0][0] != upto:
        return
    for block, group in groupby(rows, lambda row: row[0] // _BLOCK):
        _add_block(connection, sql, (branch, block), list(group), is_first=known is None)
    connection.execute(sql["set_indexed"], (branch, rows[-1][0] + 1))


def _add_block(
    connection: sqlite3.Connection,
    sql: _SQL,
    place: tuple[int, int],
    rows: Sequence[tuple[int, str]],
    *,
    is_first: bool,
) -> None:
    entries: dict[bytes, bytearray] = {}
    for number, text in rows:
        for word in {_key_of(word) for word in text.split()}:
            entries.setdefault(word, bytearray()).append(number % _BLOCK)
    first = rows[0][0]
    before = connection.execute(sql["sum_of_words"], place).fetchone()
    if before is not None:
        known = int.from_bytes(before[0])
    else:
        # Where rows before these have lost their words no sum may fit.
        known = first if is_first or first % _BLOCK == 0 else 0
    # It counts the number behind the last row, which was that of the first one here.
    total = known - first + _sum_of(place[1], entries) + rows[-1][0] + 1
    _put(connection, sql, place, entries, total)


def _put(
    connection: sqlite3.Connection,
    sql: _SQL,
    place: tuple[int, int],
    entries: Mapping[bytes, bytes | bytearray],
    total: int,
) -> None:
    values = [(*place, word, bytes(entries[word])) for word in sorted(entries)]
    connection.executemany(sql["add_words"], values)
    whole = (total & _SUM_MASK).to_bytes(_SUM_SIZE)
    connection.execute(sql["set_sum_of_words"], (*place, whole))


def drop_words(connection: sqlite3.Connection, sql: _SQL, branch: int, start: int) -> None:
    """
    Drop the words of the rows of *branch* from number *start* on, damaged or not.

    Where those beside them are damaged all words of the branch are dropped.
    """
    block, left = divmod(start, _BLOCK)
    place = (branch, block)
    (upto,) = connection.execute(sql["indexed"], (branch,)).fetchone() or (0,)
    edge = connection.execute(sql["words_of_block"], place).fetchall() if left else []
    # A sum of what is damaged would hide the damage.
    if not start or (edge and not _is_sound(block, upto, edge)):
        _drop_all(connection, sql, branch)
        return
    connection.execute(sql["drop_words"], place)
    connection.execute(sql["cut_indexed"], (start, branch))
    if edge:
        entries = {word: _below(left, places) for word, places in edge if word != _SUM}
        entries = {word: places for word, places in entries.items() if places}
        _put(connection, sql, place, entries, _sum_of(block, entries) + min(upto, start))


def _below(left: int, places: bytes) -> bytes:
    return bytes(place for place in places if place < left)


def _drop_all(connection: sqlite3.Connection, sql: _SQL, branch: int) -> None:
    connection.execute(sql["drop_all_words"], (branch,))
    connection.execute(sql["forget_indexed"], (branch,))


def broken_words(connection: sqlite3.Connection, sql: _SQL) -> list[int]:
    """Return the branches whose words are not as they were written."""
    spans = {branch: span for branch, *span in connection.execute(sql["indexed_spans"])}
    blocks: dict[int, list[int]] = {}
    broken: set[int] = set()
    for (branch, block), entries in groupby(connection.execute(sql["all_words"]), itemgetter(0, 1)):
        _, upto = spans.get(branch, (0, None))
        if _is_sound(block, upto, (entry[2:] for entry in entries)):
            blocks.setdefault(branch, []).append(block)
        else:
            broken.add(branch)
    for branch, span in spans.items():
        if not _is_all(blocks.get(branch, ()), *span):
            broken.add(branch)
    return sorted(broken, key=repr)


def _is_sound(block: object, upto: object, entries: Iterable[tuple[object, ...]]) -> bool:
    """
    Whether the entries of a block have the sum that is stored: a damaged file may hold any value.
    """
    found = {
        word: places
        for word, places in entries
        if isinstance(word, bytes) and isinstance(places, bytes)
    }
    total = found.pop(_SUM, None)
    if not isinstance(block, int) or not isinstance(upto, int):
        return False
    whole = _sum_of(block, found) + min(upto, (block + 1) * _BLOCK)
    return total == (whole & _SUM_MASK).to_bytes(_SUM_SIZE)


def _is_all(blocks: Sequence[int], start: object, upto: object) -> bool:
    """Whether *blocks*, which are in order, are those of the rows from *start* up to *upto*."""
    if not isinstance(start, int) or not isinstance(upto, int) or not blocks:
        return False
    first, last = start // _BLOCK, (upto - 1) // _BLOCK
    return len(blocks) == last - first + 1 and (blocks[0], blocks[-1]) == (first, last)


def drop_broken_words(connection: sqlite3.Connection, sql: _SQL) -> None:
    """Drop all words of the branches that `broken_words` finds: the next search adds them anew."""
    for branch in broken_words(connection, sql):
        _drop_all(connection, sql, branch)


def _key_of(word: str) -> bytes:
    return word[:_LONGEST].encode()


def _sum_of(block: int, entries: Mapping[bytes, bytes | bytearray]) -> int:
    first = block * _BLOCK
    return sum(
        crc32(b"%d %b" % (first + place, word))
        for word, places in entries.items()
        for place in places
    )
