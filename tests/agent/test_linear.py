"""No pattern of the loop, its tools or conversations is slower than linear."""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from time import process_time

import pytest

import foldline


ROOMS = ("agent", "conversation")
METHODS = ("fullmatch", "match", "search", "findall", "finditer")
HOME = Path(foldline.__file__).parent

BEGINNINGS = ("", "a", "a (", ":param", "`$.", "Args")
UNITS = ("a", " ", "(", ")", ":", "*", ",", "-", "a ", "a,", "a:", ") ", "(a)", "a (", ": ", ":a ")
SMALL = 2_000
HARMLESS = 0.02
"""CPU seconds that even the longer text may take: quadratic work takes many times more."""
LINEAR = 8.0
"""Four times the text takes linear work 4 times as long, and quadratic work 16 times."""


Match = Callable[[str], object]


def matches() -> Iterator[tuple[str, Match]]:
    """Yield every pattern in a module of the rooms, with the methods that the module calls."""
    for path in sorted(path for room in ROOMS for path in (HOME / room).rglob("*.py")):
        module = ".".join(path.relative_to(HOME.parent).with_suffix("").parts)
        source = path.read_text(encoding="utf-8")
        for name, value in vars(import_module(module)).items():
            if isinstance(value, re.Pattern):
                called = [one for one in METHODS if f"{name}.{one}(" in source]
                # One that is passed on is only matched as a whole.
                used = called or ["fullmatch"]
                yield from ((f"{module}.{name}.{one}", getattr(value, one)) for one in used)


MATCHES = dict(matches())


def seconds(match: Match, text: str) -> float:
    """Return the CPU time of the fastest of three rounds."""
    times: list[float] = []
    for _ in range(3):
        begun = process_time()
        match(text)
        times.append(process_time() - begun)
    return min(times)


@pytest.mark.parametrize("name", MATCHES)
def test_a_pattern_is_linear(name: str) -> None:
    """Four times as many repetitions of what it looks for take about four times as long."""
    match = MATCHES[name]
    slow: list[tuple[str, float]] = []
    for begin, unit in product(BEGINNINGS, UNITS):
        large = seconds(match, begin + unit * (4 * SMALL) + "!")
        if large > HARMLESS:
            ratio = large / seconds(match, begin + unit * SMALL + "!")
            slow += [(begin + unit, ratio)] if ratio > LINEAR else []

    assert slow == []
