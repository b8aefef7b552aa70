"""
The numbers of the token estimator, fitted once and frozen.

They count in units of a token. `LEVELS` has one number for each byte of UTF-8: what it adds
wherever it stands. `PATTERNS` corrects that for what stands side by side. The numbers are whole,
so that estimates are exact sums, the same on every machine.

Provenance: least squares on the relative error against OpenAI's o200k vocabulary, with kinds of
text weighted as in `tools/fit_tokens.py`, which makes the same tables again. Fitted on half of the
documents, judged on the other half (which the choice of the patterns has seen; the samples of the
tests are text that it has not): English prose, source code, Markdown, configuration, JSON, logs,
hexadecimal and base64 text, diffs, tool output, recorded sessions and the translation catalogues
of thirty languages. None of that text is kept here.
"""

from typing import Final, NamedTuple


__all__ = ["LEVELS", "PATTERNS", "START", "UNITS", "Patterns"]


class Patterns(NamedTuple):
    """
    What neighbours add to the levels of their bytes, in units.
    """

    two_digits: int
    """For a digit after a digit; up to three of them make one token."""

    blank_digit: int
    """For a digit after a blank: blanks join words, not numbers."""

    blank_sign: int
    """For a sign after a blank."""

    three_letters: int
    """For a letter after two letters: long words are cheaper than their letters."""

    word_two_blanks: int
    """For a second blank after a word, as in tables."""

    two_rulers: int
    """For a sign that rulers are made of (`-=*#~`) after another one."""

    mixed_case: int
    """For a small letter between two capitals, as in base64."""


UNITS: Final = 24
"""The units of one token."""

START: Final = 16
"""
The units that a text begins with: its first word has no neighbour to share a token with.

Found on the recorded sessions' messages of less than 200 characters, which else come out short.
"""

PATTERNS: Final = Patterns(
    two_digits=-23,
    blank_digit=25,
    blank_sign=18,
    three_letters=-5,
    word_two_blanks=32,
    two_rulers=-11,
    mixed_case=56,
)
"""What neighbours add."""

LEVELS: Final = bytes.fromhex(
    """
    0c 0c 0c 0c 0c 0c 0c 2f 0c 03 15 00 0c 00 0c 0c
    0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 22 0c 0c 0c 2f
    00 17 05 0b 06 17 08 0b 0b 09 0c 1a 0d 0c 01 04
    22 22 1e 1d 1c 1a 27 1f 20 17 0e 05 14 0b 0c 0d
    02 05 0d 0a 0d 0a 0d 10 05 05 14 27 0e 0d 09 07
    13 27 06 07 05 09 0b 0d 06 05 2f 13 11 11 1a 04
    07 0b 0c 09 0b 06 0a 0d 06 06 12 12 0e 0a 06 05
    09 10 09 05 0a 07 10 0f 10 0a 24 0d 0d 12 1a 0c
    06 03 07 00 00 0a 0a 02 00 00 14 02 00 00 00 02
    12 09 09 07 00 0c 1e 07 0c 18 0e 12 08 01 1a 09
    00 00 1c 00 05 00 04 05 0b 06 0a 09 09 04 05 01
    0d 07 0e 03 06 05 07 0c 04 00 0d 00 04 08 00 00
    0c 0c 13 0b 00 13 00 2f 2f 22 28 25 29 26 05 06
    02 00 2f 2f 2f 03 09 00 03 03 0c 0d 0c 0c 0c 0c
    00 00 03 06 00 05 01 0d 00 12 00 0c 00 02 0c 19
    1d 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c 0c
    """
)
"""The units that each byte adds, 0 to 47."""
