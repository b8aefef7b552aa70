"""How many functions of ours a reader of one call has to open."""

import pytest

from bench.functions import functions


@pytest.mark.source
def test_a_plain_turn_is_short() -> None:
    """Beside the room of threads, a turn of an agent runs through at most 83 functions."""
    others = [one for one in functions("turn") if not one.path.startswith("threads/")]

    assert len(others) <= 83
