"""
What a record had no room for: how much of what, and the messages among which `recall` finds it.

What is left out again after it was said again counts twice, so that a fold has to know no more than the
record before it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import TypeAlias

from foldline.reduction.record import FILES, LISTS, Section, SummaryRecord
from foldline.reduction.tasks import STATES


LEAST_BUDGET = 320
"""A summary of fewer tokens has no line of about 20 for what it left out."""

Lines: TypeAlias = Mapping[Section, tuple[str, ...]]
"""The items of each section, as they are written."""

_KINDS = {
    Section.REQUESTS: "request",
    Section.DECISIONS: "decision",
    **dict.fromkeys(STATES, "task"),
    **dict.fromkeys(FILES, "file"),
    Section.COMMITS: "commit",
    Section.USED: "id",
    Section.SEEN: "id",
    Section.VALUES: "value",
    Section.FAILED: "failure",
}


def evicted(
    offered: Mapping[Section, Sized], lines: Lines, *, before: Iterable[SummaryRecord]
) -> Counter[str]:
    """
    Return how many of each kind were left out.

    Args:
        offered: What each section could have had.
        lines: What was written of it.
        before: The records that it replaces, with what they left out.
    """
    gone = Counter[str]()
    for section, items in offered.items():
        if section in _KINDS:
            written = sizes(section, lines.get(section, ())).total()
            gone[_KINDS[section]] += max(0, len(items) - written)
    return sum((one.left_out for one in before), +gone)


def noted(lines: Lines, gone: Counter[str], recallable: tuple[int, int] | None) -> Lines:
    """Return *lines* with what is *gone* of the messages that are *recallable*, if there are any."""
    if recallable is None or not gone:
        return lines
    first, last = recallable
    counts = ", ".join(f"{number} {kind}{'s' * (number > 1)}" for kind, number in gone.items())
    return {**lines, Section.LEFT: (f"{counts} of messages {first}-{last}; recall finds them",)}


def sizes(section: Section, lines: Sequence[str]) -> Counter[str]:
    """Return how many of its kind the *lines* of *section* have; nothing for what is not counted."""
    if section not in _KINDS:
        return Counter()
    if section not in LISTS:
        return Counter({_KINDS[section]: len(lines)})
    listed = sum(line.partition(": ")[2].count(", ") + 1 for line in lines)
    return Counter({_KINDS[section]: listed})
