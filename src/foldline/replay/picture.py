"""A picture of one replay: history against view, in tokens, over the model calls of a session."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import ceil, log10

from foldline.replay.columns import describe
from foldline.replay.curve import Mark, Point, strip, thinned
from foldline.replay.markup import markup
from foldline.replay.record import ReplayReport


__all__ = ["draw"]


_WIDTH, _HEIGHT = 600, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 588, 12, 190
_FOLD_ROW, _STRIP_TOP, _STRIP_HEIGHT = 200, 208, 12
_LABEL_ROW = 238
_STEPS = 4


def draw(report: ReplayReport, *, id: str, ceiling: int) -> str:
    """
    Return *report* as an SVG element.

    Args:
        report: What to draw.
        id: What the ids inside the element begin with; no two pictures of a page share one.
        ceiling: The tokens that the picture reaches up to.
    """
    name = markup(f"{report.name}: history against view")
    labels = f"{id}-title {id}-desc"
    return "\n".join(
        (
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{labels}">',
            f'<title id="{id}-title">{name}</title>',
            f'<desc id="{id}-desc">{markup(_description(report))}</desc>',
            *_Canvas(report, ceiling).elements(),
            "</svg>",
        )
    )


def _description(report: ReplayReport) -> str:
    totals = report.totals
    full = max((call.full_tokens for call in report.calls), default=0)
    return (
        f"{describe(report)}. Over {totals.calls:,} model calls the history grows to {full:,} "
        f"tokens; the largest view has {totals.peak_tokens:,}, the mean view "
        f"{totals.mean_tokens:,.0f}. {totals.folds:,} folds."
    )


class _Canvas:
    """The coordinates of a picture, and what is drawn in them."""

    def __init__(self, report: ReplayReport, ceiling: int) -> None:
        self._report = report
        self._calls = max(2, len(report.calls))
        self._step = _nice(max(1, ceiling) / _STEPS)
        self._top = self._step * ceil(max(1, ceiling) / self._step)

    def elements(self) -> Iterator[str]:
        """Give everything inside the picture, the hindmost first."""
        calls = self._report.calls
        full = thinned([(call.number, call.full_tokens) for call in calls])
        view = thinned([(call.number, call.view_tokens) for call in calls])
        yield from self._grid()
        yield self._area(full, "history")
        yield self._area(view, "view")
        yield self._line(full, "history")
        yield self._line(view, "view")
        yield from self._folds()
        yield from self._strip()
        yield from self._axis()

    def _x(self, number: float) -> float:
        return _LEFT + (number - 1) / (self._calls - 1) * (_RIGHT - _LEFT)

    def _y(self, tokens: float) -> float:
        return _BOTTOM - tokens / self._top * (_BOTTOM - _TOP)

    def _grid(self) -> Iterator[str]:
        for tokens in range(0, self._top + 1, self._step):
            y = self._y(tokens)
            yield f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield (
                f'<text class="label end" x="{_LEFT - 6}" y="{y + 4:.1f}">{_short(tokens)}</text>'
            )

    def _axis(self) -> Iterator[str]:
        count = len(self._report.calls)
        yield f'<text class="label" x="{_LEFT}" y="{_LABEL_ROW}">call 1</text>'
        yield (f'<text class="label end" x="{_RIGHT}" y="{_LABEL_ROW}">call {count:,}</text>')

    def _points(self, points: Sequence[Point]) -> str:
        return " ".join(f"{self._x(number):.1f},{self._y(size):.1f}" for number, size in points)

    def _area(self, points: Sequence[Point], kind: str) -> str:
        if not points:
            return ""
        ends = f"{self._x(points[-1][0]):.1f},{_BOTTOM} {self._x(points[0][0]):.1f},{_BOTTOM}"
        return f'<polygon class="{kind} area" points="{self._points(points)} {ends}"/>'

    def _line(self, points: Sequence[Point], kind: str) -> str:
        return f'<polyline class="{kind} curve" points="{self._points(points)}"/>'

    def _folds(self) -> Iterator[str]:
        marked = [call.number for call in self._report.calls if call.status == "performed"]
        path = "".join(
            f"M{self._x(number):.1f} {_FOLD_ROW - 7}l3 6h-6z" for number in _apart(marked)
        )
        if path:
            yield f'<path class="fold mark" d="{path}"/>'

    def _strip(self) -> Iterator[str]:
        marks = strip(self._report.calls)
        width = (_RIGHT - _LEFT) / max(1, len(marks))
        at = 0
        for mark, run in groupby(marks):
            length = len(list(run))
            yield _cell(mark, x=_LEFT + at * width, width=length * width)
            at += length


def _cell(mark: Mark, *, x: float, width: float) -> str:
    return (
        f'<rect class="{mark}" x="{x:.2f}" y="{_STRIP_TOP}" width="{width:.2f}" '
        f'height="{_STRIP_HEIGHT}"/>'
    )


def _apart(numbers: Sequence[int], most: int = 150) -> Sequence[int]:
    """Return *numbers*, or so many of them that their marks can be told from each other."""
    return numbers[:: -(-len(numbers) // most)] if len(numbers) > most else numbers


def _nice(step: float) -> int:
    """Return the smallest of 1, 2, 2.5, 5 times a power of ten that is at least *step*."""
    power = 10 ** int(log10(max(1.0, step)))
    return int(next(f * power for f in (1, 2, 2.5, 5, 10) if int(f * power) >= step))


def _short(tokens: int) -> str:
    if tokens >= 1_000_000:  # noqa: PLR2004  # a million
        return f"{tokens / 1_000_000:g}M"
    return f"{tokens / 1000:g}k" if tokens >= 1000 else str(tokens)  # noqa: PLR2004  # a thousand
