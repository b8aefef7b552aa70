"""What follows when a vendor refuses a view as too long."""

from foldline.guests.refusals import Refusals


def folded(*sent: int) -> list[bool]:
    """Return for each view of *sent* tokens, which a vendor refuses, whether one more is made."""
    refusals = Refusals()
    return [refusals.after(one) is not None for one in sent]


def test_each_refused_view_is_folded_to_a_quarter() -> None:
    """Of what was sent, and not of what was sent first."""
    refusals = Refusals()
    made = [refusals.after(one) for one in (64_000, 16_000)]

    assert [one and one.history_reduction_target_override for one in made] == [16_000, 4_000]


def test_three_views_are_folded_and_none_that_came_to_be_no_smaller() -> None:
    """What nobody makes smaller is not sent for ever."""
    assert folded(64_000, 16_000, 4_000, 1_000) == [True, True, True, False]
    assert folded(64_000, 64_000) == [True, False]
