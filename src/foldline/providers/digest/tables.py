"""
What a speaker writes again each time that something changes: tables, and figures after a label.

A table is one statement in one line, so that no row of it stands beside one of another version. The
newest with the same head replaces those before it, and so does the newest figure of a label. Where the
words beside the figure differ as well, it may be of another thing, so both are kept.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from foldline.providers.digest.text import one_line


_BAR, _ROW = " | ", "; "
_LEAST_BARS = 2
# What the row between the head and the others is made of.
_RULE = "|-: "
# A longer part of a line is not written again as the head of the next one.
_PART_OF_HEAD = 4
_LONGEST_LABEL, _LONGEST = 30, 60
# What is a part of a code or of a date is no figure: it may be of another thing.
_FIGURES = re.compile(r"(?<![\w-])\d[\d.,:]*+(?![\w-])")


def apart(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Yield the lines of *text* in turns, after whether they are those of a table."""
    for are_rows, lines in groupby(text.split("\n"), lambda line: line.count("|") >= _LEAST_BARS):
        found = list(lines)
        yield are_rows and len(found) > 1, found


def table_lines(lines: Iterable[str], *, longest: int) -> Iterator[str]:
    """Yield the rows of a table in one line; in several under one head if it is *longest*."""
    rows = [row for row in map(_row, lines) if row.strip(_RULE)]
    head = rows[:1] if rows and len(rows[0]) <= longest // _PART_OF_HEAD else []
    part: list[str] = []
    size = 0
    for row in rows:
        size += len(row) + len(_ROW)
        if part and size > longest:
            yield _ROW.join(part)
            part = [*head]
            size = sum(map(len, part)) + len(row) + 2 * len(_ROW)
        part.append(row)
    if part:
        yield _ROW.join(part)


def _row(line: str) -> str:
    cells = line.strip(" \t\r>").removeprefix("|").removesuffix("|").split("|")
    return _BAR.join(map(one_line, cells))


def is_table(text: str) -> bool:
    """Whether *text* is what `table_lines` writes of several rows."""
    head, _, others = text.partition(_ROW)
    return _BAR in head and _BAR in others


def subject_of(text: str) -> str:
    """Return what is the same in each version of *text*, with who says it; nothing for others."""
    by, _, said = text.partition(": ")
    if is_table(said):
        return f"{by}: {said.partition(_ROW)[0]}"
    label, _, value = said.replace("*", "").partition(": ")
    if len(label) > _LONGEST_LABEL or len(said) > _LONGEST:
        return ""
    unit = _FIGURES.sub("", value)
    return f"{by}: {label}: {unit}" if unit != value else ""
