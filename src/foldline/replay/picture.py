"""Pictures of replays: views over one another, what was done at each call, and a slider over calls."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import ceil, log10
from sys import maxsize
from typing import Literal, TypeAlias

from foldline.replay.numbers import plain_text
from foldline.replay.record import CallRecord, ReplayReport


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
# Where the first and the last call are in an overlay.
_LEFT, _RIGHT = 60, 588
_WIDTH, _HEIGHT = 600, 240
_TOP, _BOTTOM = 12, 210
_STRIP_HEIGHT = 8
_LABEL_ROW = 232
_STEPS = 4


MOST_CURVES = 8
"""How many views one picture shows over one another; as many have a color of their own."""

MOST_STOPS = 400
"""At how many calls a slider stops at most."""

_TITLES = ("tokens sent", "messages folded", "how")
_MARKS = {
    "invalid": "invalid request",
    "failed": "fold failed or not possible",
    "fold": "new reduction",
    "hit": "cached reduction",
    "full": "all of it",
}


def overlay(reports: Sequence[ReplayReport], *, id: str, label: str, top: int) -> str:
    """Return the views of *reports* over one another as an SVG element; *label* is markup."""
    canvas = _Canvas(reports[0].calls, max(1, top))
    drawn = list(enumerate(reports[:MOST_CURVES], start=1))
    said = "; ".join(f"curve {n}: peak {one.totals.peak_tokens:,} tokens" for n, one in drawn)
    curves = (canvas.curve(one.calls, f"curve-{number}") for number, one in drawn)
    return _svg(id, label, said, (*canvas.grid(), *curves, *canvas.numbers(), canvas.cursor()))


def marks_of(report: ReplayReport, *, id: str, label: str) -> str:
    """Return what was done at each call of *report*, from left to right, as an SVG element."""
    marks = strip(report.calls)
    width = _WIDTH / max(1, len(marks))
    cells: list[str] = []
    at = 0
    for mark, run in groupby(marks):
        length = len(list(run))
        cells.append(
            f'<rect class="{mark}" x="{at * width:.1f}" y="0" width="{length * width:.1f}" '
            f'height="{_STRIP_HEIGHT}"/>'
        )
        at += length
    said = ", ".join(f"{count:,} {mark}" for mark, count in Counter(marks).items())
    return _svg(id, label, f"Of {len(marks):,} marks: {said}", cells, height=_STRIP_HEIGHT)


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

    def curve(self, calls: Sequence[CallRecord], kind: str) -> str:
        """Return the views of *calls* as a curve."""
        last = max(1, len(self._calls) - 1)
        points = " ".join(
            f"{_LEFT + (number - 1) / last * (_RIGHT - _LEFT):.1f},{self._y(size):.1f}"
            for number, size in thinned([(call.number, call.view_tokens) for call in calls])
        )
        return f'<polyline class="{kind} curve" points="{points}"/>'

    def cursor(self) -> str:
        """Return the line that a script moves along the calls."""
        return f'<line class="cursor" x1="{_RIGHT}" x2="{_RIGHT}" y1="{_TOP}" y2="{_BOTTOM}"/>'

    def numbers(self) -> Iterator[str]:
        """Yield the numbers of the first and the last call."""
        yield f'<text class="label" x="{_LEFT}" y="{_LABEL_ROW}">call 1</text>'
        last = f"call {len(self._calls):,}"
        yield f'<text class="label end" x="{_RIGHT}" y="{_LABEL_ROW}">{last}</text>'

    def _y(self, tokens: int) -> float:
        return _BOTTOM - tokens / self._top * (_BOTTOM - _TOP)

    def grid(self) -> Iterator[str]:
        """Yield the lines and sizes that curves are drawn over."""
        for tokens in range(0, self._top + 1, self._step):
            y = self._y(tokens)
            yield f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            label = _short(tokens)
            yield f'<text class="label end" x="{_LEFT - 6}" y="{y + 4:.1f}">{label}</text>'


def thinned(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return at most `MOST_POINTS` of *points*: of each stretch its lowest and highest, so peaks stay."""
    if len(points) <= MOST_POINTS:
        return tuple(points)
    width = -(-len(points) // ((MOST_POINTS - 2) // 2))
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


def stepper(reports: Sequence[ReplayReport]) -> Iterator[str]:
    """Yield a slider, and a table of what each of *reports* did at the call where it stands: the last."""
    calls = reports[0].calls
    if not calls:
        return
    width = -(-len(calls) // MOST_STOPS)
    # The last call is always one of them.
    stops = [call.number for call in calls[::-width]][::-1]
    data = {
        "stops": _listed(stops),
        "said": _listed([calls[number - 1].position for number in stops]),
        "calls": str(len(calls)),
        "edges": f"{_LEFT},{_RIGHT}",
        "marks": "|".join(_MARKS[mark] for mark in _RANK),
    }
    fields = " ".join(f'data-{name}="{value}"' for name, value in data.items())
    yield f'<div class="stepper" {fields}><label hidden><span>Step through the calls</span>'
    last = len(stops) - 1
    yield f'<input type="range" min="0" max="{last}" value="{last}"></label><table class="cards">'
    yield f"<caption>At call <output>{stops[-1]:,}</output> of {len(calls):,}</caption><thead><tr>"
    yield "".join(f'<th scope="col">{title}</th>' for title in ("configuration", *_TITLES))
    yield "</tr></thead><tbody>"
    for report in reports:
        yield _row(report, stops)
    yield "</tbody></table></div>"


def _row(report: ReplayReport, stops: Sequence[int]) -> str:
    """Return what *report* did at each of *stops*, of which the last is shown."""
    known = {call.number: call for call in report.calls}
    calls = [known.get(number) for number in stops]
    made = (one for one in report.calls if one.status == "performed")
    # From which call on how many messages are folded away.
    cuts = [(0, 0), *((one.number, one.fold.cut) for one in made if one.fold is not None)]
    view = ["" if call is None else str(call.view_tokens) for call in calls]
    folded = [cuts[bisect_right(cuts, (number, maxsize)) - 1][1] for number in stops]
    marks = ["full" if call is None else mark_of(call) for call in calls]
    shown = (f"{int(view[-1]):,}" if view[-1] else "-", f"{folded[-1]:,}", _MARKS[marks[-1]])
    cells = "".join(
        f'<td data-label="{title}">{text}</td>' for title, text in zip(_TITLES, shown, strict=True)
    )
    return (
        f'<tr data-view="{_listed(view)}" data-cut="{_listed(folded)}" '
        f'data-mark="{"".join(str(_RANK.index(mark)) for mark in marks)}">'
        f'<th scope="row">{plain_text(report.name)}</th>{cells}</tr>'
    )


def _listed(numbers: Sequence[int | str]) -> str:
    return ",".join(map(str, numbers))
