"""How many functions of ours a reader of one call has to open."""

import pytest

from bench.functions import functions


@pytest.mark.source
def test_a_plain_turn_is_short() -> None:
<<<<<<< 3bdda926b9b5db2da1368f825b65cefe7243ccb8
    """A turn runs through at most 72 functions of the threads room and 117 of the others."""
    found = functions("turn")
    threads = [one for one in found if one.path.startswith("threads/")]

    assert len(threads) <= 72
    assert len(found) - len(threads) <= 117
=======
    """A turn runs through at most 66 functions of the threads room and 96 of the others."""
    found = functions("turn")
    threads = [one for one in found if one.path.startswith("threads/")]

    assert len(threads) <= 66
    assert len(found) - len(threads) <= 96
>>>>>>> 10e3c2adadc46b680f3ebbaf23cd1f2a99cfa6b7


@pytest.mark.source
def test_a_commit_is_short() -> None:
    """A commit runs through at most 45 functions, from the thread to the file."""
    assert len(functions("commit")) <= 45
