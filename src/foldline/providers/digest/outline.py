"""
A digest as sections of one-line items: written to text, and read back without loss.

Every line of the text is a heading, or an item after a fixed mark. Items hold no line break, so
nothing that was said in a conversation can open a section, however it is written.

A digest that is to be very short does not give the roles of its messages; if it has nothing but
what was asked, it has no heading either.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from foldline.providers.digest.text import clean


__all__ = [
    "Counts",
    "Earlier",
    "Outline",
    "Section",
    "brief",
    "header",
    "heading",
    "parse",
    "read_earlier",
    "render",
]


class Section(Enum):
    """The sections, in the order in which they are written: what changes least comes first."""

    REQUESTS = "Asked by the user"
    """The beginnings of user messages."""

    RULES = "Rules and wishes"
    """Sentences in which the user forbids, demands or prefers."""

    USED = "Ids used in calls"
    """Identifiers that were arguments of tool calls."""

    SEEN = "Ids seen"
    """Identifiers that were said, or that tools answered."""

    TOOLS = "Tool calls"
    """Counts, the last calls, and failures."""

    EARLIER = "Earlier summary"
    """Sentences of a summary by another summarizer."""

    SAID = "Said, in order"
    """The most central sentences."""

    LAST = "Last said"
    """How the span ends."""


Counts: TypeAlias = Counter[str]
"""How many messages of each role a digest represents."""


class Outline(Struct, frozen=True):
    """A digest before it is text: what it represents, and the items of each section."""

    counts: Counts
    sections: Mapping[Section, tuple[str, ...]]


_ROLES = ("user", "assistant", "tool", "system")
# The role of messages whose role the digest does not give.
_OTHER = "other"
_HEADER = re.compile(r"Digest of (\d{1,12}) messages?(?: \(([^)]*)\))?\.").fullmatch
_COUNT = re.compile(rf"({'|'.join(_ROLES)}) (\d{{1,12}})").findall
_HEADING = "## "
_ITEM = "- "
_BY_HEADING = {_HEADING + section.value: section for section in Section}


def brief(counts: Counts) -> Counts:
    """Return *counts* without the roles, which is shorter to write."""
    return Counter({_OTHER: counts.total()})


def render(outline: Outline) -> str:
    """Write *outline* as text; `parse` gives an equal one back."""
    lines = [header(outline.counts)]
    shown = [section for section in Section if outline.sections.get(section)]
    for section in shown:
        if shown != [Section.REQUESTS] or outline.counts != brief(outline.counts):
            lines.append(heading(section))
        lines.extend(_ITEM + item for item in outline.sections[section])
    return "\n".join(lines)


def header(counts: Counts) -> str:
    """Write the first line of a digest."""
    detail = ", ".join(f"{role} {counts[role]}" for role in _ROLES if counts[role])
    noun = "message" if counts.total() == 1 else "messages"
    return f"Digest of {counts.total()} {noun}" + (f" ({detail})." if detail else ".")


def heading(section: Section) -> str:
    """Write the line that opens *section*."""
    return _HEADING + section.value


def parse(text: str) -> Outline | None:
    """Read what `render` wrote; None if *text* is anything else."""
    first, *lines = text.split("\n")
    match = _HEADER(first)
    if match is None:
        return None
    counts = Counter({role: int(count) for role, count in _COUNT(match[2] or "")})
    counts[_OTHER] = max(int(match[1]) - counts.total(), 0)
    sections: dict[Section, list[str]] = {}
    section = Section.REQUESTS
    for line in lines:
        if line in _BY_HEADING:
            section = _BY_HEADING[line]
        else:
            sections.setdefault(section, []).append(line.removeprefix(_ITEM))
    outline = Outline(counts, {name: tuple(found) for name, found in sections.items()})
    # What differs from what would be written, in any line, was written by another.
    return outline if render(outline) == text else None


class Earlier(Struct, frozen=True):
    """The earlier summaries of a request, oldest first: all, digests, and *foreign* ones."""

    texts: tuple[str, ...]
    outlines: tuple[Outline, ...]
    foreign: tuple[str, ...]

    def lines(self, section: Section) -> list[str]:
        """Return the items that the digests have in *section*, oldest first."""
        return [line for outline in self.outlines for line in outline.sections.get(section, ())]


def read_earlier(texts: Iterable[str]) -> Earlier:
    """Read each of *texts* as a digest if it is one."""
    cleaned = tuple(map(clean, texts))
    read = tuple(map(parse, cleaned))
    foreign = (text for text, outline in zip(cleaned, read, strict=True) if outline is None)
    return Earlier(cleaned, tuple(filter(None, read)), tuple(foreign))
