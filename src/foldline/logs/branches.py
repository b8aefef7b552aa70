"""
Logs whose lines name the line before them, and so branch when the user goes back.

The conversation is the lines that lead to the newest one; what was said on other branches was
taken back. Not every fork is one, though. A program that calls several tools at once writes a
line per call and lets each result follow its own call: pieces of a message in the conversation
belong to it, and so do the first results of the calls in it. A line whose parent is missing
starts a tree of its own, and every tree is judged alone: damaged logs, and those that start again
after a compaction, keep what they hold. Only a tree that follows a line that was taken back goes
with it.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from msgspec import Struct


class Line(Struct, frozen=True, kw_only=True):
    """One line of such a log, with the ids of what belongs to it."""

    id: str
    parent: str = ""
    # The line that it follows although it starts a new tree, for example after a compaction.
    follows: str = ""
    is_message: bool = True
    # The message that it is a piece of.
    message: str = ""
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


def abandoned(lines: Sequence[Line]) -> frozenset[str]:
    """Return the ids of the messages in *lines* that are on branches that were left."""
    by_id = {line.id: line for line in reversed(lines)}
    parents = {id: line.parent if line.parent in by_id else "" for id, line in by_id.items()}
    children = Counter(filter(None, parents.values()))
    if max(children.values(), default=0) < 2:  # noqa: PLR2004 - two children make a fork
        return frozenset()
    roots = _nearest(parents, {id for id, parent in parents.items() if not parent})
    newest = {roots[line.id]: line.id for line in lines if line.is_message}
    kept = {id for leaf in newest.values() for id in path_to(leaf, parents)}
    messages = {line.message for line in lines if line.message and line.id in kept}
    kept.update(line.id for line in lines if line.message in messages)
    _keep_answers(lines, kept)
    left = {line.id for line in lines if line.is_message and line.id not in kept}
    return frozenset(left | _followers(lines, left, parents, roots))


def path_to(id: str, parents: Mapping[str, str]) -> Iterable[str]:
    """Return *id* and the lines that lead to it, the nearest first; a circle is walked once."""
    path: dict[str, None] = {}
    while id and id not in path:
        path[id] = None
        id = parents[id]
    return path


def _nearest(parents: Mapping[str, str], ends: Container[str]) -> dict[str, str]:
    """Return for each line the nearest of *ends* on the way to its root, itself or else a root."""
    found: dict[str, str] = {}
    for start in parents:
        id, path = start, dict[str, None]()
        while id not in path and id not in found and id not in ends and parents[id]:
            path[id] = None
            id = parents[id]
        end = found.setdefault(id, id)
        found.update(dict.fromkeys(path, end))
    return found


def _keep_answers(lines: Sequence[Line], kept: set[str]) -> None:
    inside = [line for line in lines if line.id in kept]
    answered = {id for line in inside for id in line.answers}
    open_calls = {id for line in inside for id in line.calls} - answered
    for line in lines:
        if not open_calls.isdisjoint(line.answers):
            kept.add(line.id)
            open_calls.difference_update(line.answers)


def _followers(
    lines: Sequence[Line], left: set[str], parents: Mapping[str, str], roots: Mapping[str, str]
) -> set[str]:
    """Return the messages of the trees that follow a message that was left."""
    said = {line.id for line in lines if line.is_message}
    before = _nearest(parents, said)
    trees: dict[str, set[str]] = {}
    for id in said:
        trees.setdefault(roots[id], set()).add(id)
    gone: set[str] = set()
    for line in lines:
        if line.follows not in parents or parents[line.id]:
            continue
        if before[line.follows] in left or before[line.follows] in gone:
            gone |= trees.get(line.id, set())
    return gone
