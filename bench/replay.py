"""
What a replay costs: the recorded session of a coding agent, 990 messages, under the default settings.

```
python -m bench replay --data ../shared/data
```

Processor milliseconds of all threads a model call, medians of alternating rounds: with every request
checked by the grammars of the vendors, and unchecked.

Goal: at most 1.5 ms a call with the check.
"""

import gc
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.goals import coding_sessions
from bench.peers.timed import timed
from foldline import HistoryReductionConfig
from foldline.replay.player import play
from foldline.replay.tape import Tape


ROUNDS = 7


def run(data: Path) -> dict[str, Any]:
    """Return the milliseconds a call, and how many calls and folds there were, of the recording in *data*."""
    (session,) = coding_sessions(data)
    tape, config = Tape(session), HistoryReductionConfig(enabled=True)
    ways: dict[str, Callable[[], object]] = {
        "checked_ms": lambda: play(tape, config, name="bench"),
        "unchecked_ms": lambda: play(tape, config, name="bench", check=False),
    }
    totals = play(tape, config, name="bench").report.totals
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            gc.collect()
            times[name].append(timed(way, times=1)[0] * 1000 / len(tape.calls))
    return {
        **{name: statistics.median(found) for name, found in times.items()},
        "calls": len(tape.calls),
        "folds": totals.folds,
        "invalid_requests": totals.invalid_requests,
    }


def goals(figures: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Return each goal: what, the figure, and the most it may be."""
    return [
        ("a call of a replay, checked, milliseconds", figures["checked_ms"], 1.5),
        ("invalid requests", figures["invalid_requests"], 0),
    ]
