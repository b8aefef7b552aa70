"""
What a write-ahead log says of the file that it was written beside, and what SQLite does not take.

The layout is that of "WAL File Format" in SQLite's documentation: a header of 32 bytes, then a frame
for each page that was written, which is a header of 24 bytes and the page. Header and frames hold a
sum each, which goes on from the one before.
"""

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

from msgspec import Struct
from msgspec.structs import replace


__all__ = ["Unread", "looks_unread", "numbers_logged", "unread_commits"]


_HEADER: Final = 32
_FRAME: Final = 24
_MAGIC: Final = slice(0, 4)
# In which order the bytes of the words that are summed up lie, by how the log begins.
_ORDERS: Mapping[bytes, str] = MappingProxyType(
    {bytes.fromhex("377f0682"): "<", bytes.fromhex("377f0683"): ">"}
)
_NATIVE: Final = "<" if sys.byteorder == "little" else ">"
_PAGE_SIZE: Final = slice(8, 12)
_PAGE_SIZES: Final = frozenset(1 << bits for bits in range(9, 17))
_USUAL_SIZE: Final = 4096
# How often the log was begun anew.
_COUNT: Final = slice(12, 16)
# Both salts: they are drawn anew for each round in which the log is written over.
_ROUND: Final = slice(16, 24)
_SUMS: Final = slice(24, 32)
_PAGE: Final = slice(0, 4)
# The pages of the file behind a commit, in the last frame of one; zero in all others.
_COMMIT: Final = slice(4, 8)
_ROUND_OF_FRAME: Final = slice(8, 16)
_SUMS_OF_FRAME: Final = slice(16, 24)
_WORD: Final = 0xFFFFFFFF
# What is summed up are pairs of words.
_PAIR: Final = 8
_PAIRS_OF_HEADER: Final = range(3)
_FIRST_PAIR_OF_PAGE: Final = _FRAME // _PAIR
# How many frames are summed up at once.
_FRAMES_AT_ONCE: Final = 256
# Where the header of a database, which its first page begins with, has the number.
_NUMBER: Final = slice(60, 64)
_HEADER_OF_FILE: Final = 100


class Unread(Struct, frozen=True, kw_only=True):
    """Commits in a log that SQLite does not take, since something before them is damaged."""

    salts: bytes
    """What tells the round that they are of from others."""

    frame: int
    """The number of the first damaged frame, from 1; 0 for the header of the log."""

    commits: int
    """How many commits stand whole behind it."""

    is_lost: bool
    """
    Whether an acknowledged one is among them, where each is flushed.

    A power cut may tear the one that was on its way, and beside a killed program another one may
    write over the begin of what it has left unfinished; two behind one another were not both.
    """


class _Round(Struct, frozen=True, kw_only=True):
    is_taken: bool
    salts: bytes
    sums: bytes
    order: str
    size: int


def numbers_logged(log: Path) -> set[int]:
    """
    Return the numbers of the files whose first page is in *log*; none where it cannot be read.

    The sums of the frames are not checked: what a crash has left half written may be among them.
    """
    try:
        with log.open("rb") as file:
            return set(_numbers(file))
    except OSError:
        return set()


def _numbers(file: BinaryIO) -> Iterator[int]:
    header = file.read(_HEADER)
    stride = _FRAME + int.from_bytes(header[_PAGE_SIZE], "big")
    place = _HEADER
    while True:
        file.seek(place)
        frame = file.read(_FRAME + _HEADER_OF_FILE)
        if len(frame) <= _FRAME or frame[_ROUND_OF_FRAME] != header[_ROUND]:
            return
        if int.from_bytes(frame[_PAGE], "big") == 1:
            yield int.from_bytes(frame[_FRAME:][_NUMBER], "big")
        place += stride


def unread_commits(log: Path) -> Unread | None:
    """
    Return what SQLite does not take of the round in *log*; None where it takes all, or none is read.

    It is looked at twice: what others write to it in the meantime looks torn once.
    """
    try:
        found = _looked(log)
        return found if found is None or _looked(log) == found else None
    except OSError:
        return None


def looks_unread(log: Path) -> bool:
    """
    Whether there may be something in *log* that SQLite does not take.

    It is looked at once, so that it may be only what others were about to write.
    """
    try:
        return _looked(log) is not None
    except OSError:
        return False


def _looked(log: Path) -> Unread | None:
    with log.open("rb") as file:
        current = _round(file)
        return None if current is None else _unread(file, current)


