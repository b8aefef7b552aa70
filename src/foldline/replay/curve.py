"""Curves and strips with few enough points to be drawn."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from foldline.replay.record import CallRecord


__all__ = ["MOST_POINTS", "Mark", "Point", "mark_of", "strip", "thinned"]


MOST_POINTS = 300
"""How many points a curve has at most."""

Point: TypeAlias = tuple[int, int]
"""The number of a call, and tokens."""

Mark: TypeAlias = Literal["invalid", "failed", "fold", "hit", "full"]
"""
What a cell of a strip shows, the most notable first.

`invalid`: a request that a vendor would refuse. `failed`: a fold in vain, or none that was
possible. `fold`: a new reduction. `hit`: a cached one. `full`: the full history.
"""

_RANK: tuple[Mark, ...] = ("invalid", "failed", "fold", "hit", "full")


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> tuple[Point, ...]:
    """Return at most *most* of *points*: of each stretch its lowest and highest, so peaks stay."""
    if len(points) <= most:
        return tuple(points)
    width = -(-len(points) // ((most - 2) // 2))
    kept = {points[0], points[-1]}
    for start in range(0, len(points), width):
        stretch = points[start : start + width]
        kept.add(min(stretch, key=_tokens))
        kept.add(max(stretch, key=_tokens))
    return tuple(sorted(kept))


def strip(calls: Sequence[CallRecord], most: int = MOST_POINTS) -> tuple[Mark, ...]:
    """Return one mark per call, or per stretch of calls its most notable one."""
    marks: list[Mark] = [mark_of(call) for call in calls]
    width = max(1, -(-len(marks) // most))
    starts = range(0, len(marks), width)
    return tuple(_most_notable(marks[start : start + width]) for start in starts)


def _most_notable(marks: Sequence[Mark]) -> Mark:
    return next(mark for mark in _RANK if mark in marks)


def mark_of(call: CallRecord) -> Mark:
    """Return what *call* is marked with."""
    if call.violations:
        return "invalid"
    if call.status == "failed" or call.verdict == "cannot":
        return "failed"
    if call.status == "performed":
        return "fold"
    return "hit" if call.status == "cache_hit" else "full"


def _tokens(point: Point) -> int:
    return point[1]
