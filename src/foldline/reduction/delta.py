"""
What a model wrote, merged into the record that code has made of the same messages.

A model writes a delta: lists of decisions, open tasks, done tasks and failures under the headings of
the record, and a narrative. An item with the id of a known one, such as `- [t3] Pay the bill`, takes
its place. All other text is narrative. What the model does not write again stays as it was: only
what it has read of the narrative is replaced by its own, and lines of which that says nothing stay.

A model cannot close a task. What it says is done is done if a tool or the user shows it; else that is
only said, in a section of its own, so that nobody does it again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from foldline.reduction.evicted import LEAST_BUDGET, noted, sizes
from foldline.reduction.evidence import Evidence
from foldline.reduction.language import TELLING, content, words
from foldline.reduction.record import Section, SummaryRecord
from foldline.reduction.request import SummaryRequest
from foldline.reduction.tasks import (
    STATES,
    Tasks,
    are_same,
    is_id,
    next_id,
    own_list,
    stems,
    task_lines,
    tasks_of,
    with_list,
)


_HEADING = re.compile(r"[#*\s]*([A-Za-z][A-Za-z, ]{2,30}?)[*:\s]*").fullmatch
_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
# Prose may begin with a number, such as that of a day.
_BULLET = re.compile(r"^\s*[-*+•]\s+")
_ID = re.compile(r"\[?\b(t\d{1,6})\b[\]:.]*\s*")
_NONE = re.compile(r"\W*(?:none|nothing|n/a|-)?\W*", re.IGNORECASE).fullmatch
_SECTIONS = {
    section.value.lower(): section
    for section in (Section.DECISIONS, *STATES, Section.FAILED, Section.NARRATIVE)
}
# What gives way first, the oldest item first.
_GIVING_WAY = (
    Section.EARLIER,
    Section.DONE,
    Section.READ,
    Section.FAILED,
    Section.SEEN,
    Section.CLAIMED,
    Section.DECISIONS,
)
# Where a task is that a model says is done: what a call has failed at stays open.
_STATE_OF = {True: Section.DONE, False: Section.OPEN, None: Section.CLAIMED}
# A text says something of a line if it has so many of its words, and one in eight.
_LEAST_SHARED = 2


def merged(
    record: SummaryRecord,
    text: str,
    request: SummaryRequest,
    *,
    count: Callable[[str], int],
    most: int,
) -> str:
    """
    Return *text* merged into *record*; *text* alone if there is nothing else to say.

    Args:
        record: What code has read from *request*.
        text: What a model has written, reviewed.
        request: What was asked; the records in its earlier texts are carried on.
        count: Counts the tokens of a text.
        most: How many tokens the result may have; items that are too many are left out.
    """
    written = _read(text)
    before = [found for found in map(SummaryRecord.read, request.earlier) if found is not None]
    sections = dict(record.sections)
    for section in (Section.DECISIONS, Section.FAILED):
        known = [line for one in before for line in one.lines(section)]
        sections[section] = tuple(_joined(known, written.get(section, ())))
    listed = with_list(tasks_of(before), own_list(record))
    tasks = _tasks(listed, written, Evidence(request.parsed))
    sections |= {state: task_lines(tasks, state) for state in STATES}
    sections[Section.EARLIER] = tuple(dict.fromkeys(_left_out(before, text)))
    sections[Section.NARRATIVE] = tuple(written.get(Section.NARRATIVE, ()))
    sections = {section: lines for section, lines in sections.items() if lines}
    # Only code writes a record: a text in its form is a narrative like any other.
    if sections.keys() <= {Section.NARRATIVE} and SummaryRecord.read(text) is None:
        return text
    recallable = request.recallable if most >= LEAST_BUDGET else None
    return _within(SummaryRecord(record.counts, sections), count, most, recallable)


def _read(text: str) -> dict[Section, list[str]]:
    found: dict[Section, list[str]] = {}
    section = Section.NARRATIVE
    for line in text.splitlines():
        named = _section(line)
        if named is not None:
            section = named
        elif _HEADING(line) and line.lstrip().startswith("#"):
            # What is under a heading of its own is neither a task nor a decision.
            section = Section.NARRATIVE
        elif section is Section.NARRATIVE:
            item = _BULLET.sub("", line).strip()
            found.setdefault(section, []).extend([item] if item else [])
        elif not _NONE(line):
            found.setdefault(section, []).append(_MARK.sub("", line).strip())
    return {section: lines for section, lines in found.items() if lines}


def has_headings(text: str) -> bool:
    """Whether *text* is written under headings of the record, so that code merges it item by item."""
    return any(_section(line) for line in text.splitlines())


def _section(line: str) -> Section | None:
    heading = _HEADING(line)
    return _SECTIONS.get(heading[1].lower()) if heading else None


def _joined(known: Sequence[str], new: Iterable[str]) -> list[str]:
    """Return *known* items and after them *new* ones, which take the place of equal ones."""
    lines = list(known)
    for line in new:
        lines = [one for one in lines if not are_same(one, line)]
        lines.append(line)
    return lines


def _left_out(before: Iterable[SummaryRecord], text: str) -> Iterator[str]:
    """Yield the lines that the records *before* tell freely and of which *text* says nothing."""
    said = stems(text)
    for one in before:
        for line in (*one.lines(Section.EARLIER), *one.lines(Section.NARRATIVE)):
            own = content(set(words(line)) - TELLING)
            if len(own) > _LEAST_SHARED and len(own & said) < max(_LEAST_SHARED, len(own) / 8):
                yield line


def _tasks(known: Tasks, written: Mapping[Section, Sequence[str]], evidence: Evidence) -> Tasks:
    """Return the *known* tasks with what a model has *written* of them."""
    tasks = {state: dict(listed) for state, listed in known.items()}
    opened, claimed, done = (tasks[state] for state in STATES)
    for section, line in [(state, one) for state in STATES for one in written.get(state, ())]:
        match = _ID.match(line)
        text = line[match.end() :] if match else line
        key = match[1] if match else ""
        is_open = section is Section.OPEN
        if key not in opened and key not in claimed and (is_open or key not in done):
            keys = [*opened.items(), *claimed.items(), *done.items()]
            key = next((one for one, said in keys if are_same(said, text)), next_id(tasks))
        # What is done is not opened by its own words, and the agent's own list says how it stands.
        if key in done or not is_id(key):
            continue
        was = opened.get(key) or claimed.get(key) or text
        state = section if is_open else _STATE_OF[evidence.shows(was)]
        for one in STATES:
            if one is not state:
                tasks[one].pop(key, None)
        tasks[state][key] = text or was
    return tasks


def _within(
    record: SummaryRecord,
    count: Callable[[str], int],
    most: int,
    recallable: tuple[int, int] | None,
) -> str:
    text, gone = record.render(), record.left_out
    for section in _GIVING_WAY:
        while count(text) > most and record.lines(section):
            lines = record.lines(section)
            first = max(1, len(lines) // 4)
            gone += sizes(section, lines[:first])
            left = noted({**record.sections, section: lines[first:]}, gone, recallable)
            record = SummaryRecord(record.counts, left)
            text = record.render()
    return text
