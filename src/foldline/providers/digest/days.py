"""Days that follow one another, written as the first `to` the last, as a table of months has them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from itertools import groupby


_LEAST = 8
_MOST = 400
_DAY = re.compile(r"\d{4}-\d\d-\d\d").fullmatch
_RUN = re.compile(r"(\d{4}-\d\d-\d\d) to (\d{4}-\d\d-\d\d)").fullmatch


def runs_of(values: Iterable[str]) -> Mapping[str, str]:
    """Return the run of each of those *values* that are days of one: at least eight in a row."""
    days = sorted(filter(None, map(_day, set(values))))
    # Days that follow one another are as far from their places.
    runs = [
        [day for _, day in run]
        for _, run in groupby(enumerate(days), lambda pair: pair[1].toordinal() - pair[0])
    ]
    return {f"{day}": f"{run[0]} to {run[-1]}" for run in runs if len(run) >= _LEAST for day in run}


def days_in(value: str) -> Iterator[str]:
    """Give the days of *value* if it is a run of some, else itself."""
    ends = _RUN(value)
    first, last = (_day(ends[1]), _day(ends[2])) if ends else (None, None)
    if first is None or last is None or not 0 < (last - first).days < _MOST:
        yield value
        return
    for passed in range((last - first).days + 1):
        yield f"{first + timedelta(days=passed)}"


def _day(value: str) -> date | None:
    if not _DAY(value):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None
