"""
Preparing a turn on a valid cached reduction: two messages arrive, the view is wanted.

The full history is kept, tokens are counted, integrity is checked. The floor is the least that plain
Python can do the same job with: a list, a sum of characters / 4, a SHA-256 chain, and a slice. The
other rows are for callers who send plain dictionaries every time; their floor is `known == items`,
`known` being a deep copy, and their peer is LangChain's `SummarizationMiddleware.before_model` on the
same messages, made into its own objects beforehand.

Goals: growth exponent at most 0.02 from 1,000 to 100,000 messages; at most 4 times the floor; plain
dictionaries at most 3 times theirs, and at most half of LangChain's time.
"""

import copy
import hashlib
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from bench import measure, plain_lists, workload
from bench.messages import message_of
from bench.peers.child import Child, peers
from bench.peers.timed import timed
from bench.workload import Text
from foldline import (
    History,
    HistoryReducer,
    HistoryReductionConfig,
    HistoryReductionState,
    ReducedHistory,
    ReductionCache,
)
from foldline.agent.wire import read_items
from foldline.testing.summarizer import ScriptedSummarizer


SIZES = (1_000, 10_000, 100_000)
KEEP, SLACK, TURNS, ROUNDS = 20, 5, 300, 7
CONFIG = HistoryReductionConfig(
    enabled=True,
    strategy="summarizing",
    counting_unit="messages",
    target_count=KEEP,
    summarization_threshold=SLACK,
)
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def floor(texts: list[Text]) -> Callable[[Text, Text], int]:
    """Return one turn of the hand-written least, after the conversation *texts*."""
    history = [{"role": role, "content": text} for role, text in texts]
    summary = {"role": "user", "content": workload.SUMMARY}
    tokens, chain = [0], [b"\0" * 32]

    def extend(message: dict[str, str]) -> None:
        tokens.append(tokens[-1] + (len(message["content"]) + 3) // 4 + 3)
        said = message["role"].encode() + b"\0" + message["content"].encode()
        chain.append(hashlib.sha256(chain[-1] + said).digest())

    for message in history:
        extend(message)
    cut = len(history) - KEEP
    saved = chain[cut]

    def turn(*new: Text) -> int:
        nonlocal cut, saved
        for role, text in new:
            message = {"role": role, "content": text}
            history.append(message)
            extend(message)
        if chain[cut] != saved:
            raise ValueError
        if len(history) - cut > KEEP + SLACK:
            cut = len(history) - KEEP
            saved = chain[cut]
        if tokens[-1] - tokens[cut] > 1_000_000:
            raise ValueError
        return len([summary, *history[cut:]])

    return turn


def reducer_of(cache: ReductionCache | None = None) -> HistoryReducer:
    """Return the reducer that is measured: one rolling summary, messages, 20 + 5."""
    summarizer = ScriptedSummarizer(repeat=workload.SUMMARY)
    return HistoryReducer(CONFIG, summarizer=summarizer, cache=cache)


def on_history(texts: list[Text], new: list[Text]) -> Callable[[Text, Text], int]:
    """
    Return one turn of a conversation that grows in an append-only `History`, from *texts* by *new*.

    The reductions are made before: what is measured is a turn on a valid one.
    """
    reducer = reducer_of()
    history = History(map(message_of, texts))
    grown = History(map(message_of, [*texts, *new * ROUNDS]))
    states = {
        size: _state(grown, size - KEEP, reducer, size)
        for size in range(len(texts), len(grown) + 1, 2)
    }
    state = states[len(history)]

    def turn(*added: Text) -> int:
        nonlocal state
        for text in added:
            history.append(message_of(text))
        if len(history) - state.summarized_up_to_index > KEEP + SLACK:
            state = states[len(history)]
        return _hit(reducer.reduce_sync(history, state=state))

    return turn


def on_dictionaries(
    items: list[dict[str, Any]], new: list[list[dict[str, Any]]]
) -> Callable[[], int]:
    """
    Return one turn of a caller who sends every message as a dictionary each time.

    The conversation *items* gets those of *new* in turn, and they are taken back at the next turn.
    """
    cache = ReductionCache()
    reducer = reducer_of(cache)
    history = read_items(items, None, None).history
    cut = next(history.whole_indexes(len(history) - KEEP, 0))
    cache.put(_state(history, cut, reducer))
    size, turns = len(items), 0

    def turn() -> int:
        nonlocal turns
        del items[size:]
        items.extend(new[turns % len(new)])
        turns += 1
        return _hit(reducer.reduce_sync(items))

    reducer.reduce_sync(items)
    return turn


def _state(
    history: History, cut: int, reducer: HistoryReducer, size: int | None = None
) -> HistoryReductionState:
    return HistoryReductionState.create(
        history,
        workload.SUMMARY,
        cut,
        target_count=KEEP,
        reduction_threshold=SLACK,
        message_count_at_reduction=len(history) if size is None else size,
        created_at=NOW,
        config_fingerprint=reducer.config_fingerprint,
    )


def comparison(items: list[dict[str, Any]]) -> Callable[[], int]:
    """Return the least that notices any edit of *items*."""
    known = copy.deepcopy(items)

    def turn() -> int:
        if known != items:
            raise ValueError
        return len(known)

    return turn


def _hit(reduced: ReducedHistory[Any]) -> int:
    if reduced.verdict.kind != "hit":
        raise ValueError(reduced.verdict)
    return len(reduced.messages)


def seconds(turn: Callable[[Text, Text], int], new: list[Text], turns: int) -> float:
    """Return the median processor seconds of one of *turns* turns."""

    def block() -> int:
        for number in range(turns):
            turn(new[2 * number], new[2 * number + 1])
        return turns

    return measure.rounds(block, count=ROUNDS)


class Plain(NamedTuple):
    """The seconds of a comparison, of a turn and of LangChain's, on a plain list."""

    compare: float
    ours: float
    peer: float | None


def plain(size: int, kind: str, peer: Child | None) -> Plain:
    """Return the median seconds on *size* dictionaries of *kind*, measured in turns."""
    make, times = plain_lists.KINDS[kind], max(3, 30_000 // size)
    said = make(4 * times + 4)
    # An answer and what is asked after it, as this kind has them.
    new = [said[at + 3 : at + 5] for at in range(0, 4 * times, 4)]
    least, ours = comparison(make(size)), on_dictionaries(make(size)[:-1], new)
    ours()
    if kind not in plain_lists.PEER_KINDS:
        peer = None
    if peer is not None:
        peer.ask("load", kind, size)
    rounds = [
        (
            timed(least, times=times)[0],
            timed(ours, times=times)[0],
            None if peer is None else peer.ask("hit", 1),
        )
        for _ in range(ROUNDS)
    ]
    compared, taken, asked = zip(*rounds, strict=True)
    theirs = None if peer is None else statistics.median(asked)
    return Plain(statistics.median(compared), statistics.median(taken), theirs)


def run() -> dict[str, Any]:
    """Measure all rows at all sizes and return the figures."""
    new = workload.texts(2 * TURNS, seed=9)
    floors, ours = [], []
    lists: dict[str, list[Plain]] = {name: [] for name in plain_lists.KINDS}
    peer = peers({"langchain": "bench.peers.langchain_lists"}).get("langchain")
    for size in SIZES:
        texts = workload.texts(size)
        floors.append(seconds(floor(texts), new, TURNS))
        ours.append(seconds(on_history(texts, new), new, TURNS))
        for name, rows in lists.items():
            rows.append(plain(size, name, peer))
    if peer is not None:
        peer.close()
    figures: dict[str, Any] = {
        "sizes": list(SIZES),
        "floor_us": [one * 1e6 for one in floors],
        "history_us": [one * 1e6 for one in ours],
        "history_exponent": measure.exponent(SIZES, ours),
        "times_floor": [ours[at] / floors[at] for at in range(len(SIZES))],
    }
    for name, rows in lists.items():
        figures[f"{name}_compare_us"] = [row.compare * 1e6 for row in rows]
        figures[f"{name}_us"] = [row.ours * 1e6 for row in rows]
        figures[f"{name}_times"] = [row.ours / row.compare for row in rows]
        figures[f"{name}_peer_us"] = [row.peer and row.peer * 1e6 for row in rows]
        figures[f"{name}_times_peer"] = [row.peer and row.ours / row.peer for row in rows]
    return figures


def goals(figures: dict[str, Any]) -> list[tuple[str, float | None, float]]:
    """Return each goal: what, the figure (None if there was no peer), and the most it may be."""
    rows: list[tuple[str, float | None, float]] = [
        ("a cached turn, growth exponent", figures["history_exponent"], 0.02),
        ("a cached turn, times the floor (worst size)", max(figures["times_floor"]), 4),
    ]
    for name in plain_lists.KINDS:
        what = f"a cached turn, plain list ({name}), times"
        rows.append((f"{what} a comparison (worst size)", max(figures[f"{name}_times"]), 3))
        if name in plain_lists.PEER_KINDS:
            peer = worst(figures[f"{name}_times_peer"])
            rows.append((f"{what} LangChain's middleware (worst size)", peer, 0.5))
    return rows


def worst(times: Sequence[float | None]) -> float | None:
    """Return the largest of *times*; None if one of them is missing."""
    known = [one for one in times if one is not None]
    return max(known) if len(known) == len(times) else None
