"""
The trail of the work: files, commits, tasks and values as the last call left them.

A record that is absorbed has the trail so far; the facts of the new calls change it one by one.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldline.providers.digest.outline import Item, newest_first
from foldline.providers.digest.setters import SAYS
from foldline.providers.digest.tool_use import Facts
from foldline.reduction.layered import files_of
from foldline.reduction.record import FILES, Artefact, Section, SummaryRecord
from foldline.reduction.tasks import Tasks, task_lines, tasks_of, with_list


_MOST_VALUES = 60
_MOST_COMMITS = 100
# Commits that are told with their subject, and before the hashes of those that are older.
_TOLD_COMMITS = 2
_OLDER = "before"
_HASH = re.compile(r"[0-9a-f]{7,40}(?= |$)").match


class Trail(Struct):
    """What the calls have done so far; of each file and value the newest last."""

    files: dict[str, Artefact]
    commits: list[str]
    tasks: Tasks
    values: dict[str, str]
    # Values that others have taken the place of, and the number of the call that gave these.
    replaced: dict[str, int] = {}


def trail_of(records: Iterable[SummaryRecord], facts: Iterable[Facts]) -> Trail:
    """Return the trail of *records*, oldest first, and then of *facts*."""
    records = tuple(records)
    trail = Trail({}, [], tasks_of(records), {})
    files: list[Artefact] = []
    for record in records:
        files.extend(reversed(record.artefacts))
        for line in record.lines(Section.COMMITS):
            older = line.removeprefix(_OLDER + SAYS)
            trail.commits.extend([line] if older == line else older.split(", "))
        parted = (line.partition(SAYS) for line in record.lines(Section.VALUES))
        trail.values.update((name, value) for name, _, value in parted)
    for place, fact in enumerate(facts):
        # A call that failed has changed nothing.
        files.extend(replace(one, action="read") if one.failed else one for one in fact.files)
        trail.commits.extend(fact.commits)
        if fact.has_tasks:
            own = {Section.OPEN: fact.open_tasks, Section.DONE: fact.done_tasks}
            trail.tasks = with_list(trail.tasks, own)
        for name, value in fact.values:
            before = trail.values.pop(name, value)
            if before != value:
                trail.replaced[before] = place
            trail.values[name] = value
    trail.files = {one.path: one for one in files_of(files)}
    return trail


def offer_trail(trail: Trail) -> dict[Section, Sequence[Item]]:
    """Offer the sections of *trail*, in each the newest first."""
    offers: dict[Section, list[Item]] = {section: [] for section in FILES}
    sections = {action: section for section, action in FILES.items()}
    for one in reversed(trail.files.values()):
        items = offers[sections[one.action]]
        end = 0 if one.path.endswith("/") else one.path.rfind("/") + 1
        items.append(Item(one.line[end:], len(items), one.path[:end] or "./"))
    values = [f"{name}{SAYS}{value}" for name, value in trail.values.items()][-_MOST_VALUES:]
    waiting = task_lines(trail.tasks, Section.OPEN)
    return {
        **offers,
        Section.COMMITS: _commits(trail.commits),
        Section.VALUES: newest_first(values),
        Section.OPEN: [Item(text, place) for place, text in enumerate(waiting)],
        Section.CLAIMED: newest_first(task_lines(trail.tasks, Section.CLAIMED)),
        Section.DONE: newest_first(task_lines(trail.tasks, Section.DONE)),
    }


def _commits(lines: Iterable[str]) -> list[Item]:
    """Offer the newest with what they are about, and of the others the hash."""
    items = newest_first(list(dict.fromkeys(lines))[-_MOST_COMMITS:])
    older = [(item, _HASH(item.text)) for item in items[_TOLD_COMMITS:]]
    hashes = [Item(found[0], item.order, _OLDER) for item, found in older if found]
    return [*items[:_TOLD_COMMITS], *hashes, *(item for item, found in older if not found)]
