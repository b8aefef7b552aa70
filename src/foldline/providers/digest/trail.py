"""
The trail of the work: files, commits, tasks and values as the last call left them.

A record that is absorbed has the trail so far; the facts of the new calls change it one by one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from foldline.providers.digest.outline import Item
from foldline.providers.digest.work import Facts
from foldline.reduction.record import Artefact, FileAction, Section, SummaryRecord


__all__ = ["Trail", "offer_trail", "trail_of"]


_MOST_VALUES = 60
_MOST_COMMITS = 100
_SAYS = ": "
# Commits that are told with their subject, and before the hashes of those that are older.
_TOLD_COMMITS = 2
_OLDER = "before"
_HASH = re.compile(r"[0-9a-f]{7,40}(?= |$)").match
_SECTIONS: dict[FileAction, Section] = {
    "created": Section.CREATED,
    "edited": Section.EDITED,
    "deleted": Section.DELETED,
    "read": Section.READ,
}
_FAILURE = " (last call failed)"
# What a file that was made or changed before is said to be after the next call.
_STAYS: dict[tuple[FileAction, FileAction], FileAction] = {
    ("created", "read"): "created",
    ("edited", "read"): "edited",
    ("deleted", "read"): "deleted",
    ("edited", "created"): "edited",
    ("read", "created"): "edited",
}


class Trail(Struct):
    """What the calls have done so far; of each file and value the newest last."""

    files: dict[str, Artefact]
    commits: list[str]
    open_tasks: tuple[str, ...]
    done_tasks: tuple[str, ...]
    values: dict[str, str]


def trail_of(records: Iterable[SummaryRecord], facts: Iterable[Facts]) -> Trail:
    """Return the trail of *records*, oldest first, and then of *facts*."""
    trail = Trail({}, [], (), (), {})
    for record in records:
        for one in reversed(record.artefacts):
            _touch(trail.files, one)
        for line in record.lines(Section.COMMITS):
            older = line.removeprefix(_OLDER + _SAYS)
            trail.commits.extend([line] if older == line else older.split(", "))
        trail.open_tasks = record.lines(Section.OPEN)
        trail.done_tasks = record.lines(Section.DONE)
        trail.values.update(_pairs(record.lines(Section.VALUES)))
    for fact in facts:
        for one in fact.files:
            _touch(trail.files, one)
        trail.commits.extend(fact.commits)
        if fact.has_tasks:
            trail.open_tasks, trail.done_tasks = fact.open_tasks, fact.done_tasks
        for name, value in fact.values:
            trail.values.pop(name, None)
            trail.values[name] = value
    return trail


def _touch(files: dict[str, Artefact], new: Artefact) -> None:
    path = _known(files, new.path)
    old = files.pop(path, None)
    if old is None:
        # A call that failed has changed nothing.
        action: FileAction = "read" if new.failed and new.action != "deleted" else new.action
    elif new.failed:
        action = old.action
    else:
        action = _STAYS.get((old.action, new.action), new.action)
    longest = max(path, new.path, key=len)
    files[longest] = Artefact(path=longest, action=action, failed=new.failed)


def _known(files: dict[str, Artefact], path: str) -> str:
    """Return how *path* is written in *files*: whole, or as the end of a longer one."""
    if path in files:
        return path
    end = "/" + path.lstrip("./")
    for known in files:
        if known.endswith(end) or (known[:1] != "/" and path.endswith("/" + known.lstrip("./"))):
            return known
    return path


def _pairs(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, _, value = line.partition(_SAYS)
        yield name, value


def offer_trail(trail: Trail) -> dict[Section, Sequence[Item]]:
    """Offer the sections of *trail*, in each the newest first."""
    offers: dict[Section, list[Item]] = {section: [] for section in _SECTIONS.values()}
    for one in reversed(trail.files.values()):
        items = offers[_SECTIONS[one.action]]
        folder, slash, name = one.path.rpartition("/")
        text = name + _FAILURE * one.failed if name else one.path
        items.append(Item(text, len(items), folder + slash if name and slash else "./"))
    values = [f"{name}{_SAYS}{value}" for name, value in trail.values.items()][-_MOST_VALUES:]
    return {
        **offers,
        Section.COMMITS: _commits(trail.commits),
        Section.VALUES: _newest(values),
        Section.OPEN: [Item(text, place) for place, text in enumerate(trail.open_tasks)],
        Section.DONE: _newest(trail.done_tasks),
    }


def _commits(lines: Iterable[str]) -> list[Item]:
    """Offer the newest with what they are about, and of the others the hash."""
    items = _newest(list(dict.fromkeys(lines))[-_MOST_COMMITS:])
    older = [(item, _HASH(item.text)) for item in items[_TOLD_COMMITS:]]
    hashes = [Item(found[0], item.order, _OLDER) for item, found in older if found]
    return [*items[:_TOLD_COMMITS], *hashes, *(item for item, found in older if not found)]


def _newest(lines: Sequence[str]) -> list[Item]:
    return [Item(lines[place], place) for place in range(len(lines) - 1, -1, -1)]
