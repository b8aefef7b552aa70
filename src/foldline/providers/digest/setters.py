"""
What tools such as `set_budget` and `update_order` set, read from calls and their results by code.

Which argument is the value, and which ones say what has it, is read from the name of the tool and those
of its arguments: `set_price(product_id, store_id, price)` sets the `price (product P1, store S2)`.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from foldline.providers.digest.failures import confirmed
from foldline.providers.digest.identifiers import kind_of
from foldline.providers.digest.text import one_line
from foldline.providers.digest.tool_use import READS, Facts, ToolUse, is_looking


__all__ = ["SAYS", "read_setter"]


SAYS = ": "
"""What parts the name of a value from it."""

_SETS = frozenset({"set", "update", "change", "move", "modify", "assign", "rename"})
# After one of these comes the name of the value; after the others most often that of what has it.
_SETS_VALUE = frozenset({"set", "change", "assign"})
_NAME_PARTS = re.compile(r"[A-Z]?[a-z\d]+|[A-Z\d]+(?![a-z])").findall
# What says what a tool does, and not what it does it to.
_DOES = _SETS | {"and", "or", "delete", "remove", "create", "add", "insert"}
# What a value belongs to is named by an argument that ends so, an id rather than a name.
_SUBJECTS = [
    re.compile(rf"(.{{0,60}}?)[\W_]*{end}", re.IGNORECASE) for end in ("id", "key", "name")
]
# What names of arguments have beside what they are about.
_BESIDE = frozenset({"id", "key", "name", "new", "value"})
# What a value is one of many of; a key or a name is only if the value has no name of its own.
_PLACE = re.compile(
    r".{0,60}(?:cell|column|row|flag|feature|field|setting|property|attribute|parameter|variable"
    r"|(key|name))",
    re.IGNORECASE,
).fullmatch
_VALUE = "value"
_MOST_FIELDS = 8
_VALUE_LENGTH = 80


def read_setter(use: ToolUse) -> Facts | None:
    """Read a tool that gives new values; of what they are is said by its name or by an argument."""
    parts = list(map(str.lower, _NAME_PARTS(use.name)))
    verb = next((part for part in parts if part in _SETS or part in READS), "")
    if use.failure or verb not in _SETS or is_looking(use.name, set(parts)):
        return None
    times = Counter(one.label for one in use.arguments)
    # Of several values under one name none takes the place of another.
    given = {one.label: one_line(one.value) for one in use.arguments if times[one.label] == 1}
    nouns = [part for part in parts if part not in _DOES]
    own = _own(nouns, [*given], sets_value=verb in _SETS_VALUE)
    subjects = _subjects(given, own)
    value_name = _stem(own)
    things = " ".join([part for part in nouns if part not in value_name] or nouns)
    subject = ", ".join(
        f"{thing or things} {given[one]}".strip() for one, thing in subjects.items()
    )
    places = _places([one for one in given if one not in subjects and one != own])
    place = " ".join(given[one] for one in places)
    values: list[tuple[str, str]] = []
    for label, value in confirmed(use.result, given).items():
        # Without what has them only the value that the tool is named after has a name.
        if not value or label in {*subjects, *places} or not (subjects or label == own):
            continue
        name = place or " ".join(nouns) if label == _VALUE else f"{place} {label}".strip()
        name = f"{name or label} ({subject})" if subject else label
        if max(len(name), len(value)) <= _VALUE_LENGTH and SAYS not in name:
            values.append((name, value))
    return Facts(values=tuple(values[:_MOST_FIELDS])) if own or subjects else None


def _stem(label: str) -> set[str]:
    return set(map(str.lower, _NAME_PARTS(label))) - _BESIDE


def _own(nouns: Sequence[str], labels: Sequence[str], *, sets_value: bool) -> str:
    """Return that of *labels* which the tool is named after, unless that is what has the value."""
    named = [
        one
        for one in labels
        if nouns and nouns[-1] in (stem := _stem(one)) and stem <= {*nouns} and not _PLACE(one)
    ]
    plain = [one for one in named if not any(end.fullmatch(one) for end in _SUBJECTS)]
    if plain and (sets_value or plain[0] != labels[0]):
        return plain[0]
    return named[0] if sets_value and named and named[0] != labels[0] else ""


def _subjects(given: Mapping[str, str], own: str) -> Mapping[str, str]:
    """Return the arguments that say what has the values, and what each of them is, if it says so."""
    labels = [one for one in given if one != own]
    found: dict[str, str] = {}
    for end in _SUBJECTS:
        found = {one: match[1] for one in labels if (match := end.fullmatch(one))}
        if found:
            break
    if not own:
        # Without such a name it may be an id by its look.
        codes = {one: one for one in labels if kind_of(given[one]) == "code"}
        return dict([*(found or codes).items()][:1])
    before = [*given][: [*given].index(own)]
    return {one: found.get(one, one) for one in labels if one in found or one in before}


def _places(labels: Sequence[str]) -> list[str]:
    """Return those of *labels* that name which value is given, unless nothing else is."""
    found = ((one, _PLACE(one)) for one in labels)
    places = [one for one, match in found if match and (_VALUE in labels or not match[1])]
    return places if len(places) < len(labels) else []
