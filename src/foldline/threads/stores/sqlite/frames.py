"""
What a write-ahead log says of the file that it was written beside.

The layout is that of "WAL File Format" in SQLite's documentation: a header of 32 bytes, then a frame
for each page that was written, which is a header of 24 bytes and the page.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final


__all__ = ["numbers_logged"]


_HEADER: Final = 32
_FRAME: Final = 24
_PAGE_SIZE: Final = slice(8, 12)
# Both salts: they are drawn anew for each round in which the log is written over.
_ROUND: Final = slice(16, 24)
_PAGE: Final = slice(0, 4)
_ROUND_OF_FRAME: Final = slice(8, 16)
# Where the header of a database, which its first page begins with, has the number.
_NUMBER: Final = slice(60, 64)
_HEADER_OF_FILE: Final = 100


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
