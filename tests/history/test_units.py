"""The units of counting."""

from foldline.history.units import COUNTING_UNITS


def test_there_are_three_units() -> None:
    """The names of the units are those that configurations hold."""
    assert COUNTING_UNITS == ("messages", "exchanges", "tokens")
