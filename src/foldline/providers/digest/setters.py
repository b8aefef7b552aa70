"""
What tools such as `set_budget` and `update_order` set, read from calls and their results by code.

Which argument is the value, and which ones say what has it, is read from the name of the tool and those
of its arguments: `set_price(product_id, store_id, price)` sets the `price (product P1, store S2)`.
"""

import re
from collections.abc import Mapping, Sequence

from foldline.providers.digest.failures import confirmed
from foldline.providers.digest.identifiers import kind_of
from foldline.providers.digest.text import one_line
from foldline.providers.digest.tool_use import READS, Facts, ToolUse, is_looking
from foldline.reduction.tools import SETS


SAYS = ": "
"""What parts the name of a value from it."""

# After one of these comes the name of the value; after the others most often that of what has it.
_SETS_VALUE = frozenset({"set", "change", "assign"})
_NAME_PARTS = re.compile(r"[A-Z]?[a-z\d]+|[A-Z\d]+(?![a-z])").findall
# What says what a tool does, and not what it does it to.
_DOES = SETS | {"and", "or", "delete", "remove", "create", "add", "insert"}
# What a value belongs to is named by an argument that ends so, an id rather than a name.
_ENDS = ("id", "key", "name")
_GLUED = re.compile(rf"([a-z]{{2,60}})({'|'.join(_ENDS)})").fullmatch
# What names of arguments have beside what they are about.
_BESIDE = frozenset({"id", "key", "name", "new", "value"})
# What a value is one of many of.
_PLACE = re.compile(
    r".{0,60}(?:cell|column|row|flag|feature|field|setting|property|attribute|parameter|variable)",
    re.IGNORECASE,
).fullmatch
# After a value these too say what has it; another word there may be a reason or a unit.
_SCOPES = (
    frozenset({"scope", "env", "environment", "namespace", "project", "workspace", "tenant"})
    | {"region", "zone", "room", "host", "server", "cluster", "database", "table", "sheet"}
    | {"channel", "repo"}
)
_VALUE = {"value"}
# An argument such as `paid` only ends like an id.
_SWITCH = ("true", "false")
_MOST_FIELDS = 8
_VALUE_LENGTH = 80


def read_setter(use: ToolUse) -> Facts | None:
    """Read a tool that gives new values; of what they are is said by its name or by an argument."""
    parts = list(map(str.lower, _NAME_PARTS(use.name)))
    verb = next((part for part in parts if part in SETS or part in READS), "")
    if use.failure or verb not in SETS or is_looking(use.name, set(parts)):
        return None
    listed: dict[str, list[str]] = {}
    for one in use.arguments:
        listed.setdefault(one.label, []).append(one_line(one.value))
    given = {label: ", ".join(values) for label, values in listed.items()}
    # Of several values under one name none takes the place of another.
    single = {label: values[0] for label, values in listed.items() if len(values) == 1}
    nouns = [part for part in parts if part not in _DOES]
    named = next((one for one in single if _words(one) - {"new"} == _VALUE), "")
    own = named or _own(nouns, [*single], sets_value=verb in _SETS_VALUE)
    if named:
        places = _keys([one for one in given if one != own], nouns)
        subjects = _beside(given, own, places)
        single = {own: given[own]}
    else:
        subjects = _subjects(given, own, nouns)
        others = [one for one in given if one not in {own, *subjects}]
        places = [one for one in others if _PLACE(one)]
        # They name which value is given, unless nothing else is.
        places = places if len(places) < len(others) else []
    things = " ".join([part for part in nouns if part not in _stem(own)] or nouns)
    subject = ", ".join(f"{_thing(one) or things} {given[one]}".strip() for one in subjects)
    place = " ".join(given[one] for one in places)
    values: list[tuple[str, str]] = []
    for label, value in confirmed(use.result, single).items():
        # Without what has them only the value that the tool is named after has a name.
        if not value or label in {*subjects, *places} or not (subjects or label == own):
            continue
        name = f"{place} {label}".strip()
        if label == named:
            # Without a subject the same key may be that of something else.
            name = place if place and subject else " ".join([*nouns, place]).strip()
        name = f"{name or label} ({subject})" if subject else name or label
        if max(len(name), len(value)) <= _VALUE_LENGTH and SAYS not in name:
            values.append((name, value))
    return Facts(values=tuple(values[:_MOST_FIELDS])) if own or subjects else None


