"""
One whole turn: a user says something, the agent answers, and all of it is on the disk.

The model answers at once, so what is measured is everything around it. Beside foldline stand
LangGraph with its SQLite saver, the OpenAI Agents SDK with its SQLite session and Pydantic AI with a
dump as JSON, each in a process of its own, on one processor, in alternating rounds, by the processor time
of all threads. A plain turn is a question and its answer; a turn with a tool is a question, a call,
its result and the answer. Flushes and bytes are counted in a run of their own.

Everybody keeps the whole history, which is checked. The model is sent the `whole` of it, its `newest` messages
(about 20), or, with foldline alone, these behind a `summary` by the offline digest.

Goals: a reduced turn does not grow from 1,000 to 10,000 messages (exponent at most 0.1); a flush for
each step of a turn, and at most one more for a fold; at most the processor time of each peer, sent the same, at each size.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

from bench import measure
from bench.peers.child import Child, peers
from bench.turn_work import MESSAGES


SIZES = (10, 1_000, 10_000)
OURS = "foldline"
PEERS = ("openai", "langgraph", "pydantic_ai")
MODES = ("whole", "newest")
REDUCED = (*MODES, "summary")
ROUNDS = 5
# A fold comes with each third plain turn, so ours are the turns of two folds.
TURNS, PEER_TURNS = 6, {10: 6, 1_000: 6, 10_000: 2}


class Heat(NamedTuple):
    """What one contestant does in a round."""

    name: str
    """The contestant."""

    kind: str
    """A `plain` turn or one with a `tool`."""

    mode: str
    """What the model is sent."""

    def __str__(self) -> str:
        return f"{self.name}_{self.kind}_{self.mode}"

    def turns(self, size: int) -> int:
        """Return how many turns are measured at once behind *size* messages."""
        return TURNS if self.name == OURS else PEER_TURNS[size]


def heats(peers: Iterable[str]) -> list[Heat]:
    """Return all that is measured at each size, the alike next to each other."""
    names = (OURS, *peers)
    alike = [Heat(name, kind, mode) for kind, mode, name in product(MESSAGES, MODES, names)]
    return [*alike, *(Heat(OURS, kind, "summary") for kind in MESSAGES)]


def run() -> dict[str, Any]:
    """Measure foldline, and the peers where their environment exists."""
    with tempfile.TemporaryDirectory() as folder:
        field = {OURS: Child(sys.executable, "bench.turn_foldline", folder)}
        field |= peers({name: f"bench.turn_{name}" for name in PEERS}, folder)
        others = [name for name in field if name != OURS]
        figures: dict[str, Any] = {"sizes": list(SIZES)}
        taken = _taken(field, heats(others))
        for size in SIZES:
            for name, value in _figures(size, field, taken[size]):
                figures.setdefault(name, []).append(value)
        for child in field.values():
            child.close()
    return figures | growth(figures, heats(others))


def _taken(
    field: dict[str, Child], all_heats: list[Heat]
) -> dict[int, dict[Heat, list[dict[str, float]]]]:
    """Return what each round of *all_heats* took, by size; sizes alternate, or drift would be growth."""
    taken: dict[int, dict[Heat, list[dict[str, float]]]] = {
        size: {heat: [] for heat in all_heats} for size in SIZES
    }
    for _, heat, size in product(range(ROUNDS), all_heats, SIZES):
        found = field[heat.name].ask("timed", size, heat.kind, heat.mode, heat.turns(size))
        taken[size][heat].append(found)
    return taken


def _figures(
    size: int, field: dict[str, Child], taken: dict[Heat, list[dict[str, float]]]
) -> Iterator[tuple[str, float]]:
    """Yield each figure behind *size* messages under its name."""
    for heat, rounds in taken.items():
        for what in ("cpu_ms", "wall_ms", "seen"):
            yield f"{heat}_{what}", statistics.median(one[what] for one in rounds)
        times = heat.turns(size)
        written = field[heat.name].ask("counted", size, heat.kind, heat.mode, times)
        for what, value in written.items():
            yield f"{heat}_{what}", value
        if heat.name != OURS:
            ours = taken[heat._replace(name=OURS)]
            both = zip(rounds, ours, strict=True)
            ratio = statistics.median(one["cpu_ms"] / our["cpu_ms"] for one, our in both)
            yield f"{heat}_times_ours", ratio


def growth(figures: dict[str, Any], all_heats: Iterable[Heat]) -> dict[str, float]:
    """Return the growth exponent of each of *all_heats* from 1,000 messages on."""
    return {
        f"{heat}_exponent": measure.exponent(SIZES[1:], figures[f"{heat}_cpu_ms"][1:])
        for heat in all_heats
    }


def goals(figures: dict[str, Any]) -> list[tuple[str, float | None, float]]:
    """Return each goal: what, the figure (None if there was no peer), and the most it may be."""
    rows: list[tuple[str, float | None, float]] = []
    for kind, mode in product(MESSAGES, ("newest", "summary")):
        exponent = figures[f"{OURS}_{kind}_{mode}_exponent"]
        rows.append((f"a {kind} turn, {mode}, growth exponent", exponent, 0.1))
    for (kind, messages), mode in product(MESSAGES.items(), REDUCED):
        flushes = max(figures[f"{OURS}_{kind}_{mode}_flushes"])
        # A fold is a commit of its own, before the model is asked.
        what = f"flushes of a {kind} turn of {messages} messages, {mode}"
        rows.append((what, flushes, messages + (mode != "whole")))
    for name, kind, mode in product(PEERS, MESSAGES, MODES):
        times = figures.get(f"{name}_{kind}_{mode}_times_ours")
        what = f"a {kind} turn, {mode}, times that of {name} (worst size)"
        rows.append((what, times and 1 / min(times), 1))
    return rows
