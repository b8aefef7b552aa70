"""
How often each tool was called, as a line of a record says it.

A record may have had no room for the line. Then the next one begins to count, and says in how many
messages it did: a number is never taken for that of all messages if it is not.
"""

import re
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from foldline.reduction.record import Section, SummaryRecord


_READ = re.compile(r"counts(?: of the last (\d{1,12}) messages?)?: (.*)").fullmatch
_PAIR = re.compile(r"(.+) (\d{1,12})").fullmatch


class CallCounts(Struct, frozen=True, kw_only=True):
    """How often each tool was called in the last *messages* of a span."""

    calls: Counter[str]
    """The number of calls of each tool."""

    messages: int
    """In how many messages they are counted."""

    is_whole: bool = True
    """Whether these are all messages of the span."""

    def then(self, later: "CallCounts") -> "CallCounts":
        """Return the counts of this span and the *later* one together."""
        if not later.is_whole:
            return later
        return CallCounts(
            calls=self.calls + later.calls,
            messages=self.messages + later.messages,
            is_whole=self.is_whole,
        )

    @property
    def line(self) -> str:
        """The counts as an item of a record, most calls first; empty without a call."""
        if not +self.calls:
            return ""
        ranked = sorted((+self.calls).items(), key=lambda pair: (-pair[1], pair[0]))
        noun = "message" if self.messages == 1 else "messages"
        scope = "" if self.is_whole else f" of the last {self.messages} {noun}"
        return f"counts{scope}: " + ", ".join(f"{name} {count}" for name, count in ranked)


NOTHING = CallCounts(calls=Counter(), messages=0)
"""The counts of no messages."""

UNKNOWN = CallCounts(calls=Counter(), messages=0, is_whole=False)
"""The counts of messages of which nothing is known."""


def is_counts(line: str) -> bool:
    """Whether *line* of a record says how often tools were called."""
    return _READ(line) is not None


def calls_of(records: Iterable[SummaryRecord]) -> CallCounts:
    """Return the counts of *records*, oldest first."""
    found = NOTHING
    for record in records:
        found = found.then(_calls(record))
    return found


def _calls(record: SummaryRecord) -> CallCounts:
    total = record.counts.total()
    matches = [match for line in record.lines(Section.TOOLS) if (match := _READ(line))]
    if not matches:
        # Without its roles a record does not say whether a tool has answered.
        has_none = not (record.counts["tool"] or record.counts["other"])
        return CallCounts(calls=Counter(), messages=total) if has_none else UNKNOWN
    last, listed = matches[0][1], matches[0][2].split(", ")
    pairs = [pair for pair in map(_PAIR, listed) if pair]
    calls = Counter({pair[1]: int(pair[2]) for pair in pairs})
    # What was cut does not say what it no longer names.
    if len(matches) > 1 or len(calls) < len(listed):
        return UNKNOWN
    return CallCounts(calls=calls, messages=int(last or total), is_whole=last is None)
