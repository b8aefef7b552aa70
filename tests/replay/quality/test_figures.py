"""Shares and their intervals."""

from foldline.replay.quality.figures import Share


def test_a_share_counts_all_groups() -> None:
    """Three of four are kept, whatever groups they are in."""
    share = Share(((1, 1), (2, 3)))

    assert (share.kept, share.total, share.value) == (3, 4, 0.75)


def test_a_share_of_nothing() -> None:
    """Nothing of nothing has no value and no interval."""
    assert Share(()).value is None
    assert Share(((0, 0),)).interval is None


def test_an_interval_holds_the_share_and_is_the_same_each_time() -> None:
    """The fixed seed gives one interval, which is about that of the normal distribution."""
    share = Share(((1, 1),) * 80 + ((0, 1),) * 20)

    low, high = share.interval or (0, 0)
    assert share.interval == Share(share.groups).interval
    assert abs(low - 0.72) <= 0.02
    assert abs(high - 0.88) <= 0.02


def test_values_of_one_group_count_as_one_draw() -> None:
    """Values that stand and fall together give a wider interval than independent ones."""
    together = Share(((20, 20), (0, 20), (20, 20), (20, 20), (20, 20)))
    apart = Share(((1, 1),) * 80 + ((0, 1),) * 20)

    assert together.value == apart.value
    assert _width(together) > 2 * _width(apart)


def test_an_interval_of_all() -> None:
    """If all are kept, all samples keep all."""
    assert Share(((1, 1), (2, 2))).interval == (1.0, 1.0)


def _width(share: Share) -> float:
    low, high = share.interval or (0.0, 0.0)
    return high - low
