"""
1,000 conversations in one process: each appends a turn and reads its last 20 messages, all at once.

Each contestant has a process of its own, on all processors, and rounds alternate. Beside foldline
stands the OpenAI Agents SDK's SQLite session, one for each conversation as it asks for.

Goals: no errors, at most 20 file handles, 10 threads and 100 MB at the peak; at least 8 times the
turns per second of the sessions.
"""

import statistics
import sys
import tempfile
from typing import Any

from bench import measure
from bench.peers.child import Child, peers


NUMBER, ROUNDS = 1_000, 5


def run() -> dict[str, Any]:
    """Measure foldline, and the peer where its environment exists."""
    with measure.all_processors(), tempfile.TemporaryDirectory() as folder:
        given = (folder, str(NUMBER))
        field = {"foldline": Child(sys.executable, "bench.peers.foldline_crowd", *given)}
        field |= peers({"openai": "bench.peers.openai_crowd"}, *given)
        rounds = [
            {name: child.ask("turns") for name, child in field.items()} for _ in range(ROUNDS)
        ]
        for child in field.values():
            child.ask("stop")
            child.close()
    figures: dict[str, Any] = {"conversations": NUMBER}
    for name in field:
        taken = [one[name] for one in rounds]
        for what in ("turns_s", "cpu_us"):
            figures[f"{name}_{what}"] = statistics.median(one[what] for one in taken)
        for what in ("threads", "files", "peak_mb"):
            figures[f"{name}_{what}"] = max(one[what] or 0 for one in taken)
        figures[f"{name}_errors"] = sum(one["errors"] for one in taken)
    if "openai" in field:
        both = [(one["openai"]["turns_s"], one["foldline"]["turns_s"]) for one in rounds]
        figures["openai_speed"] = statistics.median(theirs / ours for theirs, ours in both)
    return figures


def goals(figures: dict[str, Any]) -> list[tuple[str, float | None, float]]:
    """Return each goal: what, the figure (None if there was no peer), and the most it may be."""
    return [
        ("1,000 conversations, errors", figures["foldline_errors"], 0),
        ("1,000 conversations, file handles", figures["foldline_files"], 20),
        ("1,000 conversations, threads", figures["foldline_threads"], 10),
        ("1,000 conversations, megabytes at the peak", figures["foldline_peak_mb"], 100),
        ("the OpenAI sessions' turns a second, times ours", figures.get("openai_speed"), 0.125),
    ]
