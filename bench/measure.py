"""Timing that can be trusted on a shared machine: processor time, medians, ratios, exponents."""

import gc
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


ROUNDS = 7
ROOT = Path(__file__).resolve().parent.parent


def pin() -> None:
    """Stay on one processor, where the system lets us choose."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


@contextmanager
def all_processors() -> Generator[None]:
    """Use every processor inside, and afterwards those that were used before."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def apart(module: str) -> dict[str, Any]:
    """Return the figures that *module* prints as JSON in a process that has held nothing before."""
    done = subprocess.run(
        [sys.executable, "-m", module], capture_output=True, check=True, cwd=ROOT, text=True
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def rounds(block: Callable[[], int], *, count: int = ROUNDS) -> float:
    """
    Return the median processor seconds of one unit of work over *count* runs of *block*.

    Args:
        block: Does a number of units of work and returns that number.
        count: How often it runs.
    """
    results = []
    for _ in range(count):
        gc.collect()
        started = time.process_time()
        units = block()
        results.append((time.process_time() - started) / units)
    return statistics.median(results)


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the growth exponent: the slope of log seconds over log size, by least squares."""
    xs, ys = [math.log(size) for size in sizes], [math.log(value) for value in seconds]
    middle_x, middle_y = statistics.fmean(xs), statistics.fmean(ys)
    up = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return up / sum((x - middle_x) ** 2 for x in xs)
