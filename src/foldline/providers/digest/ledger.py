"""
The ledger of identifiers: which occurred, in which role, how often and how recently.

An identifier that was an argument of a call is *used* and has its own section; one that was said or
returned is *seen*. The rank is an integer score, the same on every machine and with every hash
seed. An absorbed record returns its entries in the order of their ranks; they alternate with the
new ones and come first, so what mattered most survives many folds and the rest fades.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from msgspec import Struct
from msgspec.structs import replace

from foldline.providers.digest.days import days_in, runs_of
from foldline.providers.digest.identifiers import Finder, is_identifier
from foldline.providers.digest.outline import TOLD, Earlier, Item
from foldline.providers.digest.span import Argument, Span, Speech
from foldline.reduction.record import Section


class Entry(Struct, frozen=True, gc=False):
    """One identifier, and what is written before it: a name, a directory with its slash, a kind."""

    value: str
    label: str
    last: int = 0
    """Where it came last; 0 in an earlier summary."""
    is_weak: bool = False
    """Whether it means little without its sentence."""
    is_told: bool = False
    """Whether somebody said it."""
    is_listed: bool = False
    """Whether it is one of many alike that nobody said, such as the ids of a log."""


class Ledger(Struct, frozen=True):
    """All identifiers of a span, the most important first: arguments of calls, and all others."""

    used: Sequence[Entry]
    seen: Sequence[Entry]


class _Tally(Struct, gc=False):
    label: str = ""
    exact: int = 0
    used: int = 0
    own: int = 0
    user: int = 0
    assistant: int = 0
    tool: int = 0
    last: int = 0


_MOST = 600
_MOST_SMALL = 200
# What has one name and more values is measured again and again.
_MOST_MEASURED = 8
# Of a name with more than these, such as the seats of a plane, the others are worth less.
_MOST_ALIKE = 60
# Of a row that differ in their numbers alone, such as the ids of a log, these; more if each has a name.
_MOST_IN_ROW = 8
_MOST_NAMED_IN_ROW = 24
_MENTIONED = 400
_DEEPEST = 12
_NUMBER_LENGTH = 4
_SEPARATOR = ", "
_GONE = "old"
_DECIMAL = re.compile(r"\d+\.\d+").fullmatch
_COUNTED = re.compile(r"(?<![\da-f])[a-f]*+\d[\da-f]*+")
_LABEL = re.compile(r"[\w.-]{1,40}").fullmatch
_KIND_LABELS = {"clock": "times", "command": "names", "path": "files", "number": "numbers"}
_KIND_COSTS = {"clock": 40, "number": 8, "amount": 24, "url": 4, "version": 60}
# What means little without its sentence comes last: a number that has fewer digits than an id, or
# than a price if something names it.
_WEAK_KINDS = ("clock", "command", "version", "amount")
_FEW_DIGITS = 6
_FEW_NAMED_DIGITS = 4
_HIGHEST_COST = max(cost for kind, cost in _KIND_COSTS.items() if kind not in _WEAK_KINDS)
_SMALL_KINDS = ("clock", "number", "amount", "version")
# What the user calls their own ("my order number is ..."): the subject of the conversation.
# It begins with characters, and the second is rarer, since that is searched several times as fast.
_OWN = re.compile(r"[yYuU](?<!\w..)(?:(?<=[mM][yY])|(?<=[oO][uU])[rR])\b[^!?\n]{0,80}").finditer
_ID_ENDINGS = ("id", "code", "number", "key", "date", "email", "path", "dob", "ref")
# What says how much of something is read, or is a value of what another argument says, names nothing.
_PLACE = re.compile(
    r"value|(?i:(?:start|end|from|to|max|num|head|tail|insert|line|view)?[_-]?"
    r"(?:offset|limit|lines?|range|timeout|results|tokens|length))"
).fullmatch
# The path of an import is relative to a file that is not known.
_RELATIVE = ("./", "../")
# What others have written, or a run leaves behind.
_FOREIGN = ("/tmp/", "site-packages/", "dist-packages/", "node_modules/")  # noqa: S108 - not written


def build_ledger(
    span: Span,
    earlier: Earlier,
    finder: Finder,
    *,
    shown: str = "",
    listed: Collection[str] = (),
    replaced: Mapping[str, int] = {},
) -> Ledger:
    """
    Rank the identifiers of *span* and *earlier*, but those *shown* or *listed* elsewhere.

    Those of values *replaced* by a call at an index go too, if nothing after its answer has them.
    """
    prior = _prior(earlier, finder)
    tallies = _tallied(span, earlier, finder)
    known = {entry.value for entry in (*prior.used, *prior.seen)} | tallies.keys() | {*listed}
    # Only what has one of these can be a path, which is seen faster than the kind.
    likely = (value for value in known if "/" in value or "." in value)
    paths = _canonical_paths(value for value in likely if finder.kind(value) == "path")
    tallies = _merged(tallies, paths)
    gone = [
        (one, place) for value, place in replaced.items() for one in {value, *finder.find(value)}
    ]
    hidden = {*listed, *finder.find(shown)}
    hidden.update(
        one for one, place in gone if one not in tallies or tallies[one].last <= place + 1
    )
    wanted = [value for value in tallies if value not in hidden]
    length = 1 + max((tallies[value].last for value in wanted), default=0)
    used, seen = (
        _ranked(
            {one: tallies[one] for one in wanted if (tallies[one].used > 0) is is_used},
            length,
            finder,
        )
        for is_used in (True, False)
    )
    all_used = _take_in_turn(_renamed(prior.used, paths, finder, hidden), used, finder)
    is_used = {entry.value for entry in all_used}
    all_seen = _take_in_turn(_renamed(prior.seen, paths, finder, hidden), seen, finder)
    all_seen = _rows_last(all_seen, finder)
    return Ledger(all_used, [entry for entry in all_seen if entry.value not in is_used])


def _prior(earlier: Earlier, finder: Finder) -> Ledger:
    """Return what records list, and what their sentences name, so that it outlives them."""
    lines = earlier.lines
    kept = "\n".join(chain.from_iterable(map(lines, TOLD)))
    named = (
        _entry(finder.kind(value), value, label)
        for value, label in finder.find(kept).items()
        if not _is_noise(finder.kind(value), value, _Tally(label))
    )
    return Ledger(_listed(lines(Section.USED)), [*_listed(lines(Section.SEEN)), *named])


def _listed(lines: Iterable[str]) -> list[Entry]:
    # The first of every line first: lines are ranked.
    columns = zip_longest(*map(_read_line, lines))
    return [entry for column in columns for entry in column if entry is not None]


def _read_line(line: str) -> Iterator[Entry]:
    label, colon, listed = line.partition(": ")
    if colon:
        for value in chain.from_iterable(map(days_in, listed.split(_SEPARATOR))):
            yield Entry(label + value if label.endswith("/") else value, label)


class _Notes(dict[str, _Tally]):
    """The tallies by value."""

    def note(self, found: Mapping[str, str], role: str, position: int) -> None:
        for value, label in found.items():
            tally = self.get(value)
            if tally is None:
                tally = self[value] = _Tally(label)
            tally.label = tally.label or label
            setattr(tally, role, getattr(tally, role) + 1)
            tally.last = max(tally.last, position)


def _tallied(span: Span, earlier: Earlier, finder: Finder) -> dict[str, _Tally]:
    notes = _Notes()
    notes.note(finder.find("\n".join(earlier.foreign)), "assistant", 0)
    for result in span.results:
        notes.note(finder.find(result.text), "tool", result.position)
    for speech in span.speeches:
        if found := finder.find(speech.text):
            role = "user" if speech.role == "user" else "assistant"
            notes.note(found, role, speech.position)
            if role == "user":
                _note_own(notes, found, speech, finder)
    for call in span.calls:
        for argument in call.arguments:
            if argument.label.lower().startswith(_GONE):
                # What an edit takes away held before it, and is used no more.
                notes.note(finder.find(argument.value), "assistant", call.position - 1)
            else:
                _note_argument(notes, argument, call.position, finder)
    return notes


def _note_own(notes: _Notes, found: Mapping[str, str], speech: Speech, finder: Finder) -> None:
    for place in _OWN(speech.text):
        said = speech.text[place.start() - 1 : place.end()]
        own = [pair for pair in finder.find(said).items() if pair in found.items()]
        notes.note(dict(own[:1]), "own", speech.position)


def _note_argument(notes: _Notes, argument: Argument, position: int, finder: Finder) -> None:
    value = argument.value
    if value.isdecimal() and _PLACE(argument.label):
        return
    if is_identifier(value):
        notes.note({value: argument.label}, "used", position)
        tally = notes[value]
        if not tally.exact:
            # What a call names it is more than what some result calls the same.
            tally.label = argument.label or tally.label
        tally.exact += 1
        return
    found = finder.find(value)
    # A long value is content, such as a file; what it names was said, not used.
    if len(value) > _MENTIONED:
        notes.note(found, "assistant", position)
        return
    small = {one: found[one] for one in found if finder.kind(one) in _SMALL_KINDS}
    notes.note(small, "assistant", position)
    notes.note({one: found[one] for one in found if one not in small}, "used", position)


def _canonical_paths(values: Iterable[str]) -> Mapping[str, str]:
    # The end of a longer path is that path.
    longest_first = sorted(sorted(values), key=len, reverse=True)
    paths = {path: path.lstrip("@~./").rstrip("/") or path for path in longest_first}
    by_ending: dict[str, str] = {}
    for path, bare in paths.items():
        steps = bare.split("/")
        for start in range(max(len(steps) - _DEEPEST, 0), len(steps)):
            by_ending.setdefault("/".join(steps[start:]), path)
    return {path: by_ending.get(bare, path).replace("/./", "/") for path, bare in paths.items()}


def _merged(tallies: Mapping[str, _Tally], paths: Mapping[str, str]) -> dict[str, _Tally]:
    merged: dict[str, _Tally] = {}
    for value, tally in tallies.items():
        other = merged.setdefault(paths.get(value, value), tally)
        if other is not tally:
            for role in ("exact", "used", "own", "user", "assistant", "tool"):
                setattr(other, role, getattr(other, role) + getattr(tally, role))
            other.label, other.last = other.label or tally.label, max(other.last, tally.last)
    return merged


def _renamed(
    entries: Iterable[Entry], paths: Mapping[str, str], finder: Finder, hidden: Collection[str]
) -> Iterator[Entry]:
    for entry in entries:
        value = paths.get(entry.value, entry.value)
        if value not in hidden:
            yield _entry(finder.kind(value), value, entry.label)


def _ranked(tallies: Mapping[str, _Tally], length: int, finder: Finder) -> list[Entry]:
    """Return the entries of *tallies*, the best first, at least `_MOST` that mean something."""
    rough: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for value, tally in tallies.items():
        rough[-_score(tally, length)].append((-tally.last, value))
    ranked: list[tuple[int, int, str, Entry]] = []
    strong, limit = 0, 0
    for score in sorted(rough):
        # A kind only takes from a score, so what follows cannot come before these.
        if strong >= _MOST and score > limit:
            break
        for last, value in rough[score]:
            kind, tally = finder.kind(value), tallies[value]
            if _is_noise(kind, value, tally):
                continue
            is_told = bool(tally.user or tally.assistant)
            entry = replace(_entry(kind, value, tally.label, tally.last), is_told=is_told)
            ranked.append((score + _KIND_COSTS.get(kind, 0), last, value, entry))
            if strong < _MOST and not _weakness(entry, finder):
                strong, limit = strong + 1, score + _HIGHEST_COST
    return [entry for *_, entry in sorted(ranked)]


def _score(tally: _Tally, length: int) -> int:
    used, user, assistant = tally.used, tally.user, tally.assistant
    score = 4 * min(used + user + assistant + tally.tool, 16).bit_length()
    score += 48 * tally.last // length
    if used:
        score += 40 + 8 * min(used, 4)
    if user or assistant:
        score += 48 * (bool(user) + bool(assistant)) + 104 * bool(tally.own)
    if _is_id(tally.label):
        score += 16
    return score


def _entry(kind: str, value: str, label: str, last: int = 0) -> Entry:
    if kind == "path" and "/" in value.rstrip("/"):
        folder, slash, _ = value.rstrip("/").rpartition("/")
        return Entry(value, folder + slash)
    if kind == "version" and _DECIMAL(value):
        kind = "number"
    return Entry(value, label if _LABEL(label) else _KIND_LABELS.get(kind, f"{kind}s"), last)


def _take_in_turn(old: Iterable[Entry], new: Iterable[Entry], finder: Finder) -> list[Entry]:
    known = {entry.value: entry for pair in zip_longest(old, new) for entry in pair if entry}
    ranks: tuple[list[Entry], list[Entry], list[Entry]] = ([], [], [])
    named: Counter[str] = Counter()
    for entry in known.values():
        weakness = _weakness(entry, finder)
        if not weakness and not entry.label.endswith("/"):
            named[entry.label] += 1
            is_measured = finder.kind(entry.value) == "number" and not _is_id(entry.label)
            weakness = int(named[entry.label] > (_MOST_MEASURED if is_measured else _MOST_ALIKE))
        ranks[weakness].append(entry)
    strong, weak, small = ranks
    weak = [replace(entry, is_weak=True) for entry in [*weak, *small[:_MOST_SMALL]]]
    return [*strong, *weak][:_MOST]


def _rows_last(entries: Sequence[Entry], finder: Finder) -> list[Entry]:
    """Return *entries* with all but the first of each row of a listing at the end."""
    rows: Counter[tuple[str, str]] = Counter()
    first: list[Entry] = []
    listed: list[Entry] = []
    for entry in entries:
        kind = finder.kind(entry.value)
        row = "" if entry.is_told else _row(entry.value, kind)
        is_named = entry.label != _KIND_LABELS.get(kind, f"{kind}s")
        rows[entry.label, row] += bool(row)
        if rows[entry.label, row] <= (_MOST_NAMED_IN_ROW if is_named else _MOST_IN_ROW):
            first.append(entry)
        else:
            listed.append(replace(entry, is_weak=True, is_listed=True))
    return [*first, *listed]


def _row(value: str, kind: str) -> str:
    """Return what *value* shares with others that only count on; nothing if it says more."""
    if kind in {"email", "url"}:
        return kind
    row = _COUNTED.sub("0", value)
    return "" if kind == "path" or row == value else row


def _weakness(entry: Entry, finder: Finder) -> int:
    """Return 0 for what means something alone, 1 for what needs its sentence, and 2 for a small number."""
    kind = finder.kind(entry.value)
    if kind != "number":
        return int(kind in _WEAK_KINDS)
    digits = sum(map(str.isdigit, entry.value))
    if digits < _FEW_NAMED_DIGITS:
        return 2
    return int(digits < _FEW_DIGITS and entry.label == _KIND_LABELS["number"])


def _is_id(label: str) -> bool:
    return label.lower().endswith(_ID_ENDINGS)


def _is_noise(kind: str, value: str, tally: _Tally) -> bool:
    if kind == "version" and tally.label and _DECIMAL(value):
        # A number that JSON names is no version, unless it is named so.
        return "version" in tally.label.lower()
    if kind in {"clock", "version"}:
        return not (tally.user or tally.assistant or (tally.used and kind == "version"))
    if kind == "path" and (value.startswith(_RELATIVE) or any(map(value.__contains__, _FOREIGN))):
        return not (tally.exact or tally.user)
    return kind == "number" and len(value) < _NUMBER_LENGTH and not tally.label


def offer_entries(entries: Sequence[Entry]) -> list[Item]:
    """
    Offer *entries* by rank, grouped by label; a path is written without its directory.

    In its line the newest comes first: of several values of one argument it is the one that holds.
    """
    entries = _in_runs(entries)
    ranks: dict[str, list[int]] = {}
    for rank, entry in enumerate(entries):
        ranks.setdefault(entry.label, []).append(rank)
    orders: dict[int, int] = {}
    for places in ranks.values():
        newest = sorted(places, key=lambda place: -entries[place].last)
        orders.update(zip(newest, places, strict=True))
    return [
        Item(
            entry.value.removeprefix(entry.label) if entry.label.endswith("/") else entry.value,
            orders[rank],
            entry.label,
            is_weak=entry.is_weak,
            is_listed=entry.is_listed,
        )
        for rank, entry in enumerate(entries)
    ]


def _in_runs(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return *entries* with the days of one label that follow one another as one of them."""
    days: defaultdict[str, list[str]] = defaultdict(list)
    for entry in entries:
        days[entry.label].append(entry.value)
    runs = {label: runs_of(values) for label, values in days.items()}
    if not any(runs.values()):
        return entries
    found = [replace(one, value=runs[one.label].get(one.value, one.value)) for one in entries]
    return list({(one.label, one.value): one for one in found}.values())
