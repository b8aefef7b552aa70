"""
Identifiers in text: ids, codes, files, dates, amounts, addresses; and the ledger of them.

The ledger says which identifiers occurred, in which role, how often and how recently.

An identifier that was an argument of a call is *used* and has its own section; one that was said or
returned is *seen*. The rank is an integer score, the same on every machine and with every hash
seed. An absorbed digest returns its entries in the order of their ranks; they alternate with the
new ones and come first, so what mattered most survives many folds and the rest fades.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import zip_longest
from typing import TypeAlias

from msgspec import Struct

from foldline.providers.digest.outline import Earlier, Item, Section
from foldline.providers.digest.span import Argument, Span, Speech


__all__ = ["Entry", "Ledger", "build_ledger", "find_identifiers", "kind_of", "offer_entries"]


_KindOf: TypeAlias = Callable[[str], str]
"""`kind_of`, with a cache."""


class Entry(Struct, frozen=True):
    """One identifier, and what is written before it: a name, a directory with its slash, a kind."""

    value: str
    label: str


class Ledger(Struct, frozen=True):
    """All identifiers of a span, the most important first: arguments of calls, and all others."""

    used: Sequence[Entry]
    seen: Sequence[Entry]


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


def _is_identifier(value: str) -> bool:
    if not _SHORTEST <= len(value) <= _LONGEST or not _SOLID(value):
        return False
    return bool(_SPECIAL.search(value)) or value.isupper()


def find_identifiers(text: str) -> Iterator[Entry]:
    """Yield the identifiers in *text*: `"name": "value"` pairs, then others, without a label."""
    named: set[str] = set()
    if '":' in text or '" :' in text:
        for match in _PAIR.finditer(text):
            named.add(match[1])
            value = match[2] or match[3]
            if _is_identifier(value) or match[1].lower().endswith("id"):
                named.add(value)
                yield Entry(value, match[1])
    for token in _TOKEN.findall(text):
        # Most are plain words, which is faster to see.
        if not token.isalpha() and _SPECIAL.search(token):
            value = token.lstrip(_LEFT_EDGE).rstrip(_RIGHT_EDGE)
            if _SHORTEST < len(value) <= _LONGEST and value not in named and _is_token(value):
                yield Entry(value, "")


def _is_token(value: str) -> bool:
    return bool(_SPECIAL.search(value) and (" " in value or _SOLID(value)))


_DEEPEST = 12


def _canonical_paths(values: Iterable[str], kinds: _KindOf) -> Mapping[str, str]:
    # The end of a longer path is that path.
    found = (value for value in values if kinds(value) == "path")
    paths = sorted(found, key=lambda value: (-len(value), value))
    by_ending: dict[str, str] = {}
    for path in paths:
        steps = _bare(path).split("/")
        for start in range(max(len(steps) - _DEEPEST, 0), len(steps)):
            by_ending.setdefault("/".join(steps[start:]), path)
    return {path: by_ending.get(_bare(path), path) for path in paths}


def _bare(path: str) -> str:
    return path.lstrip("@~./").rstrip("/") or path


class _Mention(Struct, frozen=True):
    value: str
    label: str
    role: str
    position: int


class _Tally(Struct):
    label: str = ""
    used: int = 0
    own: int = 0
    user: int = 0
    assistant: int = 0
    tool: int = 0
    last: int = 0


_MOST = 600
_MENTIONED = 400
_NUMBER_LENGTH = 4
_SEPARATOR = ", "
_LABEL = re.compile(r"[\w.-]{1,40}").fullmatch
_KIND_LABELS = {"clock": "times", "path": "files"}
_KIND_SCORES = {"clock": -40, "number": -30, "name": -12, "amount": -8, "url": -4}
# What means little without its sentence comes last.
_WEAK_KINDS = ("clock", "number")
_SMALL_KINDS = ("clock", "number", "amount")
# What the user calls their own ("my order number is ..."): the subject of the conversation.
_OWN = re.compile(r"\b(?:my|our)\b[^!?\n]{0,80}", re.IGNORECASE)
_ID_ENDINGS = ("id", "code", "number", "key", "date", "email", "path", "dob", "ref")


def build_ledger(span: Span, earlier: Earlier) -> Ledger:
    """Rank the identifiers of *span* and of *earlier* summaries."""
    kinds = cache(kind_of)
    prior = _prior(earlier, kinds)
    quoted = _found("\n".join(earlier.foreign), "assistant", 0)
    mentions = (*quoted, *_mentions(span, kinds))
    known = {entry.value for entry in (*prior.used, *prior.seen)}
    known |= {mention.value for mention in mentions}
    paths = _canonical_paths(known, kinds)
    tallies = _tally(mentions, paths)
    length = 1 + max((tally.last for tally in tallies.values()), default=0)
    kept = [value for value, tally in tallies.items() if not _is_noise(kinds(value), value, tally)]
    ranked = sorted(kept, key=lambda value: _rank(value, tallies[value], length, kinds(value)))
    ordered = [(_entry(kinds(value), value, tallies[value].label), value) for value in ranked]
    used = [entry for entry, value in ordered if tallies[value].used]
    seen = [entry for entry, value in ordered if not tallies[value].used]
    all_used = _take_in_turn(_renamed(prior.used, paths, kinds), used, kinds)
    is_used = {entry.value for entry in all_used}
    all_seen = _take_in_turn(_renamed(prior.seen, paths, kinds), seen, kinds)
    return Ledger(all_used, [entry for entry in all_seen if entry.value not in is_used])


def _prior(earlier: Earlier, kinds: _KindOf) -> Ledger:
    """Return what digests list, and what their sentences name, so that it outlives them."""
    lines = earlier.lines
    kept = "\n".join([*lines(Section.REQUESTS), *lines(Section.RULES)])
    named = (
        _entry(kinds(one.value), one.value, one.label)
        for one in find_identifiers(kept)
        if not _is_noise(kinds(one.value), one.value, _Tally(one.label))
    )
    return Ledger(_listed(lines(Section.USED)), [*_listed(lines(Section.SEEN)), *named])


def _listed(lines: Iterable[str]) -> list[Entry]:
    # The first of every line first: lines are ranked.
    columns = zip_longest(*map(_read_line, lines))
    return [entry for column in columns for entry in column if entry is not None]


def _read_line(line: str) -> Iterator[Entry]:
    label, colon, listed = line.partition(": ")
    if colon:
        for value in listed.split(_SEPARATOR):
            yield Entry(label + value if label.endswith("/") else value, label)


def _tally(mentions: Iterable[_Mention], paths: Mapping[str, str]) -> dict[str, _Tally]:
    tallies: dict[str, _Tally] = {}
    for mention in mentions:
        tally = tallies.setdefault(paths.get(mention.value, mention.value), _Tally())
        tally.label = tally.label or mention.label
        setattr(tally, mention.role, getattr(tally, mention.role) + 1)
        tally.last = max(tally.last, mention.position)
    return tallies


def _renamed(entries: Iterable[Entry], paths: Mapping[str, str], kinds: _KindOf) -> Iterator[Entry]:
    for entry in entries:
        value = paths.get(entry.value, entry.value)
        yield _entry(kinds(value), value, entry.label)


def _found(text: str, role: str, position: int) -> Iterator[_Mention]:
    for one in find_identifiers(text):
        yield _Mention(one.value, one.label, role, position)


def _mentions(span: Span, kinds: _KindOf) -> Iterator[_Mention]:
    for result in span.results:
        yield from _found(result.text, "tool", result.position)
    for speech in span.speeches:
        role = "user" if speech.role == "user" else "assistant"
        named = list(_found(speech.text, role, speech.position))
        yield from named
        if role == "user":
            yield from _own_mentions(speech, {one.value for one in named})
    for call in span.calls:
        for argument in call.arguments:
            yield from _argument_mentions(argument, call.position, kinds)


def _own_mentions(speech: Speech, whole: AbstractSet[str]) -> Iterator[_Mention]:
    for said in _OWN.findall(speech.text):
        first = next((one.value for one in find_identifiers(said) if one.value in whole), None)
        if first is not None:
            yield _Mention(first, "", "own", speech.position)


def _argument_mentions(argument: Argument, position: int, kinds: _KindOf) -> Iterator[_Mention]:
    value = argument.value
    if _is_identifier(value):
        yield _Mention(value, argument.label, "used", position)
        return
    # A long value is content, such as a file; what it names was said, not used.
    role = "used" if len(value) <= _MENTIONED else "assistant"
    for found in find_identifiers(value):
        is_small = kinds(found.value) in _SMALL_KINDS
        yield _Mention(found.value, found.label, "assistant" if is_small else role, position)


def _rank(value: str, tally: _Tally, length: int, kind: str) -> tuple[int, int, str]:
    total = tally.used + tally.user + tally.assistant + tally.tool
    score = (
        40 * bool(tally.used)
        + 8 * min(tally.used, 4)
        + 60 * bool(tally.own)
        + 24 * bool(tally.user)
        + 24 * bool(tally.assistant)
        + 16 * tally.label.lower().endswith(_ID_ENDINGS)
        + 4 * min(total, 16).bit_length()
        + 32 * tally.last // length
        + _KIND_SCORES.get(kind, 0)
    )
    return -score, -tally.last, value


def _entry(kind: str, value: str, label: str) -> Entry:
    if kind == "path" and "/" in value.rstrip("/"):
        folder, slash, _ = value.rstrip("/").rpartition("/")
        return Entry(value, folder + slash)
    return Entry(value, label if _LABEL(label) else _KIND_LABELS.get(kind, f"{kind}s"))


def _take_in_turn(old: Iterable[Entry], new: Iterable[Entry], kinds: _KindOf) -> list[Entry]:
    known = {entry.value: entry for pair in zip_longest(old, new) for entry in pair if entry}
    return sorted(known.values(), key=lambda entry: kinds(entry.value) in _WEAK_KINDS)[:_MOST]


def _is_noise(kind: str, value: str, tally: _Tally) -> bool:
    if kind == "clock":
        return not (tally.user or tally.assistant)
    return kind == "number" and len(value) < _NUMBER_LENGTH and not tally.label


def offer_entries(entries: Sequence[Entry]) -> list[Item]:
    """Offer *entries* by rank, grouped by label; a path is written without its directory."""
    return [
        Item(entry.value.removeprefix(entry.label), rank, entry.label)
        if entry.label.endswith("/")
        else Item(entry.value, rank, entry.label)
        for rank, entry in enumerate(entries)
    ]
