"""
Identifiers in text: ids, codes, files, dates, amounts, addresses, names of code.

Texts are joined and split at white space, many at a time, and each distinct word is looked at once
for all texts, since most words come again and again. What JSON writes as a key is none, and neither is a version number.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, filterfalse, pairwise

from foldline.providers.digest.text import (
    PIECE,
    batches,
    has_value,
    hints_in,
    is_printable,
    may_have_card,
    printable,
    redact,
)
from foldline.reduction.language import UNSPACED


_MONTH_NAMES = re.findall(
    r"\w+",
    "January February March April May June July August September Sept October November December",
)
_MONTHS = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTH_NAMES)
_MONTH_WORDS = frozenset(
    f"{form}{end}" for name in _MONTH_NAMES for form in (name, name[:3]) for end in ("", ".")
)
# The day is before or after it: "3 December 18:00" is not the 18th.
_MONTH_DAY = re.compile(
    rf"(?<![\w.,:/-])[0-3]?\d(?:st|nd|rd|th|\.)? (?:{_MONTHS})\b"
    rf"|\b(?:{_MONTHS})\.? [0-3]?\d(?:st|nd|rd|th)?\b(?!:\d)"
)
_FILE = (
    "bash|c|cc|cfg|conf|cpp|cs|css|csv|go|gz|h|hpp|html|ini|ipynb|java|jpg|js|json|jsonl|jsx|kt"
    "|lock|log|md|mjs|pdf|php|png|proto|py|rb|rs|rst|scala|scss|sh|sql|svg|swift|tar|toml|ts|tsx"
    "|txt|vue|xml|yaml|yml|zip"
)
_PAIR = re.compile(
    r'"(\w{1,40})"\s{0,4}:\s{0,4}(?:"([^"\\\s]{2,120})"|(\d{1,20}(?:\.\d{1,9})?)\b(?!\.))'
)
# A run that a closing quote and a colon follow is the key of a value; `</p>` is no path.
_RUN = re.compile(
    r"(https?://[^\s\"'<>()\[\]{}\\|`]{3,300}"
    r"|(?<!\d[,.])[$€£]?\d{1,3}(?:(?:,\d{3}){1,4}(?:\.\d{1,9})?|(?:\.\d{3}){1,2},\d\d?)(?![,.]?\w)[%€£]?"
    r"|(?!(?<=<)/)[\w.~$€£%@/#+:-]++)([\"']\s?:)?"
).findall
_LINE = re.compile(rf"(\.(?:{_FILE})):\d").search
# A line of a listing or of a search begins with its number.
_NUMBER = re.compile(r"\d{1,6}:(?=[^\d/])").match
_NUMBERED = re.compile(r"\n *(\d{1,6}):").findall
_FEW_STEPS = 2
_FILED = re.compile(r"\d{2}|[A-Z]\d|\d[A-Z]").search
_OBJECTS = ("this.", "self.")
_OBJECT_LENGTH = len("this.")
# A pattern that begins with characters is searched several times as fast as one with alternatives.
_SPECIAL = re.compile(rf"[0-9@_/#.A-Z](?:(?<![.A-Z])|(?<=\.)(?:{_FILE})$|(?<=[a-z][A-Z]))").search
_SOLID = re.compile(r"(?=\S*?[^\W_]\S*?[^\W_])\S+").fullmatch
# What a word has if anything is in it that is looked for: a digit, an identifier.
_UNUSUAL = re.compile(r"[\d@_/#.A-Z](?:(?<![.A-Z])|(?<=\.)(?=[a-z])|(?<=[a-z][A-Z]))").search
_LEFT_EDGE = ",:;!?+-*"
_RIGHT_EDGE = ".,:;!?~+-*"
# What stands between texts that are read together; no printable text has it.
_BETWEEN = "\0"
_JOINT = f" {_BETWEEN} "
# A row of dots leads from one word to another.
_DOTS = re.compile(r"\.{3,}")
# Words of C, and endings of files that a search is for.
_NAMELESS = frozenset(
    {"#define", "#endif", "#ifdef", "#ifndef", "#include", "#pragma"}
    | {f".{ending}" for ending in _FILE.split("|")}
)
_DECIMAL = re.compile(r"[\d,]+\.\d\d?").fullmatch
_CURRENCIES = "AUD|CAD|CHF|CNY|DKK|EUR|GBP|INR|JPY|NOK|PLN|SEK|USD"
_MONEY = rf"(?:(?:{_CURRENCIES}|cents?|dollars?|euros?|francs?|kron(?:er|or)|pounds?)\b|[$€£])"
_PRICE = re.compile(
    rf"\d(?<!\w\d)(?:(?<=(?:{_CURRENCIES})\s\d)|(?<=[$€£]\s\d)|(?=[\d,]{{0,20}}\.\d\d?\s?(?i:{_MONEY})))"
    r"[\d,]{0,20}\.\d\d?\b"
).findall
_SHORTEST = 2
_LONGEST = 160
# Where no spaces are written, a word is a sentence with a number in it; what is longer is no name.
_UNSPACED = re.compile(f"[{UNSPACED}]+")
_LONGEST_UNSPACED = 12
# What Arabic writes in front of a number, and Korean after one or after a word of Latin letters.
_PARTICLES = re.compile(r"^[\u0621-\u064a]+(?=\d)|(?<=[A-Za-z\d%])[\uac00-\ud7a3]+$")

_KIND = re.compile(
    r"(?P<url>[a-z]{2,8}://\S{3,})"
    r"|(?P<email>[\w.+-]+@(?:[\w-]+\.)+[^\W\d_]{2,})"
    r"|(?P<package>[\w@./-]+@v?\d+(?:\.\d+){1,2}(?:[-+][\w.+-]+)?)"
    r"|(?P<clock>(?:\d{4}-\d\d-\d\dT)?\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:[+-]\d.*|Z)?"
    r"|(?:\d+(?:\.\d+)?(?:[mun\u00b5]?s|secs?|mins?|[mh]))+)"
    rf"|(?P<date>\d{{4}}-\d\d-\d\d\S*|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}|\d{{1,2}}\.\d{{1,2}}\.\d{{4}}|(?:{_MONTHS}).* \S+"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)? (?:{_MONTHS}))"
    r"|(?P<amount>[$€£]\d\S*|\d\S*[%$€£])"
    rf"|(?P<path>[~@.]?/?(?:[\w@.+~-]+/)*[\w@+~.-]+\.(?:{_FILE})"
    r"|[~.@]{0,2}/[\w@.+~-]+/[\w@.+~/-]+)"
    r"|(?P<command>/[a-z-]+)"
    r"|(?P<version>v?\d+(?:\.\d+){1,4}(?:[-+.]?(?:a|b|rc|dev|post|alpha|beta)[\d.]*)?|\d+\.\d+\.\S+)"
    r"|(?P<number>[\d.,:x#+-]+)"
    r"|(?P<code>(?=.*[A-Za-z])(?=.*\d)[\w.#@-]+)"
).fullmatch


# Of the two characters the second would begin the next name.
_BREAK = re.compile(r"(?<!\\)((?:\\\\)*)\\[nrt]")


def kind_of(value: str) -> str:
    """Return the kind of *value*: `url`, `email`, `date`, ... or `name` if no shape fits."""
    match = _KIND(value)
    return (match and match.lastgroup) or "name"


def is_identifier(value: str) -> bool:
    """Whether the whole of *value*, such as an argument of a call, is one identifier."""
    longest = _LONGEST if value.isascii() or not _UNSPACED.search(value) else _LONGEST_UNSPACED
    if not _SHORTEST <= len(value) <= longest or "*" in value or not _SOLID(value):
        return False
    return bool(_SPECIAL(value)) or value.isupper()


class Finder:
    """Finds secrets and identifiers in many texts, and looks at each distinct word and text once."""

    def __init__(self, rest: Callable[[], None] | None = None) -> None:
        """Begin without words; *rest* is called whenever a `PIECE` of text or more was read."""
        self._rest = rest
        self._read = 0
        self._plain: set[str] = set()
        # What a word names is looked for when it is asked.
        self._special: dict[str, Sequence[str] | None] = {_BETWEEN: ()}
        self._hints: dict[str, list[str]] = {}
        self._months: set[str] = set()
        self._kinds: dict[str, str] = {}
        self._words: dict[str, Sequence[str]] = {}
        self._hinted: set[str] = set()

    def kind(self, value: str) -> str:
        """Return the kind of *value*; see `kind_of`."""
        kind = self._kinds.get(value)
        if kind is None:
            kind = self._kinds[value] = kind_of(value)
        return kind

    def clean(self, texts: Iterable[str]) -> list[str]:
        """Return what `text.clean` returns of each of *texts*."""
        texts = list(texts)
        # Together: one other character makes all that is joined with it several times as slow.
        alike = sorted(dict.fromkeys(texts), key=str.isascii, reverse=True)
        cleaned = [text for batch in batches(alike) for text in self._cleaned(batch)]
        known = dict(zip(alike, cleaned, strict=True))
        return list(map(known.__getitem__, texts))

    def _cleaned(self, texts: list[str]) -> list[str]:
        given, joined = texts, _JOINT.join(texts)
        if not is_printable(joined, nulls=len(texts) - 1):
            texts = list(map(printable, texts))
            joined = _JOINT.join(texts)
        self._go_on(len(joined))
        special = [*self._special_words(joined), _BETWEEN]
        is_hinted = not self._hints.keys().isdisjoint(special)
        # Every word with a digit is special.
        has_card = may_have_card(" ".join(special))
        start = 0
        for place, text in enumerate(texts):
            end = special.index(_BETWEEN, start)
            words = self._words[text] = special[start:end]
            start = end + 1
            hints = self._hints_of(words) if is_hinted else None
            if hints:
                self._hinted.add(given[place])
            if hints or (has_card and may_have_card(" ".join(words))):
                texts[place] = redact(text, hints or ())
        return texts

    def _hints_of(self, words: Sequence[str]) -> set[str]:
        if self._hints.keys().isdisjoint(words):
            return set()
        return {hint for word in words for hint in self._hints.get(word, ())}

    def find(self, text: str) -> dict[str, str]:
        """Return the identifiers of *text* and their labels, `"name": "value"` pairs first."""
        self._go_on(len(text))
        text = _unbroken(text)
        found: dict[str, str] = {}
        # Most texts have no quote, which is seen at once.
        if '"' in text and ('":' in text or '" :' in text):
            for label, written, number in _PAIR.findall(text):
                value = written or number
                if value not in found and (
                    number or is_identifier(value) or label.lower().endswith("id")
                ):
                    found[value] = label
        words = self._words_of(text)
        for word in words:
            values = self._special[word]
            if values is None:
                values = self._special[word] = _values(word)
            for value in values:
                found.setdefault(value, "")
        found.update(dict.fromkeys(_prices_in(text, found), "amounts"))
        for value in _line_numbers(text) if "\n" in text else ():
            found.pop(value, None)
        if not self._months.isdisjoint(words):
            for value in _MONTH_DAY.findall(text):
                found.setdefault(value, "")
        return found

    def has_hint(self, texts: Iterable[str]) -> bool:
        """Whether one of *texts*, as they were given to `clean`, hints at a secret; card numbers do not."""
        return not self._hinted.isdisjoint(texts)

    def _go_on(self, size: int) -> None:
        self._read += size
        if self._rest and self._read >= PIECE:
            self._read = 0
            self._rest()

    def _words_of(self, text: str) -> Sequence[str]:
        words = self._words.get(text)
        if words is None:
            words = self._words[text] = self._special_words(text)
        return words

    def _special_words(self, text: str) -> list[str]:
        """Return the words of *text* that have a digit, an identifier, a month or a hint."""
        words = list(filterfalse(self._plain.__contains__, text.split()))
        new = set(words).difference(self._special)
        if not new:
            return words
        self._learn(new)
        return list(filter(self._special.__contains__, words))

    def _learn(self, words: set[str]) -> None:
        # A hint may end with the space after a word.
        text = " ".join([*words, ""])
        for hint in hints_in(text):
            part = hint.rstrip()
            for word, lowered in zip(words, text.lower().split(), strict=True):
                if part in lowered and has_value(hint, lowered):
                    self._hints.setdefault(word, []).append(hint)
        special = set(filter(_UNUSUAL, words))
        months = words & _MONTH_WORDS
        self._months |= months
        special.update(months, words & self._hints.keys())
        self._special.update(dict.fromkeys(special))
        self._plain |= words - special


def _values(word: str) -> list[str]:
    values: list[str] = []
    if "..." in word:
        word = _DOTS.sub(" ", word)
    if not word.isascii():
        word = _UNSPACED.sub(" ", word)
    # Most are one run, which is seen much faster.
    runs = [(word, "")] if word.isascii() and word.isidentifier() else _RUN(word)
    for run, key in runs:
        # A key with more than a number at its end is an id that something is filed under.
        if (key and not _FILED(run)) or not _SPECIAL(run):
            continue
        value = run.lstrip(_LEFT_EDGE).rstrip(_RIGHT_EDGE)
        if not value.isascii():
            value = _PARTICLES.sub("", value)
        if ":" in value and (number := _NUMBER(value)):
            value = value[number.end() :]
        if value.startswith(_OBJECTS):
            value = value[_OBJECT_LENGTH:]
        if ":" in value and (line := _LINE(value)):
            value = value[: line.end(1)]
        # What was cut off may have been what was special.
        is_special = value not in _NAMELESS and (value is run or _SPECIAL(value))
        if is_special and _SHORTEST < len(value) <= _LONGEST and _is_solid(value):
            values.append(value)
    return values


def _unbroken(text: str) -> str:
    """Return *text* with spaces for the line breaks that are written out in it, if it is JSON."""
    is_broken = "\\n" in text and text.startswith(("{", "["))
    return _BREAK.sub(r"\1 ", text) if is_broken else text


def _prices_in(text: str, found: Mapping[str, str]) -> list[str]:
    """Return the numbers that money stands beside, of those *found*: alone they look like versions."""
    is_likely = any(map(_DECIMAL, found))
    return [one for one in _PRICE(text) if found.get(one) == ""] if is_likely else []


def _line_numbers(text: str) -> set[str]:
    """Return the numbers of lines in *text* that follow each other, as those of listings do."""
    numbers = _NUMBERED(text)
    steps = [pair for pair in pairwise(numbers) if int(pair[1]) - int(pair[0]) == 1]
    return set(chain.from_iterable(steps)) if len(steps) >= _FEW_STEPS else set()


def _is_solid(value: str) -> bool:
    # The first is the same as the second for most, and much faster.
    return (value[0].isalnum() and value[-1].isalnum()) or _SOLID(value) is not None
