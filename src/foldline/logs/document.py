"""
From bytes to records: compression, encoding and syntax, before any format is known.

JSON documents, JSON lines and plain transcripts are read, each also compressed by gzip. A log
whose writer was killed ends in half a line: the last line may be damaged, which is noted; a
damaged line before it is an error.
"""

import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.wire import at


MAX_SIZE = 1 << 30
"""How many bytes compressed data may expand to; what is larger is refused."""

_GZIP = b"\x1f\x8b"
_NOT_READ = {
    b"PK\x03\x04": "a zip archive: unpack it and pass the file in it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: pass what `zstd -d` makes of it",
    b"\xfd7zXZ": "compressed by xz: pass what `xz -d` makes of it",
    b"BZh": "compressed by bzip2: pass what `bzip2 -d` makes of it",
    b"SQLite format 3": "a SQLite file: if it is a store, `foldline threads export ID --store FILE` reads it",
}
_PIECE = 1 << 14


class Record(Struct, frozen=True):
    """One JSON value of a document."""

    # For errors: `document`, or a line with its number.
    place: str
    value: Any


class Document(Struct, frozen=True, kw_only=True):
    """A whole input, read but not yet understood."""

    records: tuple[Record, ...] = ()
    """One record for a JSON document, one a line for JSON lines."""

    text: str | None = None
    """The input as a string, if it is a plain transcript."""

    notes: tuple[str, ...] = ()
    """What could not be read, one sentence each."""

    @property
    def first(self) -> Any:
        """The value of the first record; None in a transcript."""
        return self.records[0].value if self.records else None


def read_document(data: bytes, *, max_size: int = MAX_SIZE) -> Document:
    """Read *data*, whatever its compression, encoding and syntax; FormatError says what is wrong."""
    if data.startswith(_GZIP):
        try:
            data = b"".join(_members(data, max_size))
        except zlib.error as error:
            raise FormatError("damaged gzip: fetch or write the file again") from error
    for sign, message in _NOT_READ.items():
        if data.startswith(sign):
            raise FormatError(message)
    # What was never written when a machine lost power reads as NUL.
    data = _utf8(data).rstrip(b"\x00 \t\r\n")
    start = data.lstrip()
    if not start:
        raise FormatError("empty input: pass a file that holds a recorded conversation")
    if start.startswith((b"{", b"[")):
        return _json(data)
    return Document(text=_text(data))


def _members(data: bytes, room: int) -> Iterator[bytes]:
    """Give the contents of the members of a gzip file, of which there may be several."""
    view, position = memoryview(data), 0
    while data.startswith(_GZIP, position):
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        while not member.eof:
            # zlib copies what follows a member, so it gets one piece at a time.
            piece = view[position : position + _PIECE]
            if not piece:
                raise FormatError("truncated gzip: it ends early, so fetch or write the file again")
            position += len(piece)
            chunk = member.decompress(piece, room + 1)
            room -= len(chunk)
            if room < 0:
                message = "gzip: expands to more than the limit: decompress and split it first"
                raise FormatError(message)
            yield chunk
        position -= len(member.unused_data)


def _utf8(data: bytes) -> bytes:
    if not data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return data.removeprefix(BOM_UTF8)
    try:
        return data.decode("utf-16").encode()
    except UnicodeError as error:
        raise FormatError(
            "invalid UTF-16, though it starts with its byte order mark: save the file as UTF-8"
        ) from error


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"byte {error.start} is not UTF-8: save the file as UTF-8") from error


def _json(data: bytes) -> Document:
    first, _, rest = data.lstrip().partition(b"\n")
    try:
        value = decode_json(first)
    except FormatError:
        return Document(records=(Record("document", _whole(data)),))
    if not rest.strip():
        # A single message is a log of one line.
        place = "line 1" if isinstance(value, dict) and "role" in value else "document"
        return Document(records=(Record(place, value),))
    return _json_lines(data)


def _whole(data: bytes) -> Any:
    try:
        return decode_json(data)
    except FormatError as error:
        _text(data)
        message = f"{error}: pass a complete JSON document, or one JSON object per line"
        raise FormatError(message) from error


def _json_lines(data: bytes) -> Document:
    lines = data.split(b"\n")
    records: list[Record] = []
    notes: tuple[str, ...] = ()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            records.append(Record(f"line {number}", decode_json(line)))
        except FormatError as error:
            if number < len(lines):
                raise _invalid(number, line) from error
            notes = (damaged_note(number),)
    return Document(records=tuple(records), notes=notes)


def _invalid(number: int, line: bytes) -> FormatError:
    with at(f"line {number}"):
        _text(line)
    return FormatError(f"line {number} is not valid JSON: fix or remove it")


def damaged_note(number: int) -> str:
    """Return what is said of the last line, the one of that *number*, if it cannot be read."""
    return f"line {number}, the last, is incomplete or damaged and was left out"
