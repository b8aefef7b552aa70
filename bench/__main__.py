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
from collections.abc import Callable, Sequence
from math import isnan
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
    prepare,
    quality,
    replay,
    servers,
    store,
    turn,
)


MODULES = (imports, memory, prepare, first_fold, digest, store, conversations, servers, turn)
RUNS = {one.__name__.removeprefix("bench."): one.run for one in MODULES}
RECORDED: dict[str, Callable[[Sequence[str]], int]] = {
    "bill": bill.main,
    "fits": fits.main,
    "quality": quality.main,
    "replay": replay.main,
}
RATIOS = frozenset({"prepare", "first_fold"})
TIMES = 3


Goal = tuple[str, float | None, float]
"""What was measured, the figure, and the most it may be; None if what it is compared with is missing."""


def goals(figures: dict[str, dict[str, Any]]) -> list[Goal]:
    """Return each goal that was measured."""
    rows: list[Goal] = []
    if "memory" in figures:
        for name in ("text", "tools"):
            for place, held in (("list", "a list"), ("history", "a History")):
                size = figures["memory"][f"{name}_{place}_bytes"]
                rows.append((f"a message in {held} ({name}), bytes beside its text", size, 250))
    own = {
        "imports": imports,
        "prepare": prepare,
        "first_fold": first_fold,
        "digest": digest,
        "store": store,
        "conversations": conversations,
        "servers": servers,
        "turn": turn,
    }
    for name, module in own.items():
        if name in figures:
            rows += module.goals(figures[name])
    return rows


def judged(runs: Sequence[dict[str, dict[str, Any]]]) -> list[Goal]:
    """Return each goal of *runs* with the median of its figures, if it has one."""
    found: dict[tuple[str, float], list[float]] = {}
    for figures in runs:
        for what, value, most in goals(figures):
            known = found.setdefault((what, most), [])
            if value is not None and not isnan(value):
                known.append(value)
    return [
        (what, statistics.median(values) if values else None, most)
        for (what, most), values in found.items()
    ]


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
    """Run what *arguments* name, or everything; return 1 if a goal is missed, else 0."""
    for name in RECORDED.keys() & arguments[:1]:
        return RECORDED[name](arguments[1:])
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
        listed = [{"goal": what, "figure": value, "most": most} for what, value, most in met]
        print(json.dumps({"runs": runs, "goals": listed}, indent=2))
        return code
    _print(runs, met)
    return code


def _print(runs: Sequence[dict[str, dict[str, Any]]], met: Sequence[Goal]) -> None:
    for number, figures in enumerate(runs, start=1):
        for name, one in figures.items():
            print(name if number == 1 else f"{name}, run {number}")
            for key, value in one.items():
                print(f"  {key:24} {_shown(value)}")
    print("goals")
    for what, value, most in met:
        if value is None:
            print(f"  NOT MEASURED {what}: its peer is not installed, see bench/peers")
            continue
        print(f"  {'met ' if value <= most else 'MISSED'} {what}: {value:.3g} (at most {most})")


def _code(met: Sequence[Goal]) -> int:
    if any(value is not None and value > most for _, value, most in met):
        return 1
    return 2 if any(value is None for _, value, _ in met) else 0


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(map(_shown, value))
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
