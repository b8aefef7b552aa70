"""How often tools were called, as records say it one after the other."""

from collections import Counter

import pytest

from foldline.reduction.call_counts import NOTHING, CallCounts, calls_of, is_counts
from foldline.reduction.record import Counts, Section, SummaryRecord


def record(*lines: str, **counts: int) -> SummaryRecord:
    return SummaryRecord(Counts(counts or {"user": 2, "tool": 3}), {Section.TOOLS: lines})


ALL = record("counts: look 2, set limit 1")


@pytest.mark.parametrize(
    ("records", "line"),
    [
        ([], ""),
        ([ALL], "counts: look 2, set limit 1"),
        ([ALL, record("look a: 1", "counts: pay 3, look 1")], "counts: look 3, pay 3, set limit 1"),
        ([ALL, record(user=3, assistant=4), ALL], "counts: look 4, set limit 2"),
        ([ALL, record("look a: 1")], ""),
        ([record("look a: 1"), ALL], "counts of the last 5 messages: look 2, set limit 1"),
        ([record(other=7), ALL], "counts of the last 5 messages: look 2, set limit 1"),
        (
            [record("counts: look 2, …"), record("counts: look 1", tool=1)],
            "counts of the last 1 message: look 1",
        ),
        (
            [ALL, record("counts of the last 2 messages: pay 1")],
            "counts of the last 2 messages: pay 1",
        ),
        (
            [record("counts of the last 2 messages: pay 1"), ALL],
            "counts of the last 7 messages: look 2, pay 1, set limit 1",
        ),
        (
            [record("counts: pay 1", "counts: pay 2"), ALL],
            "counts of the last 5 messages: look 2, set limit 1",
        ),
    ],
)
def test_counts_say_what_they_count(records: list[SummaryRecord], line: str) -> None:
    """What a record has no counts of is counted by none after it, and these say so."""
    assert calls_of(records).line == line
    assert is_counts(line) is bool(line)


def test_counts_of_new_calls_are_added() -> None:
    """Calls that come after a record are counted with those that it counts, or alone."""
    new = CallCounts(calls=Counter(pay=2), messages=4)

    assert calls_of([ALL]).then(new).line == "counts: look 2, pay 2, set limit 1"
    assert calls_of([record(other=3)]).then(new).line == "counts of the last 4 messages: pay 2"
    assert NOTHING.then(new) == new
