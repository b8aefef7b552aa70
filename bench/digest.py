"""
What writing a digest costs, and how long another task of the event loop waits meanwhile.

Messages have 300 bytes: plain talk, or the calls of an agent with their answers. One digest stands for
2,000 of them, and all that a summarizer does is in its time. What waits is a task that sleeps for a
millisecond at a time while a history is folded: how late it wakes up, on all processors and by the
clock, so that it moves with whatever else the machine does. All is measured in a fresh process: in one
that holds the heaps of other benchmarks, the collection of their garbage is a part of every figure.

Goals: at most 25 microseconds of processor time a message, each byte counted once; of 100 delays 99 are
at most 20 ms, beside messages of 300 bytes and beside a few texts of 100,000.
"""

import asyncio
import json
import random
import statistics
import time
from collections.abc import Sequence
from typing import Any

from bench import measure, workload
from foldline import History, HistoryReducer, HistoryReductionConfig, Message
from foldline.history.parts import ToolCallPart
from foldline.history.tokens import TokenEstimator
from foldline.providers.digest.summarizer import write_digest
from foldline.reduction.request import SummaryRequest


COUNT, SIZE, BUDGET = 2_000, 300, 1_200
LONG_COUNT, LONG_SIZE = 20, 100_000
WAITS, FOLDS, NAP = 99, 12, 0.001
_CONFIG = HistoryReductionConfig(counting_unit="messages", target_count=2)


def talk(count: int = COUNT, size: int = SIZE) -> list[Message]:
    """Return a seeded talk of *count* messages, each of *size* bytes."""
    rng = random.Random(7)
    texts = [_sized(workload.words(rng, 2 * size), size) for _ in range(count)]
    return [
        Message.assistant(text) if at % 2 else Message.user(text) for at, text in enumerate(texts)
    ]


def work(count: int = COUNT) -> list[Message]:
    """Return the seeded work of an agent: a request, a call, its answer, what is made of it."""
    rng = random.Random(7)
    said: list[Message] = []
    for at in range(0, count, 4):
        name = f"src/part_{rng.randrange(40)}/file_{rng.randrange(90)}.py"
        given = {"path": name, "ticket": f"T-{rng.randrange(10_000)}"}
        reason = workload.words(rng, 2 * SIZE).replace('"', "'").replace("\\", "/")
        given["reason"] = _sized(reason, SIZE - len(json.dumps({**given, "reason": ""})))
        rows = [
            f"{name}:{rng.randrange(900)} order_{rng.randrange(10_000)} is open" for _ in range(9)
        ]
        call = ToolCallPart(f"call-{at}", "inspect_file", json.dumps(given))
        said += [
            Message.user(_sized(workload.words(rng, 2 * SIZE), SIZE)),
            Message.assistant("", tool_calls=[call]),
            Message.tool(f"call-{at}", _sized("\n".join(rows), SIZE)),
            Message.assistant(_sized(workload.words(rng, 2 * SIZE), SIZE)),
        ]
    return said


def _sized(text: str, size: int) -> str:
    return text.ljust(size, ".").encode()[:size].decode(errors="ignore")


class _Counted:
    """Counts tokens as usual, and the bytes that it was given."""

    def __init__(self) -> None:
        self.given = 0
        self._estimator = TokenEstimator()

    def count(self, text: str) -> int:
        """Return the tokens of *text*."""
        self.given += len(text.encode())
        return self._estimator.count(text)


def _microseconds(messages: Sequence[Message]) -> float:
    request = SummaryRequest(messages=tuple(messages), prompt="", budget=BUDGET)

    def write() -> int:
        write_digest(request)
        return len(messages)

    return measure.rounds(write, count=5) * 1e6


def _times_counted(messages: Sequence[Message]) -> float:
    counter = _Counted()
    request = SummaryRequest(messages=tuple(messages), prompt="", budget=BUDGET)
    write_digest(request, count=counter.count)
    return counter.given / (len(messages) * SIZE)


async def delays(history: History) -> list[float]:
    """Return how many milliseconds late another task woke up, each time while *history* is folded."""
    found: list[float] = []

    async def nap() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(NAP)
            found.append((time.perf_counter() - start - NAP) * 1e3)

    other = asyncio.create_task(nap())
    await asyncio.sleep(0)
    reduced = await HistoryReducer(_CONFIG).reduce(history)
    other.cancel()
    if reduced.event.status != "performed" or reduced.event.failures:
        message = "no digest was written"
        raise RuntimeError(message)
    return found


def _waits(messages: Sequence[Message]) -> tuple[float, float, int]:
    """Return what 99 of 100 delays are below, the longest, and how many there were."""
    history = History(messages)
    found: list[float] = []
    for _ in range(FOLDS):
        found += asyncio.run(delays(history))
    return statistics.quantiles(found, n=100)[WAITS - 1], max(found), len(found)


def measured() -> dict[str, Any]:
    """Measure the time of a digest, and the delays beside it, here."""
    kinds = {"talk": talk(), "work": work(), "long_texts": talk(LONG_COUNT, LONG_SIZE)}
    figures: dict[str, Any] = {"messages": COUNT, "bytes_each": SIZE}
    for name in ("talk", "work"):
        figures[f"{name}_us_a_message"] = _microseconds(kinds[name])
        figures[f"{name}_counted_times_said"] = _times_counted(kinds[name])
    with measure.all_processors():
        for name, messages in kinds.items():
            most, longest, count = _waits(messages)
            figures[f"{name}_delay_ms"] = most
            figures[f"{name}_longest_ms"] = longest
            figures[f"{name}_delays"] = count
    return figures


def run() -> dict[str, Any]:
    """Measure in a process of its own."""
    return measure.apart("bench.digest")


def goals(figures: dict[str, Any]) -> list[tuple[str, float, float]]:
    """Return each goal that was measured: what, the figure, and the most it may be."""
    return [
        ("a digest of talk, us a message of 300 bytes", figures["talk_us_a_message"], 25),
        ("a digest of an agent's work, us a message", figures["work_us_a_message"], 25),
        ("a digest, bytes counted, times those said", figures["work_counted_times_said"], 1),
        ("delay of a task beside talk, ms (99 of 100)", figures["talk_delay_ms"], 20),
        ("delay of a task beside work, ms (99 of 100)", figures["work_delay_ms"], 20),
        ("delay beside texts of 100,000, ms (99 of 100)", figures["long_texts_delay_ms"], 20),
    ]


if __name__ == "__main__":
    print(json.dumps(measured()))
