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
    """How many messages a digest represents."""

    user: int = 0
    """Messages of users."""

    assistant: int = 0
    """Messages of models."""

    tool: int = 0
    """Messages of tools."""

    system: int = 0
    """System messages."""

    untold: int = 0
    """Messages whose role the digest does not give."""

    @property
    def total(self) -> int:
        """All messages."""
        return sum(astuple(self))

    @property
    def brief(self) -> "Counts":
        """The same without the roles, which is shorter to write."""
        return Counts(untold=self.total)

    def plus(self, other: "Counts") -> "Counts":
        """Return the counts of both spans together."""
        return Counts(*map(add, astuple(self), astuple(other)))


class Document(Struct, frozen=True):
    """A digest before it is text."""

    counts: Counts
    """What it represents."""

    sections: Mapping[Section, tuple[str, ...]]
    """The items of each section that has any."""


_ROLES = ("user", "assistant", "tool", "system")
_HEADER = re.compile(
    r"Digest of (\d{1,12}) messages?"
    r"(?: \((?:user (\d{1,12}))?(?:,? ?assistant (\d{1,12}))?"
    r"(?:,? ?tool (\d{1,12}))?(?:,? ?system (\d{1,12}))?\))?\."
).fullmatch
_HEADING = "## "
_ITEM = "- "
_BY_TITLE = {section.value: section for section in Section}


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
    total, user, assistant, tool, system = (int(count or 0) for count in match.groups())
    untold = max(total - user - assistant - tool - system, 0)
    counts = Counts(user, assistant, tool, system, untold)
    sections = _read_sections(lines)
    if sections is None:
        return None
    document = Document(counts, {name: tuple(found) for name, found in sections.items()})
    # What differs from what would be written, in order or in counts, was written by another.
    return document if render(document) == text else None


def _read_sections(lines: Iterable[str]) -> Mapping[Section, list[str]] | None:
    sections: dict[Section, list[str]] = {}
    section = Section.REQUESTS
    for line in lines:
        if line.startswith(_HEADING):
            title = line.removeprefix(_HEADING)
            if title not in _BY_TITLE:
                return None
            section = _BY_TITLE[title]
        elif line.startswith(_ITEM):
            sections.setdefault(section, []).append(line.removeprefix(_ITEM))
        else:
            return None
    return sections


class Earlier(Struct, frozen=True):
    """The earlier summaries of a request, oldest first."""

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
        total = Counts()
        for document in self.documents:
            total = total.plus(document.counts)
        return total


def read_earlier(texts: Iterable[str]) -> Earlier:
    """Read each of *texts* as a digest if it is one."""
    documents: list[Document] = []
    foreign: list[str] = []
    cleaned = tuple(map(clean, texts))
    for text in cleaned:
        document = parse(text)
        if document is None:
            foreign.append(text)
        else:
            documents.append(document)
    return Earlier(cleaned, tuple(documents), tuple(foreign))
