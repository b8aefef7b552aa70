"""How many functions of ours a reader of one call has to open."""

import pytest

from bench.functions import functions


@pytest.mark.source
def test_a_plain_turn_is_short() -> None:
    """A turn runs through at most 74 functions of the threads room and 112 of the others."""
    found = functions("turn")
    threads = [one for one in found if one.path.startswith("threads/")]

    assert len(threads) <= 74
    assert len(found) - len(threads) <= 112


@pytest.mark.source
def test_a_commit_is_short() -> None:
    """A commit runs through at most 46 functions, from the thread to the file."""
    assert len(functions("commit")) <= 46
