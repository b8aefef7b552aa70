"""
What a replay costs: the recorded session of a coding agent, 990 messages, under the default settings.

```
python -m bench replay --data ../shared/data [--json]
```

Processor milliseconds of all threads a model call, medians of alternating rounds: with every request
checked by the grammars of the vendors, and unchecked.

Goal: at most 1.5 ms a call with the check.
"""

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench import measure
from bench.goals import coding_sessions
from foldline import HistoryReductionConfig
from foldline.replay.player import play
from foldline.replay.tape import Tape


MOST = 1.5
ROUNDS = 7


def run(tape: Tape) -> dict[str, Any]:
    """Return the milliseconds a call, and how many calls and folds there were."""
    config = HistoryReductionConfig(enabled=True)
    ways: dict[str, Callable[[], object]] = {
        "checked_ms": lambda: play(tape, config, name="bench"),
        "unchecked_ms": lambda: play(tape, config, name="bench", check=False),
    }
    totals = play(tape, config, name="bench").report.totals
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            gc.collect()
            started = time.process_time()
            way()
            times[name].append((time.process_time() - started) * 1000 / len(tape.calls))
    return {
        **{name: statistics.median(found) for name, found in times.items()},
        "calls": len(tape.calls),
        "folds": totals.folds,
        "invalid_requests": totals.invalid_requests,
    }


def main(arguments: Sequence[str]) -> int:
    """Print the figures and the goal; return 1 if it is missed, or a request is invalid."""
    parser = argparse.ArgumentParser(prog="python -m bench replay")
    parser.add_argument("--data", type=Path, required=True, help="the folder of recordings")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parsed = parser.parse_args(arguments)
    (session,) = coding_sessions(parsed.data)
    measure.pin()
    figures = run(Tape(session))
    is_met = figures["checked_ms"] <= MOST and not figures["invalid_requests"]
    if parsed.json:
        print(json.dumps(figures, indent=2))
    else:
        for key, value in figures.items():
            print(f"  {key:18} {value:,.4g}")
        state = "met " if is_met else "MISSED"
        print(f"  {state} a call of a replay, checked, milliseconds: at most {MOST}")
    return int(not is_met)
