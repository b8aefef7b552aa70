"""
The summary as a record: what was said and done as items, in sections, written to text and read back.

The text of a record is its stored form. Every line of it is the first one, a heading, or an item
after a fixed mark. Items hold no line break, so nothing that was said in a conversation can open a
section, however it is written. What changes least comes first, so that a prompt cache keeps it.

A record that is to be very short does not give the roles of its messages; if it has nothing but what
was asked, it has no heading either.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Literal, TypeAlias

from msgspec import Struct


RECORD_FORMAT = 2
"""The number of the stored form; texts of the first one begin with `Digest of` and are read too."""


class Section(Enum):
    """The sections, in the order in which they are written: what changes least comes first."""

    REQUESTS = "Asked by the user"
    """User messages, word for word; of long ones the beginning."""

    RULES = "Rules and wishes"
    """Sentences in which the user forbids, demands or prefers."""

    DECISIONS = "Decisions"
    """What was decided and why, as a model wrote it."""

    DONE = "Done tasks"
    """Tasks that a result or the user has closed."""

    CREATED = "Files created"
    """Files that a tool has created, by directory."""

    EDITED = "Files edited"
    """Files that a tool has changed, by directory."""

    DELETED = "Files deleted"
    """Files that a tool has deleted, by directory."""

    COMMITS = "Commits"
    """Commits, the newest last."""

    USED = "Ids used in calls"
    """Identifiers that were arguments of tool calls."""

    SEEN = "Ids seen"
    """Identifiers that were said, or that tools answered."""

    READ = "Files read"
    """Files that a tool has only read, by directory."""

    VALUES = "Current values"
    """The newest value of what was changed."""

    TOOLS = "Tool calls"
    """Counts, the last calls with what they answered, and failures."""

    FAILED = "Failures tried"
    """What did not work, as a model wrote it."""

    OPEN = "Open tasks"
    """Tasks that nothing has closed."""

    CLAIMED = "Said to be done, not confirmed"
    """Tasks that are done as a model says, and nothing else shows it."""

    EARLIER = "Earlier summary"
    """Sentences of a summary by another summarizer."""

    NARRATIVE = "Narrative"
    """What a model wrote freely."""

    SAID = "Said, in order"
    """The sentences with the most content."""

    LAST = "Last said"
    """How the span ends."""

    LEFT = "Left out"
    """How much there was no room for, and of which messages."""

    # That of an enumeration is code of Python; what is chosen for a record asks for it thousands of times.
    __hash__ = object.__hash__


Counts: TypeAlias = Counter[str]
"""How many messages of each role a record represents."""

FileAction: TypeAlias = Literal["created", "edited", "deleted", "read"]
"""What a tool did to a file."""

FILES: Mapping[Section, FileAction] = {
    Section.CREATED: "created",
    Section.EDITED: "edited",
    Section.DELETED: "deleted",
    Section.READ: "read",
}
"""The sections that list files, and what a tool did to those in each."""

LISTS = frozenset({*FILES, Section.USED, Section.SEEN})
"""The sections whose lines have a label and several items."""

_FAILURE = " (last call failed)"
# Records of earlier versions have such tasks among the open ones.
_CLAIM = " (said to be done)"


class Artefact(Struct, frozen=True, kw_only=True):
    """A file that tools worked on: what was done to it, and whether the last call for it failed."""

    path: str
    """The path, as a call gave it."""

    action: FileAction
    """The strongest thing that was done to it."""

    failed: bool = False
    """Whether the last call for it failed."""

    @property
    def line(self) -> str:
        """The file as an item of its section."""
        return self.path + _FAILURE * self.failed


class Task(Struct, frozen=True, kw_only=True):
    """A task: its id within the record, such as `t3`, and what is to be done or was done."""

    id: str
    """Its id; empty for one of a list that the agent keeps."""

    text: str
    """What is to be done, in one line."""


_ROLES = ("user", "assistant", "tool", "system")
# The role of messages whose role the record does not give.
_OTHER = "other"
_HEADER = r"(Record|Digest) of (\d{1,12}) messages?(?: \(([^)]*)\))?\."
_COUNT = rf"({'|'.join(_ROLES)}|{_OTHER}) (\d{{1,12}})"
_HEADING = "## "
_ITEM = "- "
_BY_HEADING = {_HEADING + section.value: section for section in Section}
_SEPARATOR = ", "
_GONE = r"(\d{1,9}) ([a-z]{1,20}?)s?(?:,| of )"
_TASK = r"(?s)\[(t\d{1,6})\] (.*)"


class _Items(Struct, frozen=True):
    counts: Counts
    sections: Mapping[Section, tuple[str, ...]]


class SummaryRecord(_Items, frozen=True, kw_only=True):
    """What stands for a span of messages: how many of each role they are, and items by section."""

    format: int = RECORD_FORMAT
    """The number of the form that the text has or had."""

    def lines(self, section: Section) -> tuple[str, ...]:
        """Return the items of *section*, as they are written."""
        return self.sections.get(section, ())

    @property
    def artefacts(self) -> tuple[Artefact, ...]:
        """The files that tools worked on, each with the strongest action."""
        return tuple(
            Artefact(
                path=path.removesuffix(_FAILURE), action=action, failed=path.endswith(_FAILURE)
            )
            for section, action in FILES.items()
            for line in self.lines(section)
            for path in _paths(line)
        )

    @property
    def open_tasks(self) -> tuple[Task, ...]:
        """The tasks that nobody has said to be done."""
        lines = self.lines(Section.OPEN)
        return tuple(_tasks(line for line in lines if not line.endswith(_CLAIM)))

    @property
    def claimed_tasks(self) -> tuple[Task, ...]:
        """The tasks that a model has said to be done, and nothing else shows it."""
        before = (line for line in self.lines(Section.OPEN) if line.endswith(_CLAIM))
        lines = (line.removesuffix(_CLAIM) for line in before)
        return tuple(_tasks((*lines, *self.lines(Section.CLAIMED))))

    @property
    def done_tasks(self) -> tuple[Task, ...]:
        """The tasks that a result or the user has closed."""
        return tuple(_tasks(self.lines(Section.DONE)))

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The identifiers that are listed: those used in calls first."""
        lines = (*self.lines(Section.USED), *self.lines(Section.SEEN))
        return tuple(dict.fromkeys(value for line in lines for value in _paths(line)))

    @property
    def left_out(self) -> Counter[str]:
        """How many of each kind there was no room for, such as of `id` and `file`."""
        gone = Counter[str]()
        for line in self.lines(Section.LEFT):
            gone.update({kind: int(number) for number, kind in re.findall(_GONE, line)})
        return gone

    @property
    def narrative(self) -> str:
        """What a model wrote freely; empty without one."""
        return "\n".join(self.lines(Section.NARRATIVE))

    def render(self) -> str:
        """Write the record as text; `read` gives an equal one back."""
        lines = [header(self.counts, format=self.format)]
        shown = [section for section in Section if self.sections.get(section)]
        for section in shown:
            if shown != [Section.REQUESTS] or self.counts != brief(self.counts):
                lines.append(_HEADING + section.value)
            lines.extend(_ITEM + item for item in self.sections[section])
        return "\n".join(lines)

    @classmethod
    def read(cls, text: str) -> "SummaryRecord | None":
        """Read what `render` wrote; None if *text* is anything else, such as a model's own text."""
        first, *lines = text.split("\n")
        match = re.fullmatch(_HEADER, first)
        if match is None:
            return None
        counts = Counter({role: int(count) for role, count in re.findall(_COUNT, match[3] or "")})
        rest = int(match[2]) - counts.total()
        if rest > 0:
            counts[_OTHER] += rest
        sections: dict[Section, list[str]] = {}
        section = Section.REQUESTS
        for line in lines:
            if line in _BY_HEADING:
                section = _BY_HEADING[line]
            else:
                sections.setdefault(section, []).append(line.removeprefix(_ITEM))
        number = RECORD_FORMAT if match[1] == "Record" else 1
        record = cls(
            counts, {name: tuple(found) for name, found in sections.items()}, format=number
        )
        # What differs from what would be written, in any line, was written by another.
        return record if record.render() == text else None


def brief(counts: Counts) -> Counts:
    """Return *counts* without the roles, which is shorter to write."""
    return Counter({_OTHER: counts.total()})


def header(counts: Counts, *, format: int = RECORD_FORMAT) -> str:
    """Write the first line of a record."""
    roles = (*_ROLES, _OTHER) if format > 1 and len(counts) > 1 else _ROLES
    detail = _SEPARATOR.join(f"{role} {counts[role]}" for role in roles if counts[role])
    noun = "message" if counts.total() == 1 else "messages"
    name = "Record" if format > 1 else "Digest"
    return f"{name} of {counts.total()} {noun}" + (f" ({detail})." if detail else ".")


def _paths(line: str) -> Iterator[str]:
    label, colon, listed = line.partition(": ")
    folder = label if label.endswith("/") else ""
    for name in (listed if colon else line).split(_SEPARATOR):
        yield folder + name


def _tasks(lines: Iterable[str]) -> Iterator[Task]:
    for line in lines:
        match = re.fullmatch(_TASK, line)
        yield Task(id=match[1], text=match[2]) if match else Task(id="", text=line)
