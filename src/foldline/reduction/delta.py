"""
What a model wrote, merged into the record that code has made of the same messages.

A model writes a delta: lists of decisions, open tasks, done tasks and failures under the headings of
the record, and a narrative. An item with the id of a known one, such as `- [t3] Pay the bill`, takes
its place. All other text is narrative. What the model does not write again stays as it was: only
the narrative, which the model has read, is replaced.

A model cannot close a task. A task is done if a result of a tool or the user says something of it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from foldline.history.messages import Message
from foldline.reduction.evicted import LEAST_BUDGET, noted, sizes
from foldline.reduction.language import content, words
from foldline.reduction.record import Section, SummaryRecord
from foldline.reduction.request import SummaryRequest
from foldline.reduction.statements import statements


__all__ = ["merged"]


_HEADING = re.compile(r"[#*\s]*([A-Za-z][A-Za-z ]{2,30}?)[*:\s]*").fullmatch
_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_ID = re.compile(r"\[?\b(t\d{1,6})\b[\]:.]*\s*")
_NONE = re.compile(r"\W*(?:none|nothing|n/a|-)?\W*", re.IGNORECASE).fullmatch
_SECTIONS = {
    section.value.lower(): section
    for section in (
        Section.DECISIONS,
        Section.DONE,
        Section.OPEN,
        Section.FAILED,
        Section.NARRATIVE,
    )
}
_UNPROVEN = " (said to be done)"
# So much of the words of two items makes them the same one, and of a task, says something of it.
_SAME = 0.6
# A sentence that asks or denies, and a result that tells of a failure.
_IS_OPEN = re.compile(
    r"\?\s*\Z|\b(?:not|never|no|nor|without|cannot|stop)\b|n['’]t\b", re.IGNORECASE
).search
_HAS_FAILED = re.compile(
    r"[^a-z]{0,20}(?:[a-z]{0,30}error|[a-z]{0,30}exception|traceback|fail|fatal|refused|denied|forbidden"
    r"|unauthori[sz]ed|not found|permission denied)",
    re.IGNORECASE,
).match
_SAYS = 0.5
# What gives way first, the oldest item first.
_GIVING_WAY = (Section.DONE, Section.READ, Section.FAILED, Section.SEEN, Section.DECISIONS)


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
    opened, done = _tasks(record, before, written, request.messages)
    sections |= {Section.OPEN: tuple(opened), Section.DONE: tuple(done)}
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
        heading = _HEADING(line)
        named = _SECTIONS.get(heading[1].lower()) if heading else None
        if named is not None:
            section = named
        elif heading and line.lstrip().startswith("#"):
            # What is under a heading of its own is neither a task nor a decision.
            section = Section.NARRATIVE
        elif section is Section.NARRATIVE:
            found.setdefault(section, []).extend([line.strip()] if line.strip() else [])
        elif not _NONE(line):
            found.setdefault(section, []).append(_MARK.sub("", line).strip())
    return {section: lines for section, lines in found.items() if lines}


def _words(text: str) -> set[str]:
    return content(words(text))


def _are_same(one: str, other: str) -> bool:
    first, second = _words(one), _words(other)
    if not first or not second:
        return one == other
    return len(first & second) >= _SAME * len(first | second)


def _joined(known: Sequence[str], new: Iterable[str]) -> list[str]:
    """Return *known* items and after them *new* ones, which take the place of equal ones."""
    lines = list(known)
    for line in new:
        lines = [one for one in lines if not _are_same(one, line)]
        lines.append(line)
    return lines


def _tasks(
    record: SummaryRecord,
    before: Sequence[SummaryRecord],
    written: Mapping[Section, Sequence[str]],
    messages: Sequence[Message],
) -> tuple[list[str], list[str]]:
    """Return the lines of the open and of the done tasks."""
    if not all(task.id for task in (*record.open_tasks, *record.done_tasks)):
        # The agent keeps a list of its own, which has no ids of ours.
        return [*record.lines(Section.OPEN)], [*record.lines(Section.DONE)]
    number, opened, done = _known(before)
    evidence = [*_evidence(messages)] if written.get(Section.DONE) else []
    for section in (Section.OPEN, Section.DONE):
        for line in written.get(section, ()):
            match = _ID.match(line)
            text = line[match.end() :] if match else line
            key = match[1] if match and match[1] in opened else _key_of(text, opened)
            if key is None and _key_of(text, done) is not None:
                continue
            is_new = key is None
            if key is None:
                number += 1
                key = f"t{number}"
            task = opened.get(key, text)
            if section is Section.OPEN:
                opened[key] = text or task
            elif _is_shown(task, evidence, is_new=is_new):
                opened.pop(key, None)
                done[key] = text or task
            else:
                opened[key] = (text or task) + _UNPROVEN
    return [*_listed(opened)], [*_listed(done)]


def _known(before: Iterable[SummaryRecord]) -> tuple[int, dict[str, str], dict[str, str]]:
    """Return the highest number of a task, and the open and the done tasks by id."""
    number, opened, done = 0, dict[str, str](), dict[str, str]()
    for one in before:
        for tasks, into in ((one.open_tasks, opened), (one.done_tasks, done)):
            for task in tasks:
                # The records of several layers may have used the same id.
                is_free = bool(task.id) and task.id not in opened and task.id not in done
                number = max(number, int(task.id[1:])) if is_free else number + 1
                into[task.id if is_free else f"t{number}"] = task.text.removesuffix(_UNPROVEN)
    return number, opened, done


def _listed(tasks: Mapping[str, str]) -> Iterator[str]:
    for key, text in tasks.items():
        yield f"[{key}] {text}" if _ID.fullmatch(key) else text


def _key_of(text: str, tasks: Mapping[str, str]) -> str | None:
    return next((key for key, known in tasks.items() if _are_same(known, text)), None)


class _Said(NamedTuple):
    words: AbstractSet[str]
    is_result: bool


def _evidence(messages: Iterable[Message]) -> Iterator[_Said]:
    """Yield what users state and results of tools say, in order; not what is denied or has failed."""
    for message in messages:
        if message.role == "user":
            said = [one for one in statements(message.text) if not _IS_OPEN(one)]
            yield _Said(_words("\n".join(said)), is_result=False)
        results = [str(part.response) for part in message.tool_call_responses]
        for text in [*results, *([message.text] if message.role == "tool" else [])]:
            if not _HAS_FAILED(text):
                yield _Said(_words(text), is_result=True)


def _is_shown(task: str, evidence: Iterable[_Said], *, is_new: bool) -> bool:
    wanted = _words(task)
    asked = not is_new
    for said in evidence:
        if wanted and len(wanted & said.words) >= _SAYS * len(wanted):
            # The user's first words about a new task are those that ask for it.
            if said.is_result or asked:
                return True
            asked = True
    return False


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
