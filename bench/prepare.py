"""
Preparing a turn on a valid cached reduction: two messages arrive, the view is wanted.

The full history is kept, tokens are counted, integrity is checked. The floor is the least that plain
Python can do the same job with: a list, a sum of characters / 4, a SHA-256 chain, and a slice. The
last row is for callers who send plain dictionaries every time, so that everything is read again.

Goals: growth exponent at most 0.05 from 1,000 to 100,000 messages; at most 5 times the floor.
"""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from bench import measure, workload
from foldline import (
    History,
    HistoryReducer,
    HistoryReductionConfig,
    HistoryReductionState,
    Message,
    ReducedHistory,
    ReductionCache,
)
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
Text = tuple[str, str]


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


def message_of(text: Text) -> Message:
    """Return a message of ours."""
    return Message.user(text[1]) if text[0] == "user" else Message.assistant(text[1])


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
        size: HistoryReductionState.create(
            grown,
            workload.SUMMARY,
            size - KEEP,
            target_count=KEEP,
            reduction_threshold=SLACK,
            message_count_at_reduction=size,
            created_at=NOW,
            config_fingerprint=reducer.config_fingerprint,
        )
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


def on_dictionaries(texts: list[Text]) -> Callable[[Text, Text], int]:
    """Return one turn of a caller who keeps nothing and sends every message as a dictionary."""
    reducer = reducer_of(ReductionCache())
    items: list[dict[str, Any]] = [{"role": role, "content": text} for role, text in texts]
    reducer.reduce_sync(items)

    def turn(*new: Text) -> int:
        del items[len(texts) :]
        items.extend({"role": role, "content": text} for role, text in new)
        return _hit(reducer.reduce_sync(items))

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


def run() -> dict[str, Any]:
    """Measure all rows at all sizes and return the figures."""
    new = workload.texts(2 * TURNS, seed=9)
    floors, ours, plain = [], [], []
    for size in SIZES:
        texts = workload.texts(size)
        floors.append(seconds(floor(texts), new, TURNS))
        ours.append(seconds(on_history(texts, new), new, TURNS))
        plain.append(seconds(on_dictionaries(texts), new, max(1, 3_000 // size)))
    return {
        "sizes": list(SIZES),
        "floor_us": [one * 1e6 for one in floors],
        "history_us": [one * 1e6 for one in ours],
        "dictionaries_us": [one * 1e6 for one in plain],
        "history_exponent": measure.exponent(SIZES, ours),
        "dictionaries_exponent": measure.exponent(SIZES, plain),
        "times_floor": [ours[at] / floors[at] for at in range(len(SIZES))],
    }
