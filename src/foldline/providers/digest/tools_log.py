"""What was called: counts for each tool, the last calls, and the calls that failed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from foldline.providers.digest.failures import failure_of
from foldline.providers.digest.selection import Item
from foldline.providers.digest.text import one_line, shorten
from foldline.providers.digest.transcript import Call, Transcript


__all__ = ["offer_calls"]


_MOST = 40
_COUNTS = "counts: "
_FAILED = "failed: "
_ARROW = " -> "
_VALUE_LENGTH = 100
_CALL_LENGTH = 200


def offer_calls(transcript: Transcript, *, prior: Sequence[str]) -> list[Item]:
    """
    Offer the counts, then failures and last calls in turn, the newest first.

    Args:
        prior: The lines of the tool sections that are absorbed, oldest first.
    """
    counts = _prior_counts(prior) + Counter(call.name for call in transcript.calls)
    failed = [line for line in prior if line.startswith(_FAILED)]
    failed += _failures(transcript)
    known = [line for line in prior if not line.startswith((_FAILED, _COUNTS))]
    called = known + [_describe(call) for call in transcript.calls[-_MOST:]]
    lines = _interleave(_newest(called), _newest(failed))
    items = [Item(line, _MOST * 2 - rank) for rank, line in enumerate(lines)]
    if not counts:
        return items
    return [Item(_write_counts(counts), 0), *items]


def _newest(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reversed([line for line in lines if line])))[: _MOST // 2]


def _interleave(first: Sequence[str], second: Sequence[str]) -> list[str]:
    pairs = zip(first, second, strict=False)
    shorter = min(len(first), len(second))
    return [*(line for pair in pairs for line in pair), *first[shorter:], *second[shorter:]]


def _write_counts(counts: Counter[str]) -> str:
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return _COUNTS + ", ".join(f"{name} {count}" for name, count in ranked)


def _prior_counts(prior: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in prior:
        if line.startswith(_COUNTS):
            for pair in line.removeprefix(_COUNTS).split(", "):
                name, _, count = pair.rpartition(" ")
                counts[name] += int(count) if count.isdecimal() else 0
    return counts


def _describe(call: Call) -> str:
    pairs = (
        f"{argument.label}: {shorten(one_line(argument.value), limit=_VALUE_LENGTH)}"
        for argument in call.arguments
    )
    return shorten(one_line(f"{call.name} {'; '.join(pairs)}"), limit=_CALL_LENGTH)


def _failures(transcript: Transcript) -> Iterator[str]:
    calls = iter(transcript.calls)
    coming = next(calls, None)
    open_calls: dict[str, Call] = {}
    for result in transcript.results:
        # An id may come again: a result answers the last call of its id that stands before it.
        while coming is not None and coming.position < result.position:
            open_calls[coming.id] = coming
            coming = next(calls, None)
        error = failure_of(result.text, is_marked=result.is_error)
        if error:
            call = open_calls.get(result.id) if result.id else None
            yield f"{_FAILED}{_describe(call)}{_ARROW}{error}" if call else _FAILED + error
