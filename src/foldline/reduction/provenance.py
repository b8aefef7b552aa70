"""
Whether the names, numbers and dates in a text come from what it was made of.

They are recognized by their shape: an address, a mail, a path or a file, a code of letters and digits,
a name in the way of programs, a day, a number of three digits and more. They may be written otherwise
than in the source, as long as they mean the same: a day in words or in numbers, a number with or
without marks between its groups, a code in groups or in one piece, a path from another folder on.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from foldline.reduction.dates import Day, days_of, years_of
from foldline.reduction.numerals import MARKS, NUMBER, in_digits, numbers_of, readings
from foldline.reduction.request import SummaryRequest
from foldline.reduction.siblings import Siblings
from foldline.reduction.sources import TextParts, alike, as_read, texts_of


REDACTED = "[redacted {}]"
"""What replaces a secret in a text, with the kind of the secret in it."""

_MARKER = re.compile(re.escape(REDACTED).replace(r"\{\}", r"[a-z ]{1,40}"), re.IGNORECASE)

# The shapes are ASCII, because in text without spaces, such as Chinese, words touch them; and none is
# tried twice in one run of characters.
_ADDRESS = re.compile(
    r"(?<![a-z\d+.-])[a-z][a-z\d+.-]{1,15}://(?:www\.)?([\w.~:/?#@!$&+=%-]++)",
    re.ASCII | re.IGNORECASE,
)
_MAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]++@(?=[a-z])[\w-]++(?:\.[\w-]++)*", re.ASCII | re.IGNORECASE
)
_UUID = re.compile(r"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}", re.ASCII | re.IGNORECASE)
_PATH = re.compile(
    r"(?<![\w.~:/\\@+<-])(?:~|\.{1,2}(?=[/\\])|[A-Za-z]:|[\w.@+-]++)?(?:[/\\][\w.@+-]+)+", re.ASCII
)
_FILE = re.compile(
    r"(?<![\w.-])(?=[\w-]*[A-Za-z])[\w-]++(?:\.(?![A-Z][a-z])[A-Za-z][\w-]+)+(?![\w(])", re.ASCII
)
_NAME = re.compile(
    r"[A-Za-z0-9]+(?:[_-]+[A-Za-z0-9]+)+|(?<!_)_++[A-Za-z]\w+|[A-Za-z0-9]{3,}", re.ASCII
)
# A branch, and a pull request.
_BRANCH = re.compile(
    r"(?<![\w./-])(?:feat(?:ure)?|(?:bug|hot)?fix|release|chore)/(?=[\w.]*+[-_\d])[\w.-]*\w",
    re.ASCII,
)
_TICKET = re.compile(r"(?<![\w#&])#\d{2,9}(?!\w)", re.ASCII)
_HAS_ENDING = re.compile(r"\.[A-Za-z]\w{0,4}\Z", re.ASCII).search
# All of something, standards, and the keys and tags of a report: these come from no source.
_COMMON = re.compile(
    r"(?<![\d.,])100 ?%|\b(?:x86_64|iso[- ]8601|utf-?(?:8|16|32)|covid-19|(?:phase|step|part)-\d|(?:sha|aes)-?(?:1|128|256|512))\b"
    r"|</?[a-z]{1,20}(?:_[a-z]{1,20}){1,3}>|\"[a-z]{1,20}(?:_[a-z\d]{1,20}){1,3}\"(?=\s?:)"
    r"|\b(?:next|open|done|key|current|pending|failed|failing|changed|completed|remaining|main|last|todo|user"
    r"|files?|tasks?|tests?)(?:_[a-z]{1,20}){1,3}(?=:)"
    r"|^\s*(?:- )?[a-z]{2,20}(?:_[a-z]{1,20}){1,3}(?=:\Z|:\s+\S+\s+\S)",
    re.IGNORECASE | re.ASCII,
)
_IS_PLAIN = re.compile(r"(?=\.?\d)\d{0,15}(?:\.\d{1,15})?").fullmatch
# A number that is not meant to be exact.
_ABOUT = re.compile(
    r"(?:[~≈]|(?<![^\W_])(?:about|around|roughly|approximately|approx\.?|nearly|almost|circa|ca\.|etwa|rund|environ|unos|unas)"
    r"\s)\s?[$€£]?\d[\d.,]*",
    re.IGNORECASE,
)
_NEAR = 0.05
_SCALED = re.compile(
    r"(?<![\w.,])\d{1,9}[.,]\d{1,3}\s?(?:millions?|millionen|millones|milioni|mio|milliards?|milliarden|billions?|mrd|bn)\b",
    re.IGNORECASE,
)
# A number of a phone, in groups some of which are too short to be told one by one.
_GROUPED = re.compile(
    r"(?<![\w.,-])(?:\+\d{1,3} )?(\d{2,4}([ -])\d{2,4}(?:\2\d{2,4})+)(?![\w-])", re.ASCII
)
_LEAST_GROUPED = 7
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[ ()/.-]{1,3}(?=\d)")
_LONGEST_DAY = 4
_PARTS_OF_A_PRICE = 2
_LEAST_DIGITS = 3
_LONGEST_CODE = 64
_LEAST_DEPTH = 2
# What was left out of a name, and how much of it is left.
_CUT = "..."
_LEAST_OF_CUT = 5
_AROUND = "()[]{}<>`'\",;"
_OF_PATHS = frozenset("/\\-")
_GROUP = 3
# What ends a sentence, or marks a word, and is no part of an address.
_EDGES = "_.:/?#!&+=-~*\\"
_OWN_HOST = re.compile(r"(?:localhost|127\.0\.0\.1)(?::\d+)?(?![^/?#])")

_MIXED = re.compile(r"(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{4,}", re.IGNORECASE).fullmatch
# Durations and sizes, which anybody may write in a new way: 1d12h30m, 10x20x30cm, 1920x1080p60; and
# words with a small number: python3, utf8mb4.
_MEASURE = re.compile(
    r"(?:\d{1,2}(?:ms|min|sec|hrs?|[dhmstwyz]))+\d{0,2}|\d+(?:x\d+)+[a-z]{0,3}\d*"
).fullmatch
_WORD_AND_NUMBER = re.compile(r"[A-Z]?[a-z]{2,}\d{1,2}[a-z]{0,3}\d?").fullmatch
_WITH_UNIT = re.compile(r"l?(\d+)[a-z]{0,4}").fullmatch
_SHORT_RANGE = re.compile(r"([a-z]+)(\d{1,9})-(\d{1,9})").fullmatch
# What is given as a key or a version.
_SECRET = re.compile(
    r"\b(?:key|token|secret|pin|pass(?:wor[dt]|code|phrase))(?: is| was|\W?:| =)[\s\"'`*]{1,4}"
    r"(?=(?=[\w-]*\d)[\w-]*[a-z]|[b-df-hj-np-tv-xz]{2,}[-_])[\w-]{4,}",
    re.ASCII | re.IGNORECASE,
)
_VERSION = re.compile(r"(?<![\w.-])v\d++(?:\.\d++){1,5}(?![\w.]*\w)", re.ASCII | re.IGNORECASE)
_CAMEL = re.compile(r"[a-z][A-Z]").search
_LETTERS = re.compile(r"[A-Za-z]*")
_CAPITALS = re.compile(r"[A-Z]{3,8}").fullmatch
_RUN = re.compile(r"[a-z0-9]+")
_HAS_CODE = re.compile(r"(?=[a-z]*\d).{3}").match
# A hash, of which the first digits may stand for all; no word has eight such letters.
_HASH = re.compile(r"[\da-f]{7,128}").fullmatch
_HASH_OF_LETTERS = 8
# Names with so many parts that differ in one are two of a kind, such as us-east-1 and us-east-2.
_LEAST_OF_KIND = 3
_MOST_OF_KIND = 8
_HYPHENED = re.compile(r"(?<![a-z0-9-])[a-z0-9]++(?:-[a-z0-9]++){2,}")
_JOINED = re.compile(r"([a-z0-9]+)([ -](?=[a-z0-9]))?")


def folded(text: str) -> str:
    """Return *text* as it is compared: without case, and without forms that only look different."""
    return alike(text).casefold()


class Source:
    """What a text was made of."""

    def __init__(self, request: SummaryRequest) -> None:
        """Read what *request* gives to read, and what its instruction names."""
        given = (request.prompt, request.focus, *request.earlier, *request.quoted)
        self._written = [*given, *texts_of(request.messages)]
        self._text = as_read("\n".join(map(folded, self._written)))
        self._parts = TextParts(self._text)

    def lacking(self, statements: Iterable[str]) -> frozenset[str]:
        """Return those of *statements* with a name, a number or a day that was never said."""
        missing = {one: _Statement(one, self).missing for one in statements}
        joined = self._joined({name for names in missing.values() for name in names})
        return frozenset(one for one, names in missing.items() if names - joined)

    def has(self, name: str) -> bool:
        """Whether *name*, folded, was said, and not only as a part of a longer one."""
        return self._found(name, _touches)

    def has_path(self, path: str) -> bool:
        """Whether *path*, folded, was said, or a folder and the path from there on."""
        # A home is written in either way.
        if self.has(path.removeprefix("~") or path):
            return True
        ends = (at for at, one in enumerate(path) if one in "/\\" and at)
        is_whole = path[0] in "/\\~" or path[1:2] == ":"
        return is_whole and any(
            self._stands_alone(path[:end]) and self._stands_alone(path[end + 1 :]) for end in ends
        )

    def has_number(self, written: str) -> bool:
        """Whether a number was said, with whatever marks between its digits."""
        found = {*readings(written)}
        return not (self._numbers.isdisjoint(found) and self._spoken[0].isdisjoint(found))

    def has_about(self, written: str) -> bool:
        """Whether a number was said that is within a twentieth of the one *written*."""
        wanted = (float(one) for one in readings(written.rstrip(".,")) if _IS_PLAIN(one))
        said = self._amounts
        return any(
            said[bisect_left(said, one * (1 - _NEAR))] <= one * (1 + _NEAR) for one in wanted
        )

    def has_rounded(self, written: str) -> bool:
        """Whether a number was said that is the one *written*, with its decimals, if it is rounded."""
        plain = written.replace(",", ".")
        if not _IS_PLAIN(plain):
            return False
        step, said = 10.0 ** -len(plain.partition(".")[2]), self._amounts
        least = float(plain) - step / 2
        return said[bisect_left(said, least)] <= least + step

    def has_digits(self, written: str) -> bool:
        """Whether the digits of *written* were said in this order, in whatever groups."""
        return "".join(filter(str.isdigit, written)) in self._digits

    def has_day(self, one: Day) -> bool:
        """Whether a day was said, with its year if that was said too."""
        key = (one.month, one.day)
        years = self._days.get(key) or self._spoken[1].get(key, set())
        if one.year is None or one.year in years:
            return bool(years)
        return None in years and str(one.year) in self._numbers

    def has_short_day(self, day: str, month: str) -> bool:
        """Whether a day without a year was said, which *day* and *month* name in digits."""
        return len(day + month) <= _LONGEST_DAY and (int(month), int(day)) in self._days

    def has_run(self, run: str) -> bool:
        """Whether letters and digits, folded, were said as one run."""
        return run in self._runs

    def has_code_of(self, text: str) -> bool:
        """Whether a code or a number in *text* was said."""
        codes = set(filter(_HAS_CODE, _RUN.findall(folded(text))))
        return bool(codes) and not codes.isdisjoint(self._runs)

    def has_beginning(self, run: str) -> bool:
        """Whether *run*, folded, is the beginning of a hash that was said."""
        if not _HASH(run):
            return False
        at = bisect_left(self._hashes, run)
        return at < len(self._hashes) and self._hashes[at].startswith(run)

    def has_cut(self, word: str) -> bool:
        """Whether *word*, folded, was said as one with more between its pieces, as in `toolu_01...`."""
        pieces = [piece.strip(_EDGES + _AROUND) for piece in word.split(_CUT)]
        is_cut = len(pieces) > 1 and max(map(len, pieces)) >= _LEAST_OF_CUT
        return is_cut and all(piece in self._text for piece in pieces)

    def has_kin(self, name: str) -> bool:
        """Whether a name was said that differs from *name*, folded, in one of its three parts or more."""
        return not self._kinds.isdisjoint(_kinds(name))

    def _stands_alone(self, path: str) -> bool:
        return self._found(path, _touches_path)

    def _found(self, name: str, touches: Callable[[str, str], bool]) -> bool:
        at = self._text.find(name)
        while at >= 0:
            end = at + len(name)
            before, after = self._text[at - 1 : at], self._text[end : end + 1]
            if not (touches(before, name[0]) or touches(after, name[-1])):
                return True
            at = self._text.find(name, end)
        return False

    @cached_property
    def siblings(self) -> Siblings:
        """The short codes, numbers and days of the week that were said."""
        return Siblings(self._parts, self._written)

    @cached_property
    def _runs(self) -> frozenset[str]:
        return frozenset(_RUN.findall(self._parts.runs))

    @cached_property
    def _hashes(self) -> list[str]:
        return sorted(one for one in self._runs if _HASH(one) and not one.isdigit())

    @cached_property
    def _kinds(self) -> frozenset[str]:
        names = set(_HYPHENED.findall(self._parts.runs))
        return frozenset(kind for name in names for kind in _kinds(name))

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return numbers_of(self._parts.figures)

    @cached_property
    def _amounts(self) -> list[float]:
        # Above all others stands what no number is near to.
        return [*sorted(float(one) for one in self._numbers if _IS_PLAIN(one)), math.inf]

    @cached_property
    def _digits(self) -> str:
        return _BETWEEN_DIGITS.sub("", self._parts.figures)

    @cached_property
    def _days(self) -> dict[tuple[int, int], set[int | None]]:
        return years_of(self._parts.figures)

    @cached_property
    def _spoken(self) -> tuple[frozenset[str], dict[tuple[int, int], set[int | None]]]:
        spoken = in_digits(self._text)
        return numbers_of(spoken), years_of(spoken)

    def _joined(self, names: set[str]) -> frozenset[str]:
        """Return those of *names* that are said in groups, or in one piece and written in groups."""
        pieces = {name: name.replace("-", "") for name in names}
        wanted = {
            piece for piece in pieces.values() if len(piece) <= _LONGEST_CODE and piece.isalnum()
        }
        if not wanted:
            return frozenset()
        beginnings = {piece[:size] for piece in wanted for size in range(1, len(piece) + 1)}
        found: set[str] = set()
        begun: list[str] = []
        for match in _JOINED.finditer(self._text):
            if begun or match[1] in beginnings:
                grown = [before + match[1] for before in (*begun, "")]
                begun = [one for one in grown if one in beginnings]
                found.update(wanted.intersection(begun))
            if match[2] is None:
                begun = []
        return frozenset(name for name, piece in pieces.items() if piece in found)


class _Statement:
    """One statement: the names in it that its source does not have, as far as they are not joined."""

    def __init__(self, text: str, source: Source) -> None:
        self._source = source
        # Case tells a code from a word.
        self._left = _COMMON.sub(" ", _without_secrets(alike(text)))
        if _CUT in self._left:
            words = self._left.split()
            self._left = " ".join(one for one in words if not source.has_cut(one.casefold()))
        self.missing: set[str] = set()
        self._take(_ADDRESS, self._is_known)
        self._take(_MAIL, self._is_known)
        self._take(_UUID, self._is_known)
        self._take_days()
        self.missing.update(source.siblings.strangers(self._left))
        self._take(_SECRET, lambda written: self._is_known(re.split(r"[\s\"'`*]", written)[-1]))
        self._take(_VERSION, lambda written: any(map(self._is_known, (written, written[1:]))))
        self._take(_TICKET, lambda written: source.has_run(written[1:]))
        self._take(_BRANCH, self._is_known)
        self._take(_PATH, self._is_known_path)
        self._take(_FILE, self._is_known_file)
        self._take(_NAME, self._is_known_name)
        self._take(_GROUPED, self._is_known_grouped)
        self._take(_ABOUT, self._is_about_known)
        self._take(_SCALED, self._is_known_scaled)
        self._take(NUMBER, self._is_known_number)

    def _take(self, shape: re.Pattern[str], is_known: Callable[[str], bool | None]) -> None:
        """Take out what has a *shape*; what is neither known nor unknown stays for the next shape."""

        def taken(match: re.Match[str]) -> str:
            known = is_known(match[1] if shape in {_ADDRESS, _GROUPED} else match[0])
            if known is None:
                return match[0]
            if not known:
                self.missing.add(match[0].strip(_EDGES).casefold())
            return " "

        self._left = shape.sub(taken, self._left)

    def _take_days(self) -> None:
        readings: dict[tuple[int, int], list[Day]] = {}
        for one in days_of(self._left.casefold()):
            readings.setdefault((one.start, one.end), []).append(one)
        # The ordinal of a day is said in words.
        spoken = (one for one in in_digits(self._left.casefold()).split("\n") if " of " in one)
        self.missing.update(
            f"day {one.day}" for one in days_of("\n".join(spoken)) if not self._source.has_day(one)
        )
        written = self._left
        for (start, end), days in readings.items():
            if not any(map(self._source.has_day, days)):
                self.missing.add(f"day {written[start:end]}")
            self._left = f"{self._left[:start]}{' ' * (end - start)}{self._left[end:]}"

    def _is_known(self, name: str) -> bool:
        name = name.strip(_EDGES).casefold()
        return not name or bool(_OWN_HOST.match(name)) or self._source.has(name)

    def _is_known_path(self, path: str) -> bool | None:
        name = path.rstrip("/\\.").casefold().removeprefix("./").removeprefix(".\\")
        is_rooted = path[0] in "/\\~." or path[1:2] == ":"
        has_ending = _HAS_ENDING(name) is not None
        if not is_rooted and not has_ending and len(re.findall(r"[/\\]", path)) < _LEAST_DEPTH:
            return None
        if not name or self._source.has_path(name):
            return True
        # Files with slashes between them, or words.
        parts = re.split(r"[/\\]", name)
        if has_ending:
            return all(map(_HAS_ENDING, parts)) and all(map(self._source.has, parts))
        return not is_rooted and all(map(self._source.has_run, _RUN.findall(name)))

    def _is_known_file(self, name: str) -> bool:
        # A field of a field may be said apart, as in `animation: {onComplete: ...}`.
        parts = name.split(".")
        is_field = _CAMEL(parts[-1]) is not None
        return self._is_known(name) or (
            is_field and all(self._source.has_run(part.casefold()) for part in parts)
        )

    def _is_known_name(self, name: str) -> bool | None:
        run = name.casefold()
        is_word = run.isalpha() and not (len(run) >= _HASH_OF_LETTERS and _HASH(run))
        if run.isdigit() or (is_word and not (_CAMEL(name) and len(run) > _GROUP)):
            return None
        if run.isalnum():
            return self._is_known_run(name)
        pieces = [piece for piece in re.split("[_-]+", name) if piece]
        has_digit = any(map(str.isdigit, run))
        is_code = (
            "_" in name
            or any(_MIXED(piece) or (has_digit and _CAPITALS(piece)) for piece in pieces)
            or self._source.has_kin(run)
        )
        if not is_code or self._source.has(run) or self._source.has(run.strip("_-")):
            return True if is_code else None
        short = _SHORT_RANGE(run)
        if short is not None and int(short[2]) < int(short[3]):
            ends = (short[1] + short[3], short[3])
            return self._source.has_run(short[1] + short[2]) and any(
                map(self._source.has_run, ends)
            )
        # A range, as from WP16 to WP20.
        is_range = len({_LETTERS.match(piece)[0] for piece in pieces}) == 1  # type: ignore[index]
        return (
            is_range and "-" in name and all(map(self._source.has_run, map(str.casefold, pieces)))
        )

    def _is_known_run(self, name: str) -> bool:
        run = name.casefold()
        # A name may be in the plural.
        if any(map(self._source.has_run, (run, run.removesuffix("s"), f"{run}s"))):
            return True
        if not run.isalpha() and len(run) <= _GROUP:
            return True
        if self._source.has_beginning(run):
            return True
        unit = _WITH_UNIT(run)
        if unit is None:
            return _MEASURE(run) is not None or _WORD_AND_NUMBER(name) is not None
        counts = (unit[1], f"{unit[1]}000")
        return len(unit[1]) < _LEAST_DIGITS or any(map(self._source.has_number, counts))

    def _is_about_known(self, written: str) -> bool | None:
        return True if self._source.has_about(re.sub(r"[^\d.,]", "", written)) else None

    def _is_known_grouped(self, written: str) -> bool | None:
        _, *sizes = map(len, re.split("[ -]", written))
        # Groups of three may be a number.
        is_short = sum(map(str.isdigit, written)) < _LEAST_GROUPED or {*sizes} == {_GROUP}
        return self._source.has_digits(written) or (None if is_short else False)

    def _is_known_scaled(self, written: str) -> bool:
        found = max(numbers_of(written.casefold()), key=len)
        return self._source.has_about(found)

    def _is_known_number(self, written: str) -> bool:
        groups = MARKS.split(written)
        # A price has two digits more, and a version may have few.
        least = _LEAST_DIGITS + (len(groups) == _PARTS_OF_A_PRICE and len(groups[-1]) != _GROUP)
        if sum(map(len, groups)) < least or self._source.has_number(written):
            return True
        return (
            self._source.has(written)
            or self._source.has_rounded(written)
            or self._source.has_beginning(written)
            or (len(groups) == _PARTS_OF_A_PRICE and self._source.has_short_day(*groups))
            or self._are_known_numbers(written.split(","))
        )

    def _are_known_numbers(self, parts: list[str]) -> bool:
        # Where no space follows a comma, several numbers look like one.
        is_list = max(map(len, parts[1:]), default=0) > _GROUP
        return is_list and all(map(self._is_known_number, parts))


def _kinds(name: str) -> Iterator[str]:
    """Yield *name* without one of its parts each, if it has so many that they tell a name from words."""
    parts = name.split("-")
    if _LEAST_OF_KIND <= len(parts) <= _MOST_OF_KIND:
        for at in range(len(parts)):
            yield "-".join((*parts[:at], "", *parts[at + 1 :]))


def _touches(outside: str, inside: str) -> bool:
    """Whether a character beside a name belongs to the same run as the one inside."""
    is_word = outside.isascii() and (outside.isalnum() or outside == "_")
    return is_word and inside.isascii() and (inside.isalnum() or inside == "_")


def _touches_path(outside: str, inside: str) -> bool:
    return outside in _OF_PATHS or outside.isalnum() or _touches(outside, inside)


def _without_secrets(text: str) -> str:
    # What touches a marker was cut through: no source has such a name.
    if not _MARKER.search(text):
        return text
    return " ".join(word for word in _MARKER.sub("\0", text).split() if "\0" not in word)
