"""
The first fold of a long history: from a list of dictionaries to the view.

The peer is LangChain's `trim_messages` (approximate tokens), given the same dictionaries, and given
its own message objects, made beforehand. `text` and the other kinds of lists drop the old messages, as
`trim_messages` does: each item is read, counted and hashed in it. `history` does so from a `History`,
which has hashed and counted each message when it was appended. In `summary` a scripted summarizer
answers at once: what code reads for the record beside its text, and the review of that text, are in it.
In `with_digest` code writes it all. `second` is the next call with the same list: the first one keeps
bytes of it, and this one makes the copies that all later calls are compared with.

Goals: growth exponent at most 1.05 from 1,000 to 8,000 messages; at most 1.2 times the processor time
of `trim_messages`, given either, both for what is dropped and for what is summarized.
"""

import gc
import statistics
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

from bench import measure, plain_lists, prepare, workload
from bench.messages import message_of
from bench.peers.child import Child, peers
from bench.peers.timed import timed
from foldline import History, HistoryReducer, HistoryReductionConfig


SIZES = (1_000, 2_000, 4_000, 8_000)
ROUNDS = 7
DROPPING = HistoryReductionConfig(
    enabled=True,
    strategy="message_counting",
    counting_unit="messages",
    target_count=prepare.KEEP,
    summarization_threshold=prepare.SLACK,
)

_NAMES = {
    "summary": "dictionaries (text), with a summary by a model",
    "history": "a History (text), dropped",
}


def _once(work: Callable[[], object]) -> float:
    gc.collect()
    return timed(work, times=1)[0]


class Fold(NamedTuple):
    """The seconds of a fold, of the next call, and of a trim of dictionaries and of objects."""

    ours: float
    second: float
    dictionaries: float | None = None
    objects: float | None = None


def _lists(kind: str, peer: Child | None) -> list[Fold]:
    """Return the median seconds at each size, measured in turns."""
    lists = {size: plain_lists.KINDS[kind](size) for size in SIZES}
    rounds: dict[int, list[tuple[float, ...]]] = {size: [] for size in SIZES}
    # Sizes alternate, or drift would be growth.
    for _, size in product(range(ROUNDS), SIZES):
        theirs = _trimmed(size, kind, peer)
        rounds[size].append((*_twice(lists[size]), *theirs))
    return [Fold(*map(statistics.median, zip(*rounds[size], strict=True))) for size in SIZES]


def _trimmed(size: int, kind: str, peer: Child | None) -> list[float]:
    if peer is None or kind not in plain_lists.PEER_KINDS:
        return []
    peer.ask("load", kind, size)
    return [peer.ask(name, 1) for name in ("trim_dictionaries", "trim")]


def _twice(items: list[dict[str, Any]]) -> tuple[float, float]:
    reducer = HistoryReducer(DROPPING)
    first = _once(lambda: reducer.reduce_sync(items))
    return first, _once(lambda: reducer.reduce_sync(items))


def run() -> dict[str, Any]:
    """Measure the first fold at all sizes, and the peer where its environment exists."""
    figures: dict[str, Any] = {"sizes": list(SIZES)}
    peer = peers({"langchain": "bench.peers.langchain_lists"}).get("langchain")
    kept = [_kept(size) for size in SIZES]
    summary = [_summarized(size) for size in SIZES]
    for kind in plain_lists.KINDS:
        rows = _lists(kind, peer)
        figures |= _figures(kind, [row.ours for row in rows], rows)
        figures[f"{kind}_second_ms"] = [row.second * 1e3 for row in rows]
        if kind == "text":
            figures |= _figures("history", kept, rows) | _figures("summary", summary, rows)
    if peer is not None:
        peer.close()
    return figures | {"with_digest_ms": _once(_with_digest) * 1e3}


def _figures(name: str, ours: Sequence[float], rows: Sequence[Fold]) -> dict[str, Any]:
    objects = [row.objects for row in rows]
    dictionaries = [row.dictionaries for row in rows]
    return {
        f"{name}_ms": [one * 1e3 for one in ours],
        f"{name}_exponent": measure.exponent(SIZES, ours),
        f"{name}_times_trim_of_dictionaries": _times(ours, dictionaries),
        f"{name}_times_trim_of_objects": _times(ours, objects),
    }


def _times(ours: Sequence[float], theirs: Sequence[float | None]) -> list[float | None]:
    return [their and one / their for one, their in zip(ours, theirs, strict=True)]


def _kept(size: int) -> float:
    history = History(map(message_of, workload.texts(size)))

    def folds() -> int:
        for _ in range(20):
            HistoryReducer(DROPPING).reduce_sync(history)
        return 20

    return measure.rounds(folds)


def _summarized(size: int) -> float:
    items = plain_lists.text(size)
    return statistics.median(
        _once(lambda: prepare.reducer_of().reduce_sync(items)) for _ in range(3)
    )


def _with_digest() -> None:
    HistoryReducer(prepare.CONFIG).reduce_sync(plain_lists.text(SIZES[-1]))


def goals(figures: dict[str, Any]) -> list[tuple[str, float | None, float]]:
    """Return each goal: what, the figure (None if there was no peer), and the most it may be."""
    rows: list[tuple[str, float | None, float]] = []
    for name in (*plain_lists.KINDS, "summary", "history"):
        what = f"the first fold, {_NAMES.get(name, f'dictionaries ({name}), dropped')}"
        if name != "history":
            rows.append((f"{what}, growth exponent", figures[f"{name}_exponent"], 1.05))
        for given in () if name == "responses" else ("dictionaries", "objects"):
            times = prepare.worst(figures[f"{name}_times_trim_of_{given}"])
            rows.append((f"{what}, times trim_messages of {given} (worst size)", times, 1.2))
    return rows
