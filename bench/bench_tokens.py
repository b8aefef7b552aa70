"""
What counting a message costs: the estimator beside a quarter of the characters and, where it is
installed, an exact tokenizer.

```
PYTHONPATH=src python bench/bench_tokens.py
```
"""

import base64
import importlib
import random
import timeit
from collections.abc import Callable

from foldline.history.tokens import TokenEstimator


WORDS = [
    "the",
    "customer",
    "wrote",
    "because",
    "a",
    "parcel",
    "had",
    "not",
    "arrived",
    "and",
    "we",
    "sent",
    "another",
    "one",
    "today",
]


def texts() -> dict[str, str]:
    """
    Return one text of each kind and length that is timed.
    """
    rng = random.Random(1)
    prose = " ".join(rng.choice(WORDS) for _ in range(40_000))
    return {
        "prose, 300": prose[:300],
        "prose, 2,000": prose[:2_000],
        "prose, 200,000": prose[:200_000],
        "hex, 300": rng.randbytes(150).hex(),
        "base64, 2,000": base64.b64encode(rng.randbytes(1_500)).decode(),
        "prose with a dash, 300": f"{prose[:150]}—{prose[:149]}",
        "russian, 300": ("посылка ещё не пришла, " * 14)[:300],
        "chinese, 300": ("因为答应星期一送到的包裹还没有收到。" * 20)[:300],
    }


def counters() -> dict[str, Callable[[str], int]]:
    """
    Return the ways of counting that are there.
    """
    found: dict[str, Callable[[str], int]] = {"estimator": TokenEstimator().count}
    try:
        found["rs-bpe"] = importlib.import_module("rs_bpe").openai.o200k_base().count
    except ImportError:
        print("rs-bpe is not installed: no exact counts")
    return found


def microseconds(count: Callable[[str], int], text: str) -> float:
    """
    Return the best time of several for one count of *text*.
    """
    number = max(3, 300_000 // len(text))
    return min(timeit.repeat(lambda: count(text), number=number, repeat=7)) / number * 1e6


def main() -> None:
    """
    Time each counter on each text.
    """
    found = counters()
    for name, text in texts().items():
        line = f"{name:<24}"
        for way, count in found.items():
            spent = microseconds(count, text)
            line += f"  {way} {spent:>9.2f} us {len(text.encode()) / spent:>5.0f} MB/s"
        print(line)


if __name__ == "__main__":
    main()
