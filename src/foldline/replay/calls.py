"""The slider over the model calls of a session, as a part of a page of HTML."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from sys import maxsize

from foldline.replay.inspection_page import plain_text
from foldline.replay.picture import LEFT, RANK, RIGHT, mark_of
from foldline.replay.record import ReplayReport


__all__ = ["MOST_STOPS", "stepper"]


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
        "edges": f"{LEFT},{RIGHT}",
        "marks": "|".join(_MARKS[mark] for mark in RANK),
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
    cuts = _cuts(report)
    view = ["" if call is None else str(call.view_tokens) for call in calls]
    folded = [cuts[bisect_right(cuts, (number, maxsize)) - 1][1] for number in stops]
    marks = ["full" if call is None else mark_of(call) for call in calls]
    shown = (f"{int(view[-1]):,}" if view[-1] else "-", f"{folded[-1]:,}", _MARKS[marks[-1]])
    cells = "".join(
        f'<td data-label="{title}">{text}</td>' for title, text in zip(_TITLES, shown, strict=True)
    )
    return (
        f'<tr data-view="{_listed(view)}" data-cut="{_listed(folded)}" '
        f'data-mark="{"".join(str(RANK.index(mark)) for mark in marks)}">'
        f'<th scope="row">{plain_text(report.name)}</th>{cells}</tr>'
    )


def _cuts(report: ReplayReport) -> list[tuple[int, int]]:
    """Return from which call on how many messages are folded away."""
    made = (call for call in report.calls if call.status == "performed")
    folds = ((call.number, call.fold.cut) for call in made if call.fold is not None)
    return [(0, 0), *folds]


def _listed(numbers: Sequence[int | str]) -> str:
    return ",".join(map(str, numbers))
