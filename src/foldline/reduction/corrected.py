"""
What the user has corrected, and a summary that knows only what he said before.

A number, a code or a day is corrected by another one of the same thing, in words that correct; a wish by
what is to be done rather than it. A summary may tell both. What has the old one alone is out of date.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice

from msgspec import Struct

from foldline.reduction.dates import MONTHS
from foldline.reduction.meaning import stem_of, stems_in
from foldline.reduction.provenance import folded
from foldline.reduction.statements import statements


_DAYS = (
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag"
    "|lunes|martes|miércoles|jueves|viernes|sábado|domingo|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
)
_VALUE = re.compile(
    rf"(?<![\w.,-])([a-z]{{0,3}}/?)(\d{{1,9}}(?:[.,:]\d{{1,4}})*)(?![\w-])(?:\s?([^\W\d_]{{1,20}}))?|\b({_DAYS})\b"
)
_CORRECTS = re.compile(
    r"\b(?:actually|instead|rather|sorry|oh|no|wait|mixed up|mistake|wrong|correct\w*|change|make it|redo|not|after all|too (?:big|small|many|few|much|high|low|late|early)"
    r"|raise|lower|reduce|move|doch|nein|nun|korrig\w*|statt|lieber|moment|mejor|perdón|finalmente|en realidad|plutôt|en fait|finalement)\b|やっぱり|いや|待って|訂正|ではなく|変更"
).search
_RATHER = re.compile(
    r"\b(?:rather than|instead of|anstatt|statt|anstelle von|plutôt que|en vez de|au lieu de) ([^.,;:!?\n]{3,40})"
).finditer
_RATHER_UNSPACED = re.compile(r"([^。、\n]{1,12})ではなく、?([^。\n]{1,30})").finditer
_CLAUSES = re.compile(r"[,;:]\s|\s(?:and|und|y|et)\s").split
_LONGEST_OLD = 3
# Who corrects says little else.
_LONGEST_TEXT = 400
# A value is corrected soon after it was said.
_MOST_VALUES = 200
# What many things of a conversation are measured in.
_COMMON = {"", *map(stem_of, ("euro", "euros", "dollars", "pounds", "usd", "eur", "yen", *MONTHS))}


class _Value(Struct, frozen=True, kw_only=True):
    kind: str
    written: str
    unit: str

    about: frozenset[str]
    """What the statement is about that names it."""

    def is_like(self, other: "_Value") -> bool:
        """Whether *other* may be another value of the same."""
        return self.kind == other.kind and (
            (self.unit not in _COMMON and self.unit == other.unit) or bool(self.about & other.about)
        )


class _Correction(Struct, frozen=True, kw_only=True):
    old: _Value
    new: str


class Corrected:
    """What users have said and then corrected."""

    def __init__(self, typed: Iterable[str]) -> None:
        """Take what users have *typed*, oldest first."""
        self._typed = [one for one in typed if len(one) <= _LONGEST_TEXT]

    def is_left_by(self, statement: str, text: str) -> bool:
        """Whether *statement* has an old value or wish, and nothing in *text* the new one."""
        values = _values(statement) if self._corrections else ()
        new = {
            one.new
            for value in values
            for one in self._corrections.get(value.written, ())
            if one.old.is_like(value)
        }
        if new - {each.written for each in _values(text) if new}:
            return True
        said = folded(statement)
        if not self._withdrawn or any(_RATHER(said)):
            return False
        told = stems_in(said)
        return any(
            old <= told and new.isdisjoint(stems_in(folded(text))) for old, new in self._withdrawn
        )

    @cached_property
    def _corrections(self) -> dict[str, list[_Correction]]:
        """By what was said before."""
        earlier: deque[_Value] = deque(maxlen=_MOST_VALUES)
        written: set[str] = set()
        found: dict[str, list[_Correction]] = {}
        said = ((text, value) for text in self._typed for value in _values(text))
        for text, value in said:
            if not _CORRECTS(folded(text)):
                # What is said again is right again.
                found.pop(value.written, None)
            elif value.written not in written:
                # What one sentence names together, it compares.
                before = (one for one in reversed(earlier) if one.about is not value.about)
                for old in islice(filter(value.is_like, before), 1):
                    one = _Correction(old=old, new=value.written)
                    found.setdefault(old.written, []).append(one)
            written.add(value.written)
            earlier.append(value)
        return found

    @cached_property
    def _withdrawn(self) -> list[tuple[frozenset[str], frozenset[str]]]:
        texts = [folded(one) for one in self._typed]
        if not any(any(each(one)) for one in texts for each in (_RATHER, _RATHER_UNSPACED)):
            return []
        known: set[str] = set()
        found: list[tuple[frozenset[str], frozenset[str]]] = []
        for text in texts:
            said = stems_in(text)
            found = [one for one in found if not one[0] <= said]
            for rather in _RATHER(text):
                old = stems_in(" ".join(rather[1].split()[:_LONGEST_OLD])) & known
                found.append((old, stems_in(_CLAUSES(text[: rather.start()])[-1]) - known))
            for rather in _RATHER_UNSPACED(text):
                found.append((stems_in(rather[1]) & known, stems_in(rather[2]) - known))
            known |= said
        return [(old, new) for old, new in found if old and new]


def _values(text: str) -> Iterator[_Value]:
    if not _VALUE.search(folded(text)):
        return
    for one in map(folded, statements(text)):
        about = stems_in(_VALUE.sub(" ", one)) - _COMMON
        for match in _VALUE.finditer(one):
            if match[4]:
                yield _Value(kind="day", written=match[4], unit="day", about=about)
            else:
                unit = stem_of(match[3] or "")
                written = match[2].removesuffix(".00")
                yield _Value(kind=match[1], written=written, unit=unit, about=about)
