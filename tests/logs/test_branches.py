"""Branches of logs whose lines name the line before them."""

import pytest

from foldline.logs.branches import Line, abandoned


def chain(*ids: str, after: str = "") -> list[Line]:
    """Return lines that follow each other, the first one after *after*."""
    return [Line(id=id, parent=parent) for id, parent in zip(ids, (after, *ids[:-1]), strict=True)]


FORK = [*chain("a", "b"), *chain("c", after="a")]
LOGS: dict[str, tuple[list[Line], set[str]]] = {
    "a chain has no branch": (chain("a", "b", "c"), set()),
    "the branch of the newest message is kept": (
        [*chain("a", "b", "c", "d"), *chain("e", "f", after="b")],
        {"c", "d"},
    ),
    "a notice at the end leads to no other branch": (
        [*FORK, Line(id="n", parent="b", is_message=False)],
        {"b"},
    ),
    "lines without a known parent are trees of their own": (
        [*FORK, *chain("d"), *chain("e", after="gone")],
        {"b"},
    ),
    "the pieces of a message and the results of its calls are no fork": (
        [
            Line(id="u"),
            Line(id="one", parent="u", message="m", calls=("c1",)),
            Line(id="two", parent="one", message="m", calls=("c2",)),
            Line(id="second", parent="two", answers=("c2",)),
            Line(id="first", parent="one", answers=("c1",)),
            Line(id="end", parent="first"),
        ],
        set(),
    ),
    "a second answer to a call is left": (
        [
            Line(id="u"),
            Line(id="call", parent="u", message="m", calls=("c",)),
            Line(id="old", parent="call", answers=("c",)),
            Line(id="new", parent="call", answers=("c",)),
        ],
        {"old"},
    ),
    "a tree after a compaction goes with the branch that was compacted": (
        [
            *chain("a", "b"),
            Line(id="notice", parent="b", is_message=False),
            Line(id="cut", follows="notice", is_message=False),
            Line(id="summary", parent="cut"),
            Line(id="again", follows="summary"),
            *chain("c", after="a"),
        ],
        {"b", "summary", "again"},
    ),
    "a tree after a kept message is kept": ([*FORK, Line(id="cut", follows="c")], {"b"}),
    "lines that follow each other in a circle are read": (
        [
            Line(id="a", parent="b"),
            Line(id="b", parent="a"),
            Line(id="c", parent="a"),
            Line(id="own", parent="own"),
        ],
        set(),
    ),
    "copies of a line are kept or left together": (
        [*FORK, *chain("a"), Line(id="b", parent="a")],
        {"c"},
    ),
}


@pytest.mark.parametrize(("lines", "left"), LOGS.values(), ids=LOGS)
def test_left_branches_are_found(lines: list[Line], left: set[str]) -> None:
    """What the newest message does not follow from was left, with all that followed it."""
    assert abandoned(lines) == left
