"""
A digest as sections of one-line items: written to text, and read back without loss.

Every line of the text is a heading, or an item after a fixed mark. Items hold no line break, so
nothing that was said in a conversation can open a section, however it is written.

A digest that is to be very short does not give the roles of its messages; if it has nothing but
what was asked, it has no heading either.
"""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import reduce
from operator import add

from msgspec import Struct
from msgspec.structs import astuple

from foldline.providers.digest.text import clean


__all__ = [
    "Counts",
    "Document",
    "Earlier",
    "Section",
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


class Counts(Struct, frozen=True):
    """How many messages of each role a digest represents; `other` have roles that it omits."""

    user: int = 0
    """Messages of users."""

    assistant: int = 0
    """Messages of models."""

    tool: int = 0
    """Messages of tools."""

    system: int = 0
    """System messages."""

    other: int = 0
    """Messages whose role the digest does not give."""

    @property
    def total(self) -> int:
        """All messages."""
        return sum(astuple(self))

    @property
    def brief(self) -> "Counts":
        """The same without the roles, which is shorter to write."""
        return Counts(other=self.total)

    def plus(self, other: "Counts") -> "Counts":
        """Return the counts of both spans together."""
        return Counts(*map(add, astuple(self), astuple(other)))


class Document(Struct, frozen=True):
    """A digest before it is text: what it represents, and the items of each section."""

    counts: Counts
    """What it represents."""

    sections: Mapping[Section, tuple[str, ...]]
    """The items of each section that has any."""


_ROLES = ("user", "assistant", "tool", "system")
_HEADER = re.compile(r"Digest of (\d{1,12}) messages?(?: \(([^)]*)\))?\.").fullmatch
_COUNT = re.compile(rf"({'|'.join(_ROLES)}) (\d{{1,12}})").findall
_HEADING = "## "
_ITEM = "- "
_BY_HEADING = {_HEADING + section.value: section for section in Section}


def render(document: Document) -> str:
    """Write *document* as text; `parse` gives an equal one back."""
    lines = [header(document.counts)]
    shown = [section for section in Section if document.sections.get(section)]
    for section in shown:
        if shown != [Section.REQUESTS] or document.counts != document.counts.brief:
            lines.append(heading(section))
        lines.extend(_ITEM + item for item in document.sections[section])
    return "\n".join(lines)


def header(counts: Counts) -> str:
    """Write the first line of a digest."""
    listed = ((role, getattr(counts, role)) for role in _ROLES)
    detail = ", ".join(f"{role} {count}" for role, count in listed if count)
    noun = "message" if counts.total == 1 else "messages"
    return f"Digest of {counts.total} {noun}" + (f" ({detail})." if detail else ".")


def heading(section: Section) -> str:
    """Write the line that opens *section*."""
    return _HEADING + section.value


def parse(text: str) -> Document | None:
    """Read what `render` wrote; None if *text* is anything else."""
    first, *lines = text.split("\n")
    match = _HEADER(first)
    if match is None:
        return None
    roles = {role: int(count) for role, count in _COUNT(match[2] or "")}
    counts = Counts(**roles, other=max(int(match[1]) - sum(roles.values()), 0))
    sections: dict[Section, list[str]] = {}
    section = Section.REQUESTS
    for line in lines:
        if line in _BY_HEADING:
            section = _BY_HEADING[line]
        else:
            sections.setdefault(section, []).append(line.removeprefix(_ITEM))
    document = Document(counts, {name: tuple(found) for name, found in sections.items()})
    # What differs from what would be written, in any line, was written by another.
    return document if render(document) == text else None


class Earlier(Struct, frozen=True):
    """The earlier summaries of a request, oldest first: digests, and *foreign* ones."""

    texts: tuple[str, ...]
    """All of them."""

    documents: tuple[Document, ...]
    """Those that are digests."""

    foreign: tuple[str, ...]
    """Those by other summarizers."""

    def lines(self, section: Section) -> list[str]:
        """Return the items that the digests have in *section*, oldest first."""
        return [line for document in self.documents for line in document.sections.get(section, ())]

    @property
    def counts(self) -> Counts:
        """How many messages the digests represent; other summaries do not say it."""
        return reduce(Counts.plus, (document.counts for document in self.documents), Counts())


def read_earlier(texts: Iterable[str]) -> Earlier:
    """Read each of *texts* as a digest if it is one."""
    cleaned = tuple(map(clean, texts))
    read = tuple(map(parse, cleaned))
    foreign = (text for text, document in zip(cleaned, read, strict=True) if document is None)
    return Earlier(cleaned, tuple(filter(None, read)), tuple(foreign))
