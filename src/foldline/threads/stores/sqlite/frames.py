"""
What a write-ahead log says of the file that it was written beside, and what SQLite does not take.

The layout is that of "WAL File Format" in SQLite's documentation: a header of 32 bytes, then a frame
for each page that was written, which is a header of 24 bytes and the page. Header and frames hold a
sum each, which goes on from the one before.
"""

import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

from msgspec import Struct
from msgspec.structs import replace


__all__ = ["Unread", "numbers_logged", "unread_commits"]


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
_SUMMED: Final = slice(0, 24)
_SUMS: Final = slice(24, 32)
_PAGE: Final = slice(0, 4)
# The pages of the file behind a commit, in the last frame of one; zero in all others.
_COMMIT: Final = slice(4, 8)
_SUMMED_OF_FRAME: Final = slice(0, 8)
_ROUND_OF_FRAME: Final = slice(8, 16)
_SUMS_OF_FRAME: Final = slice(16, 24)
_WORD: Final = 0xFFFFFFFF
_STORED: Final = struct.Struct(">II")
# Where the header of a database, which its first page begins with, has the number.
_NUMBER: Final = slice(60, 64)
_HEADER_OF_FILE: Final = 100


class Unread(Struct, frozen=True, kw_only=True):
    """
    Commits in a log that SQLite does not take, since something before them is damaged.
    """

    frame: int
    """The number of the first damaged frame, from 1; 0 for the header of the log."""

    commits: int
    """How many commits stand whole behind it."""

    is_lost: bool
    """
    Whether an acknowledged one is among them, where each is flushed.

    A power cut may tear the one that was on its way; two behind one another were not both.
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
    return own if _follows(first, found.sums, own) else found


def _is_taken(header: bytes) -> bool:
    order = _ORDERS.get(header[_MAGIC])
    return order is not None and _summed(header[_SUMMED], bytes(8), order) == header[_SUMS]


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
    before = current.sums
    commits = row = longest = 0
    for number, frame in enumerate(_frames(file, current.size), 1):
        follows = _follows(frame, before, current)
        before = frame[_SUMS_OF_FRAME]
        if damaged is None:
            damaged = None if follows else number
            continue
        is_commit = follows and any(frame[_COMMIT])
        commits += is_commit
        # What a commit that has failed left may stand behind another such rest.
        row = row + is_commit if follows else 0
        longest = max(longest, row)
    if damaged is None or not commits:
        return None
    return Unread(frame=damaged, commits=commits, is_lost=longest > 1)


def _frames(file: BinaryIO, size: int) -> Iterator[bytes]:
    while len(frame := file.read(_FRAME + size)) == _FRAME + size:
        yield frame


def _follows(frame: bytes, before: bytes, current: _Round) -> bool:
    """
    Whether *frame* is whole and the next one of its round behind the one with the sums *before*.
    """
    is_whole = len(frame) == _FRAME + current.size and any(frame[_PAGE])
    if not is_whole or frame[_ROUND_OF_FRAME] != current.salts:
        return False
    summed = frame[_SUMMED_OF_FRAME] + frame[_FRAME:]
    return _summed(summed, before, current.order) == frame[_SUMS_OF_FRAME]


def _summed(data: bytes, before: bytes, order: str) -> bytes:
    first, second = _STORED.unpack(before)
    for even, odd in struct.iter_unpack(f"{order}II", data):
        first = (first + even + second) & _WORD
        second = (second + odd + first) & _WORD
    return _STORED.pack(first, second)
