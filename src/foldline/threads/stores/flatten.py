"""
How shared branches, as stores kept them before, become rows that each thread owns.

Before, a thread was a chain of branches: a fork, a rewind and an edit opened one that shared the
first rows of another. This plans the copies that make them flat; each store carries them out.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct


class Branch(Struct, frozen=True, gc=False):
    """A branch as it was stored: its own rows begin with *at*, after those it shares."""

    name: int | str
    parent: int | str | None
    at: int
    stop: int
    # What its rows were sealed under.
    id: bytes = b""


class Span(Struct, frozen=True, gc=False):
    """Rows that were written on one branch, up to *stop*."""

    branch: int | str
    start: int
    stop: int


def flatten(
    own: Sequence[Branch], branches: Mapping[int | str, Branch]
) -> Iterator[tuple[int | str, list[Span]]]:
    """Yield each epoch of a thread with what it replaced, then the first with its live rows."""
    # The oldest first: a rewind, an edit or a clear opened each later one.
    first, *later = own
    live = _lineage(first, branches)
    for branch in later:
        yield branch.name, _cut(live, branch.at, sys.maxsize)
        live = [*_cut(live, 0, branch.at), Span(branch.name, branch.at, branch.stop)]
    yield first.name, [span for span in live if span.start < span.stop]


def _lineage(branch: Branch, branches: Mapping[int | str, Branch]) -> list[Span]:
    """Return the rows that can be read on *branch*, those of its ancestors included."""
    spans = [Span(branch.name, branch.at, branch.stop)]
    start, parent, seen = branch.at, branch.parent, {branch.name}
    while start > 0 and parent is not None and parent in branches and parent not in seen:
        seen.add(parent)
        shared = branches[parent]
        if shared.at < start:
            spans.insert(0, Span(shared.name, shared.at, min(start, shared.stop)))
            start = shared.at
        parent = shared.parent
    return spans


def _cut(spans: Sequence[Span], start: int, stop: int) -> list[Span]:
    cut = [Span(one.branch, max(one.start, start), min(one.stop, stop)) for one in spans]
    return [one for one in cut if one.start < one.stop]
