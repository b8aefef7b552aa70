"""What the section of tool calls offers: counts, the last calls with their answers, and failures."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.providers.digest.outline import FAILED, Item
from foldline.providers.digest.span import Json, json_leaves
from foldline.providers.digest.text import one_line, shorten
from foldline.providers.digest.tool_use import Facts, ToolUse


__all__ = ["offer_calls"]


_MOST = 40
_COUNTS = "counts: "
_ARROW = " -> "
_VALUE_LENGTH = 100
_CALL_LENGTH = 200
_ANSWER_LENGTH = 120
_READ_LENGTH = 2_000
# What tables are drawn with.
_RULED = re.compile(r"[-+=_*~─━═│┼|]{4,}")


def offer_calls(
    uses: Sequence[ToolUse], facts: Sequence[Facts], *, prior: Sequence[str]
) -> list[Item]:
    """
    Offer the counts, then last calls and failures alternately, the newest first.

    Of equal calls only the last one stays: what it answered is what holds, and that it failed before
    is past. A call that another section tells, such as the change of a file, is only counted.
    """
    counts = _prior_counts(prior) + Counter(use.name for use in uses if use.name)
    newest = list(zip(uses, facts, strict=True))[-_MOST:]
    last = {_describe(use).partition(_ARROW)[0]: use.failure for use, _ in newest if use.name}
    failed = [line for line in prior if line.startswith(FAILED)]
    failed += [_failure(use) for use in uses if use.failure]
    failed = [line for line in failed if last.get(_call_of(line)) != ""]
    new = [(use, one) for use, one in newest if use.name and not (use.failure or one.files)]
    said = {_describe(use): _answer(use, one) for use, one in new}
    called = [line for line in prior if not line.startswith((FAILED, _COUNTS))]
    called = [line for line in called if line.partition(_ARROW)[0] not in said]
    called += [f"{call}{_ARROW}{answer}" if answer else call for call, answer in said.items()]
    pairs = zip_longest(_newest(called), _newest(failed))
    lines = [line for pair in pairs for line in pair if line]
    items = [Item(line, _MOST * 2 - rank) for rank, line in enumerate(lines)]
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    listed = _COUNTS + ", ".join(f"{name} {count}" for name, count in ranked)
    return [Item(listed, 0), *items] if counts else items


def _call_of(line: str) -> str:
    return line.removeprefix(FAILED).partition(_ARROW)[0]


def _newest(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reversed([line for line in lines if line])))[: _MOST // 2]


def _prior_counts(prior: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in prior:
        if line.startswith(_COUNTS):
            for pair in line.removeprefix(_COUNTS).split(", "):
                name, _, count = pair.rpartition(" ")
                counts[name] += int(count) if count.isdecimal() else 0
    return counts


def _describe(use: ToolUse) -> str:
    pairs = (
        f"{argument.label}: {shorten(one_line(argument.value), limit=_VALUE_LENGTH)}"
        for argument in use.arguments
    )
    return shorten(one_line(f"{use.name} {'; '.join(pairs)}"), limit=_CALL_LENGTH)


def _failure(use: ToolUse) -> str:
    call = f"{_describe(use)}{_ARROW}" if use.name else ""
    return f"{FAILED}{call}{use.failure}"


def _answer(use: ToolUse, facts: Facts) -> str:
    if facts.result is not None:
        return one_line(facts.result)
    text = use.result[:_READ_LENGTH]
    if use.result.lstrip()[:1] in {"{", "["}:
        text = _values(use.result)
    return shorten(one_line(_RULED.sub(" ", text)), limit=_ANSWER_LENGTH)


def _values(text: str) -> str:
    """Return the values of a JSON text one after the other, without its keys."""
    try:
        value: Json = decode_json(text)
    except (FormatError, RecursionError):
        return text[:_READ_LENGTH]
    return " ".join(dict.fromkeys(leaf for _, leaf in json_leaves("", value)))
