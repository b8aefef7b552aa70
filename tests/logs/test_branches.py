"""Branches of logs whose lines name the line before them."""

from foldline.logs.branches import Line, abandoned


def chain(*ids: str, after: str = "") -> list[Line]:
    """Return lines that follow each other, the first one behind *after*."""
    return [Line(id=id, parent=parent) for id, parent in zip(ids, (after, *ids[:-1]), strict=True)]


def test_a_chain_has_no_branch() -> None:
    """Where no line has two children nothing was left."""
    assert abandoned(chain("a", "b", "c")) == frozenset()


def test_the_branch_of_the_newest_message_is_kept() -> None:
    """What the newest message does not follow from was left, with all that followed it."""
    lines = [*chain("a", "b", "c", "d"), *chain("e", "f", after="b")]

    assert abandoned(lines) == {"c", "d"}


def test_the_newest_message_counts_and_not_the_newest_line() -> None:
    """A notice at the end of the log does not lead to another branch."""
    lines = [*chain("a", "b"), *chain("c", after="a"), Line(id="n", parent="b", is_message=False)]

    assert abandoned(lines) == {"b"}


def test_lines_without_a_known_parent_are_trees_of_their_own() -> None:
    """Nothing of a tree is left because another tree holds the newest message."""
    lines = [*chain("a", "b"), *chain("c", after="a"), *chain("d"), *chain("e", after="gone")]

    assert abandoned(lines) == {"b"}


def test_parallel_calls_are_no_fork() -> None:
    """The pieces of a message and the results of its calls belong to the branch of any of them."""
    lines = [
        Line(id="u"),
        Line(id="one", parent="u", message="m", calls=("c1",)),
        Line(id="two", parent="one", message="m", calls=("c2",)),
        Line(id="second", parent="two", answers=("c2",)),
        Line(id="first", parent="one", answers=("c1",)),
        Line(id="end", parent="first"),
    ]

    assert abandoned(lines) == frozenset()


def test_a_second_answer_is_left() -> None:
    """Where the branch answers a call itself, the answer on another branch was left."""
    lines = [
        Line(id="u"),
        Line(id="call", parent="u", message="m", calls=("c",)),
        Line(id="old", parent="call", answers=("c",)),
        Line(id="new", parent="call", answers=("c",)),
    ]

    assert abandoned(lines) == {"old"}


def test_what_follows_a_left_message_was_left_with_it() -> None:
    """A tree behind a compaction goes with the branch that was compacted, and with its notices."""
    lines = [
        *chain("a", "b"),
        Line(id="notice", parent="b", is_message=False),
        Line(id="cut", follows="notice", is_message=False),
        Line(id="summary", parent="cut"),
        Line(id="again", follows="summary"),
        *chain("c", after="a"),
    ]

    assert abandoned(lines) == {"b", "summary", "again"}


def test_what_follows_a_kept_message_is_kept() -> None:
    """A fork before a compaction takes nothing from behind it."""
    lines = [*chain("a", "b"), *chain("c", after="a"), Line(id="cut", follows="c")]

    assert abandoned(lines) == {"b"}


def test_a_circle_ends() -> None:
    """Damaged logs in which lines follow each other in a circle are read."""
    lines = [
        Line(id="a", parent="b"),
        Line(id="b", parent="a"),
        Line(id="c", parent="a"),
        Line(id="own", parent="own"),
    ]

    assert abandoned(lines) == frozenset()


def test_a_line_that_is_there_twice_is_one_line() -> None:
    """Copies of a line are kept or left together."""
    lines = [*chain("a", "b"), *chain("c", after="a"), *chain("a"), Line(id="b", parent="a")]

    assert abandoned(lines) == {"c"}
