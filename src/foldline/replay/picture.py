"""A picture of one replay: history against view, in tokens, over the model calls of a session."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import ceil, log10
from typing import Literal, TypeAlias

from foldline.replay.record import CallRecord, ReplayReport


__all__ = [
    "MOST_CURVES",
    "MOST_POINTS",
    "Mark",
    "Point",
    "draw",
    "mark_of",
    "overlay",
    "strip",
    "thinned",
]


MOST_POINTS = 300
"""How many points a curve has at most."""

Point: TypeAlias = tuple[int, int]
"""The number of a call, and tokens."""

Mark: TypeAlias = Literal["invalid", "failed", "fold", "hit", "full"]
"""
What a cell of a strip shows, the most notable first.

`invalid`: a request that a vendor would refuse. `failed`: a fold that failed or was not possible.
`fold`: a new reduction. `hit`: a cached one. `full`: the full history.
"""

_RANK: tuple[Mark, ...] = ("invalid", "failed", "fold", "hit", "full")
_MOST_MARKS = 150

_WIDTH, _HEIGHT = 600, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 588, 12, 190
_FOLD_ROW, _STRIP_TOP, _STRIP_HEIGHT = 200, 208, 12
_LABEL_ROW = 238
_STEPS = 4


def draw(report: ReplayReport, *, id: str, label: str, description: str, top: int) -> str:
    """
    Return *report* as an SVG element.

    Args:
        report: What to draw.
        id: What the ids inside the element begin with; unique on a page.
        label: The title, as markup.
        description: What prepared the requests, as markup.
        top: The tokens that the picture reaches up to.
    """
    totals = report.totals
    full = max((call.full_tokens for call in report.calls), default=0)
    said = (
        f"{description}. Over {totals.calls:,} model calls the history grows to {full:,} tokens; "
        f"the largest view has {totals.peak_tokens:,}, the mean view {totals.mean_tokens:,.0f}. "
        f"{totals.folds:,} folds."
    )
    return _svg(id, label, said, _Canvas(report.calls, max(1, top)).elements())


MOST_CURVES = 8
"""How many views one picture shows over one another; as many have a color of their own."""


def overlay(reports: Sequence[ReplayReport], *, id: str, label: str, top: int) -> str:
    """Return the views of *reports* over one another as an SVG element; *label* is markup."""
    canvas = _Canvas(reports[0].calls, max(1, top))
    said = "; ".join(
        f"curve {n}: peak {one.totals.peak_tokens:,} tokens" for n, one in _curves(reports)
    )
    curves = (canvas.curve(one.calls, f"curve-{number}") for number, one in _curves(reports))
    return _svg(
        id,
        label,
        said,
        (*canvas.grid(), *curves, *canvas.numbers(_FOLD_ROW + 8)),
        height=_FOLD_ROW + 16,
    )


def _curves(reports: Sequence[ReplayReport]) -> Iterator[tuple[int, ReplayReport]]:
    yield from enumerate(reports[:MOST_CURVES], start=1)


def _svg(id: str, label: str, said: str, elements: Iterable[str], *, height: int = _HEIGHT) -> str:
    labels = f'aria-labelledby="{id}-title {id}-desc"'
    return "\n".join(
        (
            f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" {labels}>',
            f'<title id="{id}-title">{label}</title>',
            f'<desc id="{id}-desc">{said}</desc>',
            *elements,
            "</svg>",
        )
    )


class _Canvas:
    """The coordinates of a picture, and what is drawn in them."""

    def __init__(self, calls: Sequence[CallRecord], top: int) -> None:
        self._calls = calls
        self._step = _nice(top / _STEPS)
        self._top = self._step * ceil(top / self._step)

    def elements(self) -> Iterator[str]:
        """Yield everything inside the picture, from back to front."""
        full = thinned([(call.number, call.full_tokens) for call in self._calls])
        view = thinned([(call.number, call.view_tokens) for call in self._calls])
        yield from self.grid()
        if self._calls:
            ground = f"{self._x(len(self._calls)):.1f},{_BOTTOM} {_LEFT},{_BOTTOM}"
            for kind, points in (("history", full), ("view", view)):
                yield f'<polygon class="{kind} area" points="{self._points(points)} {ground}"/>'
        for kind, points in (("history", full), ("view", view)):
            yield f'<polyline class="{kind} curve" points="{self._points(points)}"/>'
        yield from self._folds()
        yield from self._strip()
        yield from self.numbers(_LABEL_ROW)

    def curve(self, calls: Sequence[CallRecord], kind: str) -> str:
        """Return the views of *calls* as a curve."""
        points = self._points(thinned([(call.number, call.view_tokens) for call in calls]))
        return f'<polyline class="{kind} curve" points="{points}"/>'

    def numbers(self, y: int) -> Iterator[str]:
        """Yield the numbers of the first and the last call."""
        yield f'<text class="label" x="{_LEFT}" y="{y}">call 1</text>'
        last = f"call {len(self._calls):,}"
        yield f'<text class="label end" x="{_RIGHT}" y="{y}">{last}</text>'

    def _x(self, number: int) -> float:
        return _LEFT + (number - 1) / max(1, len(self._calls) - 1) * (_RIGHT - _LEFT)

    def _y(self, tokens: int) -> float:
        return _BOTTOM - tokens / self._top * (_BOTTOM - _TOP)

    def _points(self, points: Sequence[Point]) -> str:
        return " ".join(f"{self._x(number):.1f},{self._y(size):.1f}" for number, size in points)

    def grid(self) -> Iterator[str]:
        """Yield the lines and sizes that curves are drawn over."""
        for tokens in range(0, self._top + 1, self._step):
            y = self._y(tokens)
            yield f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            label = _short(tokens)
            yield f'<text class="label end" x="{_LEFT - 6}" y="{y + 4:.1f}">{label}</text>'

    def _folds(self) -> Iterator[str]:
        folds = [call.number for call in self._calls if call.status == "performed"]
        # So many of them that their marks can be told apart.
        shown = folds[:: max(1, -(-len(folds) // _MOST_MARKS))]
        if shown:
            path = "".join(f"M{self._x(number):.1f} {_FOLD_ROW - 7}l3 6h-6z" for number in shown)
            yield f'<path class="fold mark" d="{path}"/>'

    def _strip(self) -> Iterator[str]:
        marks = strip(self._calls)
        width = (_RIGHT - _LEFT) / max(1, len(marks))
        at = 0
        for mark, run in groupby(marks):
            length = len(list(run))
            yield (
                f'<rect class="{mark}" x="{_LEFT + at * width:.2f}" y="{_STRIP_TOP}" '
                f'width="{length * width:.2f}" height="{_STRIP_HEIGHT}"/>'
            )
            at += length


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> tuple[Point, ...]:
    """Return at most *most* of *points*: of each stretch its lowest and highest, so peaks stay."""
    if len(points) <= most:
        return tuple(points)
    width = -(-len(points) // ((most - 2) // 2))
    kept = {points[0], points[-1]}
    for start in range(0, len(points), width):
        stretch = sorted(points[start : start + width], key=lambda point: point[1])
        kept |= {stretch[0], stretch[-1]}
    return tuple(sorted(kept))


def strip(calls: Sequence[CallRecord], most: int = MOST_POINTS) -> tuple[Mark, ...]:
    """Return one mark per call, or per stretch of calls its most notable one."""
    marks: list[Mark] = [mark_of(call) for call in calls]
    width = max(1, -(-len(marks) // most))
    starts = range(0, len(marks), width)
    return tuple(min(marks[start : start + width], key=_RANK.index) for start in starts)


def mark_of(call: CallRecord) -> Mark:
    """Return the mark of *call*."""
    if call.violations:
        return "invalid"
    if call.status == "failed" or call.verdict == "cannot":
        return "failed"
    if call.status == "performed":
        return "fold"
    return "hit" if call.status == "cache_hit" else "full"


def _nice(step: float) -> int:
    """Return the smallest of 1, 2, 2.5, 5 times a power of ten that is at least *step*."""
    power = 10 ** int(log10(max(1.0, step)))
    return int(next(f * power for f in (1, 2, 2.5, 5, 10) if int(f * power) >= step))


def _short(tokens: int) -> str:
    if tokens >= 1_000_000:  # noqa: PLR2004  # a million
        return f"{tokens / 1_000_000:g}M"
    return f"{tokens / 1000:g}k" if tokens >= 1000 else str(tokens)  # noqa: PLR2004  # a thousand
