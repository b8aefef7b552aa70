"""
What counting a message costs: the estimator beside an exact tokenizer, where one is installed.

```
PYTHONPATH=src python -m bench.bench_tokens
```
"""

import argparse
import base64
import importlib
import inspect
import random
import timeit
import typing
from collections.abc import Callable

from bench import workload
from foldline.history.tokens import TokenEstimator


PIECES = 400


def texts() -> dict[str, list[str]]:
    """
    Return texts of each kind, none twice: a processor learns to guess a text that it saw before.
    """
    rng = random.Random(1)
    source = "".join(inspect.getsource(module) for module in (argparse, typing, inspect, random))
    prose = " ".join(line.strip() for line in source.splitlines() if line.strip().isascii())
    found = {
        f"source code, {size:,}": [source[at : at + size] for at in range(0, len(source), size)]
        for size in (100, 300, 2_000, 100_000)
    }
    found["messages, 320"] = [text for _, text in workload.texts(PIECES, seed=9)]
    found["one line, 300"] = [prose[at : at + 300] for at in range(0, len(prose), 300)]
    found["hex, 300"] = [rng.randbytes(150).hex() for _ in range(PIECES)]
    found["base64, 2,000"] = [
        base64.b64encode(rng.randbytes(1_500)).decode() for _ in range(PIECES)
    ]
    found["with a dash, 300"] = [f"{text[:150]}—{text[151:]}" for text in found["one line, 300"]]
    found["chinese, 300"] = [
        "".join(chr(rng.randrange(0x4E00, 0x5E00)) for _ in range(300)) for _ in range(PIECES)
    ]
    return {name: pieces[:PIECES] for name, pieces in found.items()}


def counters() -> dict[str, Callable[[str], int]]:
    """Return the ways of counting that are there."""
    found: dict[str, Callable[[str], int]] = {"estimator": TokenEstimator().count}
    try:
        found["rs-bpe"] = importlib.import_module("rs_bpe").openai.o200k_base().count
    except ImportError:
        print("rs-bpe is not installed: no exact counts")
    return found


def seconds(count: Callable[[str], int], pieces: list[str]) -> float:
    """Return the best time of several for counting each of *pieces* once."""
    return min(timeit.repeat(lambda: [count(text) for text in pieces], number=1, repeat=9))


def main() -> None:
    """Time each counter on each kind of text."""
    found = counters()
    for name, pieces in texts().items():
        size = sum(len(text.encode()) for text in pieces)
        line = f"{name:<22}"
        for way, count in found.items():
            spent = seconds(count, pieces)
            each = spent / len(pieces) * 1e6
            line += f"  {way} {each:>9.2f} us {size / spent / 1e6:>5.0f} MB/s"
        print(line)


if __name__ == "__main__":
    main()
