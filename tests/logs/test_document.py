"""Bytes become records."""

import bz2
import gzip
import lzma

import pytest

from foldline.errors import FormatError
from foldline.logs.document import Record, read_document


LINES = b'{"a": 1}\n{"b": 2}\n'


def test_json_lines_give_one_record_a_line() -> None:
    """Every line that holds something is a record, called by its number in the file."""
    document = read_document(b"\n" + LINES.replace(b"\n", b"\n\n"))

    assert document.records == (Record("line 2", {"a": 1}), Record("line 4", {"b": 2}))


@pytest.mark.parametrize(
    "data", [b'{"a": [1]}', b'{\n  "a": [\n    1\n  ]\n}\n', b'{"a": [1]}\n\n']
)
def test_a_document_is_one_record(data: bytes) -> None:
    """A JSON document is one record, on one line or on many."""
    document = read_document(data)

    assert document.records == (Record("document", {"a": [1]}),)
    assert document.first == {"a": [1]}


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + LINES,
        LINES.decode().encode("utf-16"),
        LINES.replace(b"\n", b"\r\n"),
        LINES + b"\x00" * 64,
        gzip.compress(LINES),
        gzip.compress(LINES[:9]) + gzip.compress(LINES[9:]),
        gzip.compress(b"\xef\xbb\xbf" + LINES) + b"trailing",
    ],
)
def test_packing_does_not_matter(data: bytes) -> None:
    """Compression, byte order marks, line ends and unwritten disk blocks change nothing."""
    assert [record.value for record in read_document(data).records] == [{"a": 1}, {"b": 2}]


def test_a_plain_text_is_a_transcript() -> None:
    """What is neither JSON nor a recorded exchange is kept as text."""
    document = read_document(b"# caf\xc3\xa9\n")

    assert document.text == "# café"
    assert document.first is None


def test_a_damaged_last_line_is_noted() -> None:
    """What a killed writer left at the end is left out, and the document says so."""
    document = read_document(LINES + b'{"c": "\xc3')

    assert len(document.records) == 2
    assert document.notes == ("line 3, the last, is incomplete or damaged and was left out",)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty input"),
        (b" \n\x00", "empty input"),
        (gzip.compress(b""), "empty input"),
        (b"PK\x03\x04\x14\x00\x00\x00\x08\x00\xff", "a zip archive: unpack it"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "compressed by zstd: pass what `zstd -d`"),
        (lzma.compress(LINES), "compressed by xz: pass what `xz -d`"),
        (bz2.compress(LINES), "compressed by bzip2: pass what `bzip2 -d`"),
        (
            b"SQLite format 3\x00\x10\x00",
            "a SQLite file: if it is a store, `foldline threads export",
        ),
        (b"\xef\xbb\xbf", "empty input"),
        (gzip.compress(LINES * 50)[:-20], "truncated gzip"),
        (gzip.compress(LINES)[:3], "truncated gzip"),
        (b"\x1f\x8b\x08\x00damaged-damaged", "damaged gzip"),
        (b"\xff\xfe\x00\xd8", "invalid UTF-16"),
        (b"plain \xff", "byte 6 is not UTF-8"),
        (b'{"a": "\xfc"}\n{}\n', "byte 7 is not UTF-8: save the file as UTF-8"),
        (b'{}\n{"a": "\xfc"}\n{}\n', "line 2: byte 7 is not UTF-8: save the file as UTF-8"),
        (b'{"a": 1}\n{"b": \n{"c": 3}', "line 2 is not valid JSON: fix or remove it"),
        (b'{"a": ', "line 1, column 6: pass a complete JSON document"),
        (b'[{"a": 1},\n {"b": ', "line 2, column 7"),
    ],
)
def test_unreadable_input_is_one_line_that_says_what_to_do(data: bytes, message: str) -> None:
    """Input that cannot be read is an error of one line, which quotes nothing of it."""
    with pytest.raises(FormatError) as caught:
        read_document(data)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_zip_bomb_is_refused() -> None:
    """Compressed data that grows beyond the limit is refused before it is held in memory."""
    bomb = gzip.compress(b"[" + b" " * 5_000_000)

    with pytest.raises(FormatError, match="expands to more than the limit"):
        read_document(bomb, max_size=2_000_000)
