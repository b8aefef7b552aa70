"""What a stretch of work took."""

import time
from collections.abc import Awaitable, Callable


Took = tuple[float, float]
"""Seconds of the processor, all threads together, and seconds on the clock; of one unit."""


def timed(work: Callable[[], object], *, times: int) -> Took:
    """Return what each of *times* calls of *work* took, in the mean."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(times):
        work()
    most = max(1, times)
    return (time.process_time() - cpu) / most, (time.perf_counter() - wall) / most


async def awaited(work: Callable[[], Awaitable[object]], *, times: int) -> Took:
    """Return what each of *times* awaited calls of *work* took, in the mean."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(times):
        await work()
    most = max(1, times)
    return (time.process_time() - cpu) / most, (time.perf_counter() - wall) / most
