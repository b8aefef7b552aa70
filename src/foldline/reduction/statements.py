"""The single statements of a text: each line of a list, and each sentence of prose."""

import re
from collections.abc import Callable
from itertools import pairwise

from msgspec import Struct


__all__ = ["Kept", "is_listed", "kept", "statements"]


# A line that is one statement, whatever it holds: of a list, a table or a quotation, or a heading.
_IS_WHOLE = re.compile(r"\s*(?:[-*+•‣◦–—#>|]|\d{1,3}[.)]\s|```|~~~)").match
# What ends a sentence, before what begins one; no space is needed where none is written.
_END = re.compile(
    r"(?<![.!?…])(?<!\b[A-Za-z])[.!?…]++[\"'”’»)\]]*+\s++(?=[^\s\Wa-z]|[\"'“‘«(\[])|[。！？｡]"
)
_HAS_WORD = re.compile(r"\w").search


class Kept(Struct, frozen=True, kw_only=True):
    """What is left of a text without some of its statements."""

    text: str
    statements: int
    """How many there were."""

    dropped: int
    """How many of them are gone."""


def is_listed(line: str) -> bool:
    """Whether *line* is one of a list, a table, a quotation or code, or a heading."""
    return bool(_IS_WHOLE(line))


def statements(text: str) -> list[str]:
    """Return the statements of *text* in their order; what has no word is none."""
    return [one for line in text.split("\n") for one in _of_line(line) if _HAS_WORD(one)]


def kept(text: str, is_bad: Callable[[str], bool]) -> Kept:
    """Return *text* without the statements that are bad; a line that has no other goes whole."""
    lines: list[str] = []
    total = dropped = 0
    for line in text.split("\n"):
        pieces = _of_line(line)
        good = [one for one in pieces if not (_HAS_WORD(one) and is_bad(one))]
        total += sum(bool(_HAS_WORD(one)) for one in pieces)
        dropped += len(pieces) - len(good)
        if good or not pieces:
            lines.append("".join(good) if len(good) == len(pieces) else "".join(good).rstrip())
    return Kept(text="\n".join(lines).strip(), statements=total, dropped=dropped)


def _of_line(line: str) -> list[str]:
    if _IS_WHOLE(line):
        return [line]
    ends = [0, *(match.end() for match in _END.finditer(line)), len(line)]
    return [line[start:end] for start, end in pairwise(ends) if start < end]
