"""
Identifiers in text: ids, codes, files, dates, amounts, addresses, names of code.

A text is split at white space, and each distinct word is looked at once for all texts, since most
words come again and again. What JSON writes as a key is none, and neither is a version number.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from foldline.providers.digest.text import hints_in, printable, redact


__all__ = ["Finder", "Found", "find_identifiers", "is_identifier", "kind_of"]


class Found(Struct, frozen=True, gc=False):
    """One identifier, and the key that it is the value of; empty without one."""

    value: str
    label: str = ""


_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_MONTH = re.compile(rf"(?:{_MONTHS})[a-z]{{0,6}}\.?").fullmatch
_MONTH_DAY = re.compile(rf"\b(?:{_MONTHS})[a-z]{{0,6}}\.? \d{{1,2}}(?:st|nd|rd|th)?\b")
_FILE = (
    "bash|c|cc|cfg|conf|cpp|cs|css|csv|go|gz|h|hpp|html|ini|ipynb|java|jpg|js|json|jsonl|jsx|kt"
    "|lock|log|md|mjs|pdf|php|png|proto|py|rb|rs|rst|scala|scss|sh|sql|svg|swift|tar|toml|ts|tsx"
    "|txt|vue|xml|yaml|yml|zip"
)
_PAIR = re.compile(r'"(\w{1,40})"\s{0,4}:\s{0,4}(?:"([^"\\\s]{2,120})"|(\d{4,20})\b)')
# A run that a closing quote and a colon follow is the key of a value.
_RUN = re.compile(r"(https?://[^\s\"'<>()\[\]{}\\|`]{3,300}|[\w.~$€£%@/#+:-]++)([\"']\s?:)?")
_LINE = re.compile(rf"(\.(?:{_FILE})):\d.*")
_FILED = re.compile(r"\d{2}|[A-Z]\d|\d[A-Z]").search
_OBJECTS = ("this.", "self.")
_OBJECT_LENGTH = len("this.")
_SPECIAL = re.compile(rf"[0-9@_/#]|\.(?:{_FILE})$|[a-z][A-Z]").search
_SOLID = re.compile(r"(?=\S*?[^\W_]\S*?[^\W_])\S+").fullmatch
# What a word has if anything is in it that is looked for: a digit, an identifier.
_UNUSUAL = re.compile(r"[\d@_/#]|\.[a-z]|[a-z][A-Z]").search
_LEFT_EDGE = ",:;!?+-*"
_RIGHT_EDGE = ".,:;!?~+-*"
_SHORTEST = 2
_LONGEST = 160

_KIND = re.compile(
    r"(?P<url>[a-z]{2,8}://\S{3,})"
    r"|(?P<email>[\w.+-]+@[\w-]+\.[\w.-]+)"
    r"|(?P<clock>(?:\d{4}-\d\d-\d\dT)?\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:[+-]\d.*|Z)?)"
    rf"|(?P<date>\d{{4}}-\d\d-\d\d\S*|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}|(?:{_MONTHS}).* \S+)"
    r"|(?P<amount>[$€£]\d\S*|\d\S*[%$€£])"
    rf"|(?P<path>[~@.]?/?(?:[\w@.+~-]+/)*[\w@+~.-]+\.(?:{_FILE})"
    r"|[~.@]{0,2}/[\w@.+~-]+/[\w@.+~/-]+)"
    r"|(?P<version>v?\d+(?:\.\d+){1,4}(?:[-+.]?(?:a|b|rc|dev|post|alpha|beta)[\d.]*)?|\d+\.\d+\.\S+)"
    r"|(?P<number>[\d.,:x#+-]+)"
    r"|(?P<code>(?=.*[A-Za-z])(?=.*\d)[\w.#@-]+)"
).fullmatch


def kind_of(value: str) -> str:
    """Return the kind of *value*: `url`, `email`, `date`, ... or `name` if no shape fits."""
    match = _KIND(value)
    return (match and match.lastgroup) or "name"


def is_identifier(value: str) -> bool:
    """Whether the whole of *value*, such as an argument of a call, is one identifier."""
    if not _SHORTEST <= len(value) <= _LONGEST or not _SOLID(value):
        return False
    return bool(_SPECIAL(value)) or value.isupper()


class Finder:
    """Finds secrets and identifiers in many texts, and looks at each distinct word and text once."""

    def __init__(self) -> None:
        """Begin without words."""
        self._plain: set[str] = set()
        self._special: dict[str, tuple[str, ...]] = {}
        self._hints: dict[str, list[str]] = {}
        self._kinds: dict[str, str] = {}
        self._words: dict[str, list[str]] = {}

    def kind(self, value: str) -> str:
        """Return the kind of *value*; see `kind_of`."""
        kind = self._kinds.get(value)
        if kind is None:
            kind = self._kinds[value] = kind_of(value)
        return kind

    def clean(self, text: str) -> str:
        """Return what `text.clean` returns."""
        text = printable(text)
        words = self._special_words(text)
        if not words:
            return text
        if self._hints.keys().isdisjoint(words):
            return redact(text, ())
        return redact(text, {hint for word in words for hint in self._hints.get(word, ())})

    def find(self, text: str) -> Iterator[Found]:
        """Yield each identifier of *text* once: `"name": "value"` pairs first, then the others."""
        named: set[str] = set()
        if '":' in text or '" :' in text:
            for label, written, number in map(re.Match[str].groups, _PAIR.finditer(text)):
                value = written or number
                if value not in named and (is_identifier(value) or label.lower().endswith("id")):
                    named.add(value)
                    yield Found(value, label)
        words = self._special_words(text)
        if not words:
            return
        values = {value: None for word in words for value in self._special[word]}
        if any(_MONTH(word) for word in words):
            values |= dict.fromkeys(match[0] for match in _MONTH_DAY.finditer(text))
        for value in values:
            if value not in named:
                yield Found(value)

    def _special_words(self, text: str) -> list[str]:
        """Return the words of *text* that have a digit, an identifier, a month or a hint."""
        known = self._words.get(text)
        if known is None:
            known = text.split()
            if self._plain.issuperset(known):
                known = []
            known = [word for word in known if word not in self._plain]
            new = [word for word in dict.fromkeys(known) if word not in self._special]
            if new:
                self._learn(new)
                known = [word for word in known if word in self._special]
            self._words[text] = known
        return known

    def _learn(self, words: Sequence[str]) -> None:
        if hints_in(" ".join(words)):
            self._hints.update((word, hints) for word in words if (hints := hints_in(word)))
        for word in words:
            is_letters = word.isalpha() and word.islower()
            if word in self._hints or (not is_letters and (_UNUSUAL(word) or _MONTH(word))):
                self._special[word] = tuple(_values(word))
            else:
                self._plain.add(word)


def find_identifiers(text: str) -> Iterator[Found]:
    """Yield the identifiers of *text* once each; see `Finder`."""
    return Finder().find(text)


def _values(word: str) -> Iterator[str]:
    for run, key in _RUN.findall(word):
        # A key with more than a number at its end is an id that something is filed under.
        if (not key or _FILED(run)) and _SPECIAL(run):
            value = run.lstrip(_LEFT_EDGE).rstrip(_RIGHT_EDGE)
            if value.startswith(_OBJECTS):
                value = value[_OBJECT_LENGTH:]
            if ":" in value:
                value = _LINE.sub(r"\1", value)
            if _SHORTEST < len(value) <= _LONGEST and _SPECIAL(value) and _SOLID(value):
                yield value
