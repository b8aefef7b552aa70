"""
Runs the benchmarks and prints their figures beside the goals: `python -m bench [NAME …] [--json]`.
"""

import json
import sys
from typing import Any

from bench import first_fold, imports, measure, memory, prepare


RUNS = {
    "imports": imports.run,
    "memory": memory.run,
    "prepare": prepare.run,
    "first_fold": first_fold.run,
}


def goals(figures: dict[str, dict[str, Any]]) -> list[tuple[str, float, float]]:
    """
    Return each goal that was measured: what, the figure, and the most it may be.
    """
    rows: list[tuple[str, float, float]] = []
    if "imports" in figures:
        rows.append(
            ("import foldline, seconds of processor time", figures["imports"]["foldline_s"], 0.1)
        )
    if "memory" in figures:
        one = figures["memory"]
        rows.append(("a message in a list, bytes beside its text", one["list_bytes"], 250))
        rows.append(("a message in a History, bytes beside its text", one["history_bytes"], 250))
    if "prepare" in figures:
        one = figures["prepare"]
        rows.append(("a cached turn, growth exponent", one["history_exponent"], 0.05))
        rows.append(("a cached turn, times the floor (worst size)", max(one["times_floor"]), 5))
    if "first_fold" in figures:
        one = figures["first_fold"]
        rows.append(("the first fold of a History, growth exponent", one["history_exponent"], 1.05))
        rows.append(("the first fold of bare messages, exponent", one["messages_exponent"], 1.05))
        if one["history_times_trim"]:
            worst = max(one["history_times_trim"])
            rows.append(("the first fold of a History, times trim_messages", worst, 1.5))
    return rows


def main(arguments: list[str]) -> None:
    """
    Run what *arguments* name, or everything.
    """
    measure.pin()
    names = [name for name in arguments if not name.startswith("-")] or list(RUNS)
    figures = {name: RUNS[name]() for name in names}
    if "--json" in arguments:
        print(json.dumps(figures, indent=2))
        return
    for name, one in figures.items():
        print(name)
        for key, value in one.items():
            print(f"  {key:24} {_shown(value)}")
    print("goals")
    for what, value, most in goals(figures):
        print(f"  {'met ' if value <= most else 'MISSED'} {what}: {value:.3g} (at most {most})")


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(map(_shown, value))
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


main(sys.argv[1:])