def _words(label: str) -> set[str]:
    return set(map(str.lower, _NAME_PARTS(label)))


def _stem(label: str) -> set[str]:
    return _words(label) - _BESIDE


def _end(label: str) -> str:
    """Return that of the ends which is the last word of *label*; empty if none is."""
    last = "".join(_NAME_PARTS(label)[-1:]).lower()
    return last if last in _ENDS else ""


def _thing(label: str) -> str:
    """Return of what *label* is the id, the key or the name: nothing if it does not say it."""
    end = _end(label)
    glued = None if end else _GLUED(label)
    return label[: len(label) - len(end)].rstrip("_-. ") if end else glued[1] if glued else label


def _own(nouns: Sequence[str], labels: Sequence[str], *, sets_value: bool) -> str:
    """Return that of *labels* which the tool is named after, unless that is what has the value."""
    named = [
        one for one in labels if nouns and nouns[-1] in (stem := _stem(one)) and stem <= {*nouns}
    ]
    named = [one for one in named if not (_PLACE(one) or one.lower().endswith(_ENDS[1:]))]
    plain = [one for one in named if _thing(one) == one]
    if plain and (sets_value or plain[0] != labels[0]):
        return plain[0]
    return named[0] if sets_value and named and named[0] != labels[0] else ""


def _subjects(given: Mapping[str, str], own: str, nouns: Sequence[str]) -> list[str]:
    """Return the arguments that say what has the values: all that are none themselves."""
    labels = [one for one in given if one != own]
    ids = _ids(given, labels)
    if own:
        at = [*given].index(own)
        # What has the value comes before it, or else after it.
        beside = labels[:at] or [one for one in labels if _is_scope(one)]
        return [one for one in labels if one in {*ids, *beside}]
    # Without such a name it may be an id by its look.
    ids = ids or [one for one in labels if kind_of(given[one]) == "code"][:1]
    if not ids:
        # The name of a flag or of a deployment, where a tool sets what these have.
        named = [one for one in labels if _PLACE(one) or _words(one) <= {*nouns}]
        return [one for one in labels if one in named or _is_scope(one)] if named else []
    at = labels.index(ids[0])
    later = next((one for one in labels[at:] if one not in ids), "")
    first = labels[: labels.index(later)] if later else ids
    found = [one for one in first if not _PLACE(one)]
    return found if len(found) < len(labels) else found[:-1] or found


def _ids(given: Mapping[str, str], labels: Sequence[str]) -> list[str]:
    """Return those of *labels* that are ids, else keys, else names."""
    ends = ([one for one in labels if _end(one) == end] for end in _ENDS)
    glued = [one for one in labels if _GLUED(one) and given[one] not in _SWITCH]
    return next(filter(None, ends), glued)


def _is_scope(label: str) -> bool:
    return "".join(_NAME_PARTS(_thing(label))[-1:]).lower() in _SCOPES


def _beside(given: Mapping[str, str], own: str, places: Sequence[str]) -> list[str]:
    """Return the arguments that say what has the value *own*: what comes after it may be a note."""
    at = [*given].index(own)
    labels = [one for one in given if one not in {own, *places}]
    known = {*[*given][:at], *_ids(given, labels)}
    return [one for one in labels if one in known or _is_scope(one)]


def _keys(labels: Sequence[str], nouns: Sequence[str]) -> list[str]:
    """Return those of *labels*, all beside a value, that name it."""
    places = [one for one in labels if _PLACE(one)]
    keyed = [one for one in labels if _end(one) and _stem(one) <= {*nouns}]
    keys = [one for one in keyed if _end(one) == "key"]
    names = [one for one in keyed if _end(one) == "name"] if any(map(_PLACE, nouns)) else []
    return places or (keys or names)[-1:]
