"""
Runs the benchmarks and prints their figures beside the goals: `python -m bench [NAME …] [--json]`.

`python -m bench fits`, `bill`, `quality` and `replay --data DIR` play recorded sessions instead, and
have options of their own, as `workers` has. `python -m bench --data DIR --write docs/speed.md` runs everything about time
and memory, and writes the page of it.

What is compared with something else is run three times, and its goals are judged by the median:
a ratio of two short times moves with whatever else the machine does. The exit code is 1 where a goal
is missed, and 2 where one could not be judged: what it is compared with is not installed
(`bench/peers`).
"""

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from bench import (
    bill,
    conversations,
    digest,
    first_fold,
    fits,
    folds_due,
    imports,
    measure,
    memory,
    prepare,
    quality,
    replay,
    servers,
    store,
    turn,
    workers,
)
from bench.speed_page import page


MODULES = (
    imports,
    memory,
    prepare,
    first_fold,
    digest,
    store,
    conversations,
    servers,
    folds_due,
    turn,
    replay,
)
BENCHMARKS = {one.__name__.removeprefix("bench."): one for one in MODULES}
RUNS: dict[str, Callable[[], dict[str, Any]]] = {
    one.__name__.removeprefix("bench."): one.run for one in MODULES[:-1]
}
"""What runs by itself; `replay` needs a recording too."""
RECORDED: dict[str, Callable[[Sequence[str]], int]] = {
    "bill": bill.main,
    "fits": fits.main,
    "quality": quality.main,
    "workers": workers.main,
}
RATIOS = frozenset({"prepare", "first_fold"})
TIMES = 3


Goal = tuple[str, float | None, float]
"""What was measured, the figure, and the most it may be; None if what it is compared with is missing."""


def goals(figures: dict[str, dict[str, Any]]) -> dict[str, list[Goal]]:
    """Return each goal that was measured, by benchmark."""
    return {name: list(BENCHMARKS[name].goals(found)) for name, found in figures.items()}


def judged(runs: Sequence[dict[str, dict[str, Any]]]) -> dict[str, list[Goal]]:
    """Return each goal of *runs*, by benchmark, with the median of its figures, if it has one."""
    found: dict[str, dict[tuple[str, float], list[float]]] = {}
    for name, rows in ((name, rows) for figures in runs for name, rows in goals(figures).items()):
        for what, value, most in rows:
            known = found.setdefault(name, {}).setdefault((what, most), [])
            if value is not None:
                known.append(value)
    return {
        name: [
            (what, statistics.median(values) if values else None, most)
            for (what, most), values in rows.items()
        ]
        for name, rows in found.items()
    }


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    lines = [f"  {name:14} {_first_line(one)}" for name, one in BENCHMARKS.items()]
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
    parser.add_argument("--data", type=Path, help="the folder of recordings, for replay")
    parser.add_argument("--write", type=Path, help="write the page of all figures")
    parsed = parser.parse_args(arguments)
    unknown = set(parsed.names) - BENCHMARKS.keys()
    if unknown:
        parser.error(
            f"NAME must be among {', '.join(BENCHMARKS)}, got {', '.join(sorted(unknown))}"
        )
    if parsed.data is None and ("replay" in parsed.names or parsed.write):
        parser.error("replay needs --data DIR, and so does --write")
    return parsed


def _first_line(module: ModuleType) -> str:
    return (module.__doc__ or "").strip().splitlines()[0]


def main(arguments: Sequence[str]) -> int:
    """Run what *arguments* name, or everything; return 1 if a goal is missed, else 0."""
    for name in RECORDED.keys() & arguments[:1]:
        return RECORDED[name](arguments[1:])
    parsed = _parsed(arguments)
    processors = os.cpu_count() or 1
    measure.pin()
    ways = dict(RUNS)
    if parsed.data is not None:
        ways["replay"] = partial(replay.run, parsed.data)
    names = parsed.names or list(ways)
    runs = [
        {name: ways[name]() for name in names if time == 0 or name in RATIOS}
        for time in range(TIMES if RATIOS & set(names) else 1)
    ]
    met = judged(runs)
    if parsed.write:
        modules = {name: BENCHMARKS[name] for name in names}
        parsed.write.write_text(page(modules, runs, met, processors=processors))
    rows = [row for found in met.values() for row in found]
    if parsed.json:
        listed = [{"goal": what, "figure": value, "most": most} for what, value, most in rows]
        print(json.dumps({"runs": runs, "goals": listed}, indent=2))
    else:
        _print(runs, rows)
    return _code(rows)


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
