"""
The numbers of the token estimator, fitted once and frozen.

They count in units of a token. `LEVELS` has one number for each byte of UTF-8: what it adds
wherever it stands. `SEAM` is what two neighbouring bytes add where one of `SEAMS` runs between
them. The numbers are whole, so that estimates are exact sums, the same on every machine.

Provenance: least squares on the relative error against OpenAI's o200k vocabulary, with kinds of
text weighted as in `tools/fit_tokens.py`, which makes the same numbers again. The seams were
searched for: groups of bytes moved in and out for as long as the fit became better. Fitted on half
of the documents, judged on the other half: English prose, source code, Markdown, configuration,
JSON, logs, hexadecimal and base64 text, diffs, tool output, recorded sessions and the translation
catalogues of thirty languages; the samples of the tests are in neither. None of that text is kept
here.
"""

import string
from typing import Final, NamedTuple


__all__ = ["HIGHEST_LEVEL", "LEVELS", "SEAM", "SEAMS", "START", "UNITS", "Seam"]


_SMALL = string.ascii_lowercase.encode()
_CAPITALS = string.ascii_uppercase.encode()
_DIGITS = string.digits.encode()
_BLANKS = b" \t"
_LINE_ENDS = b"\n\r"
_RULERS = b"-=*#~"
_JOINERS = b"_./"
_STOPS = b",;:!?"
_BRACKETS = b"()[]{}<>\"'`"
_OPERATORS = b"$%&+@\\^|"
_CONTINUATIONS = bytes(range(0x80, 0xC0))


class Seam(NamedTuple):
    """
    Where a token is likely to end: between one of some bytes and one of others.
    """

    before: bytes
    """The bytes that may stand before the seam."""

    after: bytes
    """The bytes that may stand after it, none of which may stand before it."""


SEAMS: Final = (
    Seam(before=_SMALL + _CAPITALS + _BLANKS + _LINE_ENDS + _JOINERS + _STOPS, after=_DIGITS),
    Seam(
        before=_CAPITALS + _BLANKS + _CONTINUATIONS,
        after=_DIGITS + _LINE_ENDS + _RULERS + _JOINERS + _STOPS + _BRACKETS,
    ),
    Seam(
        before=_SMALL + _CAPITALS + _BLANKS + _JOINERS + _CONTINUATIONS,
        after=_DIGITS + _LINE_ENDS + _RULERS + _OPERATORS,
    ),
    Seam(before=_CAPITALS + _DIGITS, after=_BLANKS + _RULERS + _OPERATORS),
)
"""
The seams; where several run between the same two bytes, each of them counts.

The first begins a number, the second a sign after a blank, which no word's token takes along.
"""

UNITS: Final = 24
"""The units of one token."""

START: Final = 16
"""
The units that a text begins with: its first word has no neighbour to share a token with.

Found on the recorded sessions' messages of less than 200 characters, which else come out short.
"""

SEAM: Final = 15
"""The units that a seam adds."""

HIGHEST_LEVEL: Final = 63
"""The most units that a byte may add: 1,024 of them still fit into what `adler32` sums."""

LEVELS: Final = bytes.fromhex(
    """
    0c 0c 0c 0c 0c 0c 0c 2f 0c 02 19 00 0c 19 0c 0c
    0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 1e 0c 0c 0c 2f
    00 18 05 0d 05 19 07 0a 0c 09 0e 13 0e 0e 01 02
    22 21 1d 1e 1b 1a 26 20 20 17 0e 06 11 0d 0e 0a
    02 06 0d 0c 10 0a 0e 11 06 06 13 27 0f 0e 08 06
    13 2d 07 08 06 09 0d 0c 06 06 2f 15 11 0f 1f 03
    08 0b 0d 0a 0b 06 0a 0e 06 07 14 13 0e 0b 07 06
    09 10 0a 07 0b 07 11 0e 11 09 26 0c 0d 10 1c 0c
    07 02 06 00 00 08 08 03 00 00 13 02 00 00 00 01
    13 06 06 07 00 0c 1f 08 0c 19 0f 13 07 00 1b 08
    00 00 1c 00 05 00 04 05 0c 05 09 09 09 04 05 02
    0c 06 0e 01 05 03 06 0a 04 00 0a 00 03 06 00 00
    0c 0c 12 0a 00 14 00 2f 2f 22 29 27 28 27 06 06
    03 00 2f 2f 2f 03 0a 00 03 04 0c 0d 0c 0c 0c 0c
    00 00 02 07 00 05 02 0d 01 12 00 0d 00 03 0c 1a
    1e 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c
    """
)
"""The units that each byte adds, 1 to 63: none is free."""
