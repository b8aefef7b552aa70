"""
Runs the benchmarks and prints their figures beside the goals: `python -m bench [NAME …] [--json]`.

`python -m bench fits`, `bill`, `quality` and `replay --data DIR` play recorded sessions instead, and
have options of their own.

What is compared with something else is run three times, and its goals are judged by the median:
a ratio of two short times moves with whatever else the machine does. The exit code is 1 where a goal
is missed, and 2 where one could not be judged: what it is compared with is not installed
(`bench/peers`).
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from math import isnan, nan
from types import ModuleType
from typing import Any

from bench import (
    bill,
    conversations,
    digest,
    first_fold,
    fits,
    imports,
    measure,
    memory,
    plain_lists,
    prepare,
    quality,
    replay,
    store,
    turn,
)


MODULES = (imports, memory, prepare, first_fold, digest, store, conversations, turn)
RUNS = {one.__name__.removeprefix("bench."): one.run for one in MODULES}
RATIOS = frozenset({"prepare", "first_fold"})
TIMES = 3


def goals(figures: dict[str, dict[str, Any]]) -> list[tuple[str, float, float]]:
    """Return each goal that was measured: what, the figure, and the most it may be."""
    rows: list[tuple[str, float, float]] = []
    if "memory" in figures:
        one = figures["memory"]
        rows.append(("a message in a list, bytes beside its text", one["list_bytes"], 250))
        rows.append(("a message in a History, bytes beside its text", one["history_bytes"], 250))
    if "prepare" in figures:
        one = figures["prepare"]
        rows.append(("a cached turn, growth exponent", one["history_exponent"], 0.02))
        rows.append(("a cached turn, times the floor (worst size)", max(one["times_floor"]), 4))
        for name in plain_lists.KINDS:
            what = f"a cached turn, plain list ({name}), times a comparison (worst size)"
            rows.append((what, max(one[f"{name}_times"]), 3))
    if "first_fold" in figures:
        one = figures["first_fold"]
        rows.append(("the first fold of a History, growth exponent", one["history_exponent"], 1.05))
        rows.append(("the first fold of bare messages, exponent", one["messages_exponent"], 1.05))
        worst = max(one["history_times_trim"] or [nan])
        rows.append(("the first fold of a History, times trim_messages", worst, 1.5))
    own = {
        "imports": imports,
        "digest": digest,
        "store": store,
        "conversations": conversations,
        "turn": turn,
    }
    for name, module in own.items():
        if name in figures:
            rows += module.goals(figures[name])
    return rows


def judged(runs: Sequence[dict[str, dict[str, Any]]]) -> list[tuple[str, float, float]]:
    """Return each goal of *runs* with the median of its figures, and the most that may be."""
    found: dict[tuple[str, float], list[float]] = {}
    for figures in runs:
        for what, value, most in goals(figures):
            found.setdefault((what, most), []).append(value)
    return [(what, statistics.median(values), most) for (what, most), values in found.items()]


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    lines = [f"  {name:14} {_first_line(one)}" for name, one in zip(RUNS, MODULES, strict=True)]
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Run the benchmarks and print their figures beside the goals.",
        epilog="\n".join(["benchmarks:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="which to run; all if none is named"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parsed = parser.parse_args(arguments)
    unknown = set(parsed.names) - RUNS.keys()
    if unknown:
        parser.error(f"NAME must be among {', '.join(RUNS)}, got {', '.join(sorted(unknown))}")
    return parsed


def _first_line(module: ModuleType) -> str:
    return (module.__doc__ or "").strip().splitlines()[0]


def main(arguments: Sequence[str]) -> int:
    """Run what *arguments* name, or everything; return 1 if a goal is missed, 2 if not measured."""
    if arguments[:1] == ["fits"]:
        return fits.main(arguments[1:])
    if arguments[:1] == ["bill"]:
        return bill.main(arguments[1:])
    if arguments[:1] == ["replay"]:
        return replay.main(arguments[1:])
    if arguments[:1] == ["quality"]:
        return quality.main(arguments[1:])
    parsed = _parsed(arguments)
    measure.pin()
    names = parsed.names or list(RUNS)
    runs = [
        {name: RUNS[name]() for name in names if time == 0 or name in RATIOS}
        for time in range(TIMES if RATIOS & set(names) else 1)
    ]
    met = judged(runs)
    code = _code(met)
    if parsed.json:
        # JSON has no NaN.
        listed = [
            {"goal": what, "figure": None if isnan(value) else value, "most": most}
            for what, value, most in met
        ]
        print(json.dumps({"runs": runs, "goals": listed}, indent=2))
        return code
    _print(runs, met)
    return code


def _print(
    runs: Sequence[dict[str, dict[str, Any]]], met: Sequence[tuple[str, float, float]]
) -> None:
    for number, figures in enumerate(runs, start=1):
        for name, one in figures.items():
            print(name if number == 1 else f"{name}, run {number}")
            for key, value in one.items():
                print(f"  {key:24} {_shown(value)}")
    print("goals")
    for what, value, most in met:
        if isnan(value):
            print(f"  NOT MEASURED {what}: its peer is not installed, see bench/peers")
            continue
        print(f"  {'met ' if value <= most else 'MISSED'} {what}: {value:.3g} (at most {most})")


def _code(met: Sequence[tuple[str, float, float]]) -> int:
    if any(value > most for _, value, most in met):
        return 1
    return 2 if any(isnan(value) for _, value, _ in met) else 0


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(map(_shown, value))
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
