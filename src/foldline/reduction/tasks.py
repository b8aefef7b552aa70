"""
The tasks of records: those that a model has listed, which have ids, and the list that an agent keeps.

The newest list of the agent takes the place of the one before it, and wins for what is on it. The
tasks of a model stay beside it until something closes them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from foldline.reduction.language import content, words
from foldline.reduction.record import Section, SummaryRecord


Tasks: TypeAlias = Mapping[Section, Mapping[str, str]]
"""The text of each task by its id, or by itself on the agent's own list; in each state those."""

STATES = (Section.OPEN, Section.CLAIMED, Section.DONE)
"""The sections that list tasks."""

_ID = re.compile(r"t\d{1,6}").fullmatch
# So much of the words of two items makes them the same one.
_SAME = 0.6


def stems(text: str) -> set[str]:
    """Return what carries the meaning of *text*."""
    return content(words(text))


def are_same(one: str, other: str) -> bool:
    """Whether two items say the same, as far as their words tell."""
    first, second = stems(one), stems(other)
    if not first or not second:
        return one == other
    return len(first & second) >= _SAME * len(first | second)


def tasks_of(records: Iterable[SummaryRecord]) -> Tasks:
    """Return the tasks of *records*, oldest first; of a task in several the newest decides."""
    found: dict[Section, dict[str, str]] = {state: {} for state in STATES}
    for record in records:
        if any(own_list(record).values()):
            found = {state: dict(tasks) for state, tasks in with_list(found, {}).items()}
        listed = (record.open_tasks, record.claimed_tasks, record.done_tasks)
        each = zip(STATES, listed, strict=True)
        for state, task in [(state, task) for state, tasks in each for task in tasks]:
            keys = {text: key for known in found.values() for key, text in known.items()}
            # Each record has numbered its tasks from 1.
            new = next_id(found) if task.id in keys.values() else task.id
            key = keys.get(task.text) or new or task.text
            for known in found.values():
                known.pop(key, None)
            found[state][key] = task.text
    return found


def own_list(record: SummaryRecord) -> Mapping[Section, Sequence[str]]:
    """Return what *record* has of the agent's own list."""
    states = {Section.OPEN: record.open_tasks, Section.DONE: record.done_tasks}
    return {state: [task.text for task in tasks if not task.id] for state, tasks in states.items()}


def is_id(key: str) -> bool:
    """Whether *key* is the id of a task."""
    return _ID(key) is not None


def next_id(tasks: Tasks) -> str:
    """Return an id that none of *tasks* has."""
    keys = (key for known in tasks.values() for key in known if is_id(key))
    return f"t{max((int(key[1:]) for key in keys), default=0) + 1}"


def with_list(tasks: Tasks, own: Mapping[Section, Sequence[str]]) -> Tasks:
    """Return *tasks* with the agent's *own* list in place of the last one; none of it is there twice."""
    texts = [text for listed in own.values() for text in listed]
    return {
        state: {text: text for text in own.get(state, ())}
        | {
            key: text
            for key, text in known.items()
            if is_id(key) and not any(are_same(text, one) for one in texts)
        }
        for state, known in tasks.items()
    }


def task_lines(tasks: Tasks, state: Section) -> tuple[str, ...]:
    """Return the tasks in *state* as items of its section."""
    return tuple(f"[{key}] {text}" if is_id(key) else text for key, text in tasks[state].items())