def _round(file: BinaryIO) -> _Round | None:
    """
    Return the round that the log is in, which SQLite takes nothing of where its header is damaged.

    Such a header tells enough all the same: it has the salts of the frames, or else the sums that
    the first one goes on from. It has neither where a power cut has torn the begin of a round.
    """
    header = file.read(_HEADER)
    if len(header) < _HEADER or _is_cut_off(header):
        return None
    size = int.from_bytes(header[_PAGE_SIZE], "big")
    found = _Round(
        is_taken=_is_taken(header),
        salts=header[_ROUND],
        sums=header[_SUMS],
        order=_ORDERS.get(header[_MAGIC], _NATIVE),
        size=size if size in _PAGE_SIZES else _USUAL_SIZE,
    )
    if found.is_taken:
        return found
    found = replace(found, order=_NATIVE)
    first = file.read(_FRAME + found.size)
    file.seek(_HEADER)
    own = replace(found, salts=first[_ROUND_OF_FRAME])
    return own if any(_follow(first, found.sums, own)) else found


def _is_taken(header: bytes) -> bool:
    order = _ORDERS.get(header[_MAGIC])
    if order is None:
        return False
    return _summed(header, bytes(_PAIR), _PAIRS_OF_HEADER, order) == header[_SUMS]


def _is_cut_off(header: bytes) -> bool:
    """
    Whether a kill has let half of *header* be written: its end is that of the round before.

    A round ends when the file has all of it.
    """
    count = int.from_bytes(header[_COUNT], "big") - 1
    before = (count & _WORD).to_bytes(4, "big")
    return _is_taken(header[: _COUNT.start] + before + header[_COUNT.stop :])


def _unread(file: BinaryIO, current: _Round) -> Unread | None:
    damaged = None if current.is_taken else 0
    commits = row = longest = 0
    for number, (follows, ends) in enumerate(_frames(file, current), 1):
        if damaged is None:
            damaged = None if follows else number
            continue
        is_commit = follows and ends
        commits += is_commit
        # What a commit that has failed left may stand behind another such rest.
        row = row + is_commit if follows else 0
        longest = max(longest, row)
    if damaged is None or not commits:
        return None
    return Unread(salts=current.salts, frame=damaged, commits=commits, is_lost=longest > 1)


def _frames(file: BinaryIO, current: _Round) -> Iterator[tuple[bool, bool]]:
    """Give of each frame whether it follows the one before, and whether it ends a commit."""
    size = _FRAME + current.size
    before = current.sums
    while len(data := file.read(size * _FRAMES_AT_ONCE)) >= size:
        data = data[: len(data) // size * size]
        ends = (any(data[start : start + _FRAME][_COMMIT]) for start in range(0, len(data), size))
        yield from zip(_follow(data, before, current), ends, strict=True)
        before = data[-size:][_SUMS_OF_FRAME]


def _follow(data: bytes, before: bytes, current: _Round) -> list[bool]:
    """
    Return of each frame in *data* whether it is whole and the next one of its round.

    The first one goes on from the sums *before*.
    """
    size = _FRAME + current.size
    if len(data) < size:
        return []
    heads = [data[start : start + _FRAME] for start in range(0, len(data), size)]
    are_next = [any(head[_PAGE]) and head[_ROUND_OF_FRAME] == current.salts for head in heads]
    if not any(are_next):
        return are_next
    sums = [head[_SUMS_OF_FRAME] for head in heads]
    pairs = (0, *range(_FIRST_PAIR_OF_PAGE, size // _PAIR))
    summed = _summed(data, b"".join((before, *sums[:-1])), pairs, current.order)
    return [
        is_next and summed[row * _PAIR : (row + 1) * _PAIR] == found
        for row, (is_next, found) in enumerate(zip(are_next, sums, strict=True))
    ]


def _summed(data: bytes, before: bytes, pairs: Iterable[int], order: str) -> bytes:
    """
    Return the sums of the rows in *data*, which are of one length.

    A frame has the sums that the next one goes on from, so that none waits for another. One number
    of Python holds a pair of each row, which sums all of them up in one step.

    Args:
        data: The rows.
        before: The sums that each of them goes on from.
        pairs: Which pairs of words of a row are summed up.
        order: In which order the bytes of a word lie.
    """
    rows = len(before) // _PAIR
    words = memoryview(_little(data, order)).cast("Q")
    low = int.from_bytes(_WORD.to_bytes(_PAIR, "little") * rows, "little")
    sums = int.from_bytes(_little(before, ">"), "little")
    first, second = sums & low, sums >> 32 & low
    for pair in pairs:
        column = int.from_bytes(words[pair :: len(words) // rows].tobytes(), "little")
        first = (first + (column & low) + second) & low
        second = (second + (column >> 32 & low) + first) & low
    return _little((first | second << 32).to_bytes(_PAIR * rows, "little"), ">")


def _little(data: bytes, order: str) -> bytes:
    """Return *data* with the bytes of its words in little order."""
    if order == "<":
        return data
    words = array("I", data)
    words.byteswap()
    return words.tobytes()
