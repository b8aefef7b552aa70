"""What the section of tool calls offers: what was changed, counts, the other calls, and failures."""

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import zip_longest

from msgspec import Struct

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.parts import ToolCallPart
from foldline.providers.digest.outline import FAILED, Item
from foldline.providers.digest.span import Json, json_leaves
from foldline.providers.digest.text import one_line, shorten
from foldline.providers.digest.tool_use import Facts, ToolUse
from foldline.reduction.call_counts import CallCounts, is_counts
from foldline.reduction.tools import changes


_MOST = 40
_ARROW = " -> "
_PART, _SAYS = "; ", ": "
_VALUE_LENGTH = 100
# How long a call and its answer may be; with few tokens two short lines say more than a long one.
_LENGTHS = (140, 80)
_SHORT_LENGTHS = (80, 40)
_SMALL = 700
_READ_LENGTH = 2_000
# A tool that has at most such a part of all calls is called seldom.
_SELDOM = 10
# So many lines for each rank that has some come before the counts.
_BEFORE_COUNTS = (2, 1, 0)
# Beside the text of an error they say nothing.
_FLAGS = frozenset({"true", "false"})
# What tables are drawn with.
_RULED = re.compile(r"[-+=_*~─━═│┼|]{4,}")


class _Line(Struct, frozen=True):
    text: str
    place: int
    """The place of its call among all."""
    rank: int
    """How much comes before it: 0 is for what matters most."""


def offer_calls(
    uses: Sequence[ToolUse],
    facts: Sequence[Facts],
    *,
    prior: Sequence[str],
    counts: CallCounts,
    budget: int,
) -> list[Item]:
    """
    Offer what has changed something or failed, the newest first, then *counts*, then what was only read.

    What a tool did that is called seldom comes before that of one that is called all the time. Of equal
    calls only the last one stays: what it answered is what holds, and that it failed before is past. A
    call that another section tells, such as the change of a file or a list of tasks, is only counted.

    Args:
        uses: The calls, oldest first.
        facts: What each of them shows.
        prior: The lines of earlier records, oldest first.
        counts: How often each tool was called, with what the earlier records tell of it.
        budget: How many tokens the record may have.
    """
    most, most_said = _SHORT_LENGTHS if budget < _SMALL else _LENGTHS
    last = {(use.name, use.arguments): use for use in uses if use.name}
    newest = [
        (place, use, one)
        for place, (use, one) in enumerate(zip(uses, facts, strict=True), len(prior))
        if not use.name or last[use.name, use.arguments] is use
    ]
    again = {_describe(use, most) for _, use, _ in newest[-_MOST:] if use.name}
    lines = {
        _call_of(text): _Line(text, place, _rank_of_line(text, counts.calls))
        for place, text in enumerate(prior)
        if not is_counts(text) and _call_of(text) not in again
    }
    ranked = [
        (_rank_of(use, counts.calls), -place, use, one)
        for place, use, one in newest
        if use.failure or (use.name and not one.files and (one.result or not one.has_tasks))
    ]
    for rank, place, use, one in sorted(ranked, key=lambda each: each[:2])[:_MOST]:
        call = _describe(use, most) if use.name else ""
        said = _failure(use.failure) if use.failure else _answer(use, one, most_said)
        text = FAILED * bool(use.failure) + _ARROW.join(filter(None, (call, said)))
        known = lines.get(_call_of(text))
        if known is None or known.place < -place:
            lines[_call_of(text)] = _Line(text, -place, rank)
    return _offer(lines.values(), counts.line)


def _offer(lines: Iterable[_Line], counts: str) -> list[Item]:
    """Offer *lines* by their ranks: of one rank what was done and what failed in turn."""
    newest = sorted(lines, key=lambda line: (line.rank, -line.place))
    found: list[Item] = []
    before = 0
    for rank in sorted({line.rank for line in newest}):
        same = [Item(line.text, line.place + 1) for line in newest if line.rank == rank]
        done = [item for item in same if not item.text.startswith(FAILED)]
        failed = [item for item in same if item.text.startswith(FAILED)]
        found.extend(item for pair in zip_longest(done, failed) for item in pair if item)
        before += min(len(same), _BEFORE_COUNTS[rank])
    shown = found[:_MOST]
    return [*shown[:before], Item(counts, 0), *shown[before:]] if counts else shown


def _rank_of(use: ToolUse, calls: Counter[str]) -> int:
    given = {one.label: one.value[:_READ_LENGTH] for one in use.arguments}
    return _rank(use.name, given, calls, has_failed=bool(use.failure))


def _rank_of_line(line: str, calls: Counter[str]) -> int:
    has_failed = line.startswith(FAILED)
    call = "" if has_failed and _ARROW not in line else _call_of(line)
    name, _, given = call.partition(" ")
    pairs = {
        label: value for label, _, value in (one.partition(_SAYS) for one in given.split(_PART))
    }
    return _rank(name, pairs, calls, has_failed=has_failed)


def _rank(name: str, given: Mapping[str, str], calls: Counter[str], *, has_failed: bool) -> int:
    is_seldom = bool(name) and calls[name] * _SELDOM <= calls.total()
    matters = has_failed or changes(ToolCallPart("", name, json.dumps(given)))
    return 2 - is_seldom - matters


def _call_of(line: str) -> str:
    return line.removeprefix(FAILED).partition(_ARROW)[0]


def _describe(use: ToolUse, limit: int) -> str:
    pairs = (
        f"{argument.label}{_SAYS}{shorten(one_line(argument.value), limit=_VALUE_LENGTH)}"
        for argument in use.arguments
    )
    return shorten(one_line(f"{use.name} {_PART.join(pairs)}"), limit=limit)


def _failure(line: str) -> str:
    said = _values(line, without=_FLAGS) if line.startswith("{") else ""
    return one_line(said) or line


def _answer(use: ToolUse, facts: Facts, limit: int) -> str:
    if facts.result is not None:
        return one_line(facts.result)
    text = use.result[:_READ_LENGTH]
    if use.result.lstrip()[:1] in {"{", "["}:
        text = _values(use.result)
    return shorten(one_line(_RULED.sub(" ", text)), limit=limit)


def _values(text: str, *, without: Container[str] = ()) -> str:
    """Return the values of a JSON text one after the other, without its keys."""
    try:
        value: Json = decode_json(text)
    except (FormatError, RecursionError):
        return text[:_READ_LENGTH]
    found = dict.fromkeys(leaf for _, leaf in json_leaves("", value))
    return " ".join(leaf for leaf in found if leaf not in without)
