"""The page of the figures of `python -m bench`."""

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any


FRONT = """\
<!-- Made by `python -m bench --data ../shared/data --write docs/speed.md`. -->

# What it takes: time and memory

One command measures all of this in one run, the rows that foldline loses included: a goal that is
missed is **bold**. Peers do the same work at their documented settings, in alternating rounds. Times
are processor times of all threads and medians, so that they say little about another machine and much
about the ratios; where a clock decides, the benchmark says so. Measured on {day} with
Python {python} on {processors} processors, beside {peers}.
"""
PEERS = Path(__file__).with_name("peers") / "requirements.txt"
TITLES = {
    "imports": "A start",
    "memory": "A message in memory",
    "prepare": "A turn on a valid reduction",
    "first_fold": "The first fold",
    "digest": "The offline digest",
    "store": "A conversation that is kept",
    "conversations": "Many conversations at once",
    "servers": "PostgreSQL and Redis",
    "folds_due": "Folds due among a million threads",
    "turn": "A whole turn",
    "replay": "A replay",
}


def page(
    modules: Mapping[str, ModuleType],
    runs: Sequence[Mapping[str, Mapping[str, Any]]],
    goals: Mapping[str, Sequence[tuple[str, float | None, float]]],
    *,
    processors: int,
) -> str:
    """
    Return the page.

    Args:
        modules: The benchmarks by name, whose docstrings say what was measured.
        runs: The figures of each run by benchmark; those of the first are shown.
        goals: What was measured by benchmark, with the figure and the most it may be.
        processors: How many the machine has.
    """
    peers = ", ".join(line.replace("==", " ") for line in PEERS.read_text().split() if line)
    day, python = datetime.now(UTC).date(), platform.python_version()
    lines = [FRONT.format(day=day, python=python, processors=processors, peers=peers)]
    for name, module in modules.items():
        lines += [f"## {TITLES[name]}", "", *_what(module), *_goals(goals[name])]
        lines += [*_figures(runs[0][name])]
    return "\n".join(lines)


def _what(module: ModuleType) -> Iterator[str]:
    """Yield what a benchmark says of itself, without its goals: the table has them."""
    for paragraph in (module.__doc__ or "").strip().split("\n\n"):
        if not paragraph.startswith(("Goal", "```")):
            yield from (paragraph, "")


def _goals(goals: Sequence[tuple[str, float | None, float]]) -> Iterator[str]:
    yield from ("| what | figure | at most |", "|---|--:|--:|")
    for what, value, most in goals:
        is_missed = value is not None and value > most
        shown = "not measured" if value is None else number(value)
        yield f"| {what} | {f'**{shown}**' if is_missed else shown} | {number(most)} |"
    yield ""


def _figures(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield all figures: those for each size as a table, the others as a list."""
    sizes = figures.get("sizes", ())
    rows = {key: value for key, value in figures.items() if isinstance(value, list)}
    if sizes:
        yield f"| all figures | {' | '.join(f'{size:,}' for size in sizes)} |"
        yield f"|---|{'--:|' * len(sizes)}"
        for key, values in rows.items():
            if key != "sizes" and len(values) == len(sizes):
                yield f"| {words(key)} | {' | '.join(map(number, values))} |"
        yield ""
    rest = {key: value for key, value in figures.items() if isinstance(value, int | float)}
    if rest:
        found = "; ".join(f"{words(key)} {number(value)}" for key, value in rest.items())
        yield from (f"{'Others' if sizes else 'All figures'}: {found}.", "")


def words(key: str) -> str:
    """Return the name of a figure in words, its unit behind a comma."""
    found = re.sub(r"_(us|ms|s|mb|bytes)$", r", \1", key)
    return found.replace("_", " ").replace(", mb", ", MB").replace("openai", "OpenAI")


def number(value: float | None) -> str:
    """Return *value* with three figures, as people write it."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
