"""
Identifiers found in text: ids, codes, files, dates, amounts, addresses.

Typed shapes come first, then a generic one: any token with a digit, `@`, `_`, `/` or `#`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct


__all__ = [
    "Identifier",
    "KindOf",
    "canonical_paths",
    "find_identifiers",
    "is_identifier",
    "kind_of",
]


KindOf: TypeAlias = Callable[[str], str]
"""`kind_of`, or a cached one."""


class Identifier(Struct, frozen=True):
    """One occurrence of an identifier, and its name in a `"name": "value"` pair."""

    value: str
    """The identifier as it was written."""

    label: str
    """Its name in a `"name": "value"` pair; empty elsewhere."""


_MONTH = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_FILE = (
    "bash|c|cc|cfg|conf|cpp|cs|css|csv|go|gz|h|hpp|html|ini|ipynb|java|jpg|js|json|jsonl|jsx|kt"
    "|lock|log|md|mjs|pdf|php|png|proto|py|rb|rs|rst|scala|scss|sh|sql|svg|swift|tar|toml|ts|tsx"
    "|txt|vue|xml|yaml|yml|zip"
)
_WORD = r"\w.~$€£%@/#+:-"
_PAIR = re.compile(r'"(\w{1,40})"\s{0,4}:\s{0,4}(?:"([^"\\\s]{2,120})"|(\d{4,20})\b)')
_TOKEN = re.compile(
    rf"(?<![{_WORD}])(?:"
    r"https?://[^\s\"'<>()\[\]{}\\|`]{3,300}"
    rf"|(?:{_MONTH})[a-z]{{0,6}}\.? \d{{1,2}}(?:st|nd|rd|th)?\b"
    rf"|[{_WORD}]++"
    r")"
)
_SPECIAL = re.compile(rf"[0-9@_/#]|\.(?:{_FILE})$")
_SOLID = re.compile(r"(?=\S*?[^\W_]\S*?[^\W_])\S+").fullmatch
_LEFT_EDGE = ",:;!?+-"
_RIGHT_EDGE = ".,:;!?~+-"
_SHORTEST = 2
_LONGEST = 160

_KIND = re.compile(
    r"(?P<url>[a-z]{2,8}://\S{3,})"
    r"|(?P<email>[\w.+-]+@[\w-]+\.[\w.-]+)"
    r"|(?P<clock>\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:[+-]\d.*)?)"
    rf"|(?P<date>\d{{4}}-\d\d-\d\d\S*|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}|(?:{_MONTH}).* \S+)"
    r"|(?P<amount>[$€£]\d\S*|\d\S*[%$€£])"
    rf"|(?P<path>[~@.]?/?(?:[\w@.+~-]+/)*[\w@+~.-]+\.(?:{_FILE})"
    r"|[~.@]{0,2}/[\w@.+~-]+/[\w@.+~/-]+)"
    r"|(?P<number>[\d.,:x#+-]+)"
    r"|(?P<code>(?=.*[A-Za-z])(?=.*\d)[\w.#@-]+)"
).fullmatch


def kind_of(value: str) -> str:
    """Return the kind of *value*: `url`, `email`, `date`, ... or `name` if no shape fits."""
    match = _KIND(value)
    return (match and match.lastgroup) or "name"


def is_identifier(value: str) -> bool:
    """Whether *value*, alone in a named place, is worth keeping as an identifier."""
    if not _SHORTEST <= len(value) <= _LONGEST or not _SOLID(value):
        return False
    return bool(_SPECIAL.search(value)) or value.isupper()


def find_identifiers(text: str) -> Iterator[Identifier]:
    """Yield the identifiers in *text*, named pairs first, then all others in order."""
    named: set[str] = set()
    if '":' in text or '" :' in text:
        for match in _PAIR.finditer(text):
            named.add(match[1])
            value = match[2] or match[3]
            if is_identifier(value) or match[1].lower().endswith("id"):
                named.add(value)
                yield Identifier(value, match[1])
    for token in _TOKEN.findall(text):
        if _SPECIAL.search(token):
            value = token.lstrip(_LEFT_EDGE).rstrip(_RIGHT_EDGE)
            if len(value) > _SHORTEST and value not in named and _is_token(value):
                yield Identifier(value, "")


def _is_token(value: str) -> bool:
    if len(value) > _LONGEST or not _SPECIAL.search(value):
        return False
    return " " in value or bool(_SOLID(value))


_DEEPEST = 12


def canonical_paths(values: Iterable[str], *, kinds: KindOf = kind_of) -> Mapping[str, str]:
    """
    Map each path among *values* that is the end of a longer one to the longest of those.

    If `/home/me/app/src/main.ts` is there, `main.ts` and `./src/main.ts` become it.
    """
    paths = sorted(
        (value for value in values if kinds(value) == "path"),
        key=lambda value: (-len(value), value),
    )
    by_ending: dict[str, str] = {}
    for path in paths:
        steps = _bare(path).split("/")
        for start in range(max(len(steps) - _DEEPEST, 0), len(steps)):
            by_ending.setdefault("/".join(steps[start:]), path)
    return {path: by_ending.get(_bare(path), path) for path in paths}


def _bare(path: str) -> str:
    bare = path.lstrip("@~./").rstrip("/")
    return bare or path
