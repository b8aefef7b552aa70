"""
Short codes and numbers that differ from what was said: EM-7 for EM-2, Q3 for Q2, port 80 for port 8080.

Of one or two digits nobody can tell by their shape whether they come from somewhere: a summary counts, it
numbers what it lists, and it names what everybody knows, such as UTF-8. They are taken for invented if the
source has the same letters, noun or mark with other digits only; a day of the week, if it names others only;
and HATHUT if there is a HATHAT.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from operator import ne

from foldline.reduction.sources import TextParts


_CODE = re.compile(
    r"(?<![\w.,/#@&$%=+-])([A-Z]{1,4})(-?)0{0,2}(\d{1,2})(?![\w%]|[-.,:/]\d|[-/][A-Za-z])", re.ASCII
)
_SAID_CODE = re.compile(r"(?<![a-z0-9])([a-z]{1,4})([ -]?)0{0,2}(\d{1,9})(?![a-z0-9])")
_SAID_RANGE = re.compile(
    r"(?<![a-z0-9])([a-z]{1,4})-?0{0,2}(\d{1,4})\s?(?:-|\.\.|to|through|until|bis|à|al?)\s?"
    r"(?:[a-z]{1,4}-?)?0{0,2}(\d{1,4})(?![a-z0-9])"
)
# A record of a booking has a code that may be all letters.
_LOCATOR = re.compile(r"[A-Z]{6}(?<![\w-].{6})(?![\w-])", re.ASCII)
_NOUN = (
    "port|room|gate|platform|floor|terminal|version|issue|pr|mr|ticket|pull request|zimmer|raum|gleis|puerto"
    "|sala|salle|porta|quai"
)
_NUMBERED = re.compile(
    rf"(?<![\w-])({_NOUN}) ?[#:]? ?(\d{{1,2}}(?:\.\d{{1,2}}){{0,2}})(?![\w%]|[-.,:/]\d)",
    re.ASCII | re.IGNORECASE,
)
# What is numbered may be listed, as ports 80, 443 and 8080.
_SAID_NUMBERED = re.compile(rf"(?<![\w-])({_NOUN})s?(?![a-z])(?=([^\n]{{0,40}}))", re.ASCII)
_DIGITS = re.compile(r"(?<![\d.])\d+(?:\.\d+)*")
_MARKED = re.compile(r"(?<![\w#&])#(\d)(?![\w-]|[.,]\d)", re.ASCII)
_SAID_MARKED = re.compile(r"(?<![\w#&])#(\d{1,7})(?![a-z0-9])")
# What a summary numbers, and a number with which its line begins.
_COUNTS = re.compile(
    r"\b(?:attempt|case|example|fix|goal|item|iteration|option|part|phase|point|problem|question|round|rule"
    r"|section|step|task|test|todo|try) ?\Z",
    re.IGNORECASE,
).search
_IS_LABEL = re.compile(r"[*_`]{0,3}(?:[:.)]|\s[-–—]\s)").match
_BEFORE = 24
_MOST_IN_RANGE = 100

_DAYS = (
    "monday mon montag lundi lunes lunedì segunda maandag måndag mandag poniedziałek понедельник",
    "tuesday tue tues dienstag mardi martes martedì terça dinsdag tisdag tirsdag wtorek вторник",
    "wednesday wed mittwoch mercredi miércoles mercoledì quarta woensdag onsdag środa среда среду",
    "thursday thu thurs donnerstag jeudi jueves giovedì quinta donderdag torsdag czwartek четверг",
    "friday fri freitag vendredi viernes venerdì sexta vrijdag fredag piątek пятница пятницу",
    "saturday sat samstag sonnabend samedi sábado sabato zaterdag lördag lørdag sobota суббота субботу",
    "sunday sun sonntag dimanche domingo domenica zondag söndag søndag niedziela воскресенье",
)
_DAY_OF = {name: day for day, names in enumerate(_DAYS) for name in names.split()}
# What is no other word.
_NAMED = {name: day for name, day in _DAY_OF.items() if name.endswith(("day", "tag", "di"))}
# Where a date was taken out.
_DATE_AFTER = re.compile(r"[,.(]? {4}").match
_DATE_BEFORE = ("    ", "    (", "    , ")
_WORD = re.compile(r"[^\W\d_]+")


class Siblings:
    """The short codes, numbers and days of the week that a source names."""

    def __init__(self, parts: TextParts, written: Sequence[str]) -> None:
        """Read *parts* of a text, folded, and the texts that it is made of as they were *written*, once somebody asks."""
        self._parts = parts
        self._written = written

    def strangers(self, statement: str) -> Iterator[str]:
        """Yield what *statement*, with spaces for its dates, names and the source does not, but siblings of it."""
        for match in _CODE.finditer(statement):
            said = self._codes.get(match[1].casefold(), {})
            is_known = any(match[3] in digits for digits in said.values())
            if match[2] in said and not is_known and not _counts(statement, match):
                yield match[0].casefold()
        for match in _NUMBERED.finditer(statement):
            label = match[1].casefold()
            numbers = self._numbered.get(label)
            # Version 3 may be written v3.
            is_short = any(match[2] in one for one in self._codes.get(label[0], {}).values())
            if numbers and not (is_short or match[2] in numbers):
                yield match[0].casefold()
        for match in _MARKED.finditer(statement):
            is_known = not self._marked or match[1] in self._marked
            if not (is_known or _counts(statement, match)):
                yield match[0]
        for code in _LOCATOR.findall(statement):
            if any(map(partial(_is_near, code), self._locators - {code})):
                yield code.casefold()
        yield from self._other_days(statement)

    def _other_days(self, statement: str) -> Iterator[str]:
        for match in _WORD.finditer(statement):
            day = _NAMED.get(match[0].casefold())
            if day is None or not self._weekdays or day in self._weekdays:
                continue
            # Who names a date may tell the day of the week from it.
            before, after = statement[: match.start()], statement[match.end() :]
            if not (_DATE_AFTER(after) or before.endswith(_DATE_BEFORE)):
                yield match[0].casefold()

    @cached_property
    def _codes(self) -> dict[str, dict[str, set[str]]]:
        """The digits after letters, by what is between them."""
        found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for match in _SAID_CODE.finditer(self._parts.figures):
            found[match[1]][match[2]].add(match[3])
        for match in _SAID_RANGE.finditer(self._parts.figures):
            start, end = int(match[2]), int(match[3])
            if end <= start + _MOST_IN_RANGE:
                found[match[1]][" "].update(map(str, range(start, end + 1)))
        return found

    @cached_property
    def _locators(self) -> set[str]:
        return {code for text in self._written for code in _LOCATOR.findall(text)}

    @cached_property
    def _numbered(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for match in _SAID_NUMBERED.finditer(self._parts.figures):
            found[match[1]].update(_DIGITS.findall(match[2]))
        return found

    @cached_property
    def _marked(self) -> set[str]:
        return set(_SAID_MARKED.findall(self._parts.figures))

    @cached_property
    def _weekdays(self) -> set[int]:
        return {_DAY_OF[one] for one in _WORD.findall(self._parts.runs) if one in _DAY_OF}


def _is_near(code: str, other: str) -> bool:
    """Whether *code* is the *other* one but for a letter, or has the same ones in another order."""
    return sum(map(ne, code, other)) == 1 or sorted(code) == sorted(other)


def _counts(statement: str, match: re.Match[str]) -> bool:
    """Whether *match* numbers a part of the summary that has *statement*."""
    before = statement[max(0, match.start() - _BEFORE) : match.start()]
    if any(map(str.isalnum, before)):
        return _COUNTS(before) is not None
    return _IS_LABEL(statement, match.end()) is not None
