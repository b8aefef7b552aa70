"""Few points, but the right ones."""

from typing import Any

import msgspec
import pytest

from foldline.replay.picture import MOST_POINTS, mark_of, strip, thinned
from foldline.replay.record import CallRecord


CALL = CallRecord(
    number=1,
    position=1,
    verdict="skip",
    reason="",
    status="skipped",
    view_messages=1,
    view_tokens=1,
    full_tokens=1,
    kept_tokens=0,
    fresh_tokens=1,
    prior_tokens=0,
    prefix_broke=False,
)


def _call(**fields: Any) -> CallRecord:
    return msgspec.structs.replace(CALL, **fields)


def test_a_long_curve_keeps_its_ends_and_peaks() -> None:
    """A thinned curve has few points, in order, with both ends, the highest and the lowest."""
    points = [(number, number % 37) for number in range(1, 5000)]
    points[1234], points[2345] = (1235, 999), (2346, -1)

    few = thinned(points)

    assert thinned(points[:50]) == tuple(points[:50])
    assert thinned([]) == ()
    assert len(few) <= MOST_POINTS
    assert list(few) == sorted(few)
    assert {points[0], points[-1], (1235, 999), (2346, -1)} <= set(few)


@pytest.mark.parametrize(
    ("fields", "mark"),
    [
        ({}, "full"),
        ({"status": "cache_hit", "verdict": "hit"}, "hit"),
        ({"status": "performed", "verdict": "fold"}, "fold"),
        ({"status": "performed", "verdict": "halt"}, "fold"),
        ({"status": "failed", "verdict": "fold"}, "failed"),
        ({"verdict": "cannot"}, "failed"),
        ({"violations": ("wrong",), "status": "performed"}, "invalid"),
    ],
)
def test_a_call_has_one_mark(fields: dict[str, Any], mark: str) -> None:
    """What is wrong with a call wins over what was done."""
    assert mark_of(_call(**fields)) == mark


def test_a_strip_shows_the_most_notable_of_a_stretch() -> None:
    """One fold among many hits is still seen where a cell stands for several calls."""
    calls = [_call(status="cache_hit") for _ in range(1000)]
    calls[500] = _call(status="performed")

    marks = strip(calls, 100)

    assert len(marks) == 100
    assert [number for number, mark in enumerate(marks) if mark == "fold"] == [50]
    assert strip([]) == ()
