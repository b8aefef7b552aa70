r"""
Fit the weights of the token estimator again, and say how good they are.

```
python -m venv FITTING && FITTING/bin/pip install msgspec numpy rs-bpe
PYTHONPATH=src FITTING/bin/python -m tools.fit_tokens --data ../shared/data \
    --locale /usr/share/locale --texts /usr/share /usr/include LIBRARY …
```

`rs-bpe` carries the o200k vocabulary, so no network is needed. *data* is the folder of recorded
sessions, *locale* one of gettext catalogues, *texts* are folders with source code and documents:
the standard library's, headers, a folder of Node packages. The wider, the better. What is missing
there is made: see `token_texts`.

The seams are those of `foldline.history.token_weights`; only the numbers are fitted, by least squares
on the relative error, byte after byte rounded to whole units while the others make up for it. Half
of the documents fit, the other half judges. Nothing of the texts is written anywhere: what comes out
is the numbers and the errors.
"""

# ruff: noqa: S311, T201 - a script that prints, with chances that have to repeat

import argparse
import importlib
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

from foldline.history.token_weights import HIGHEST_LEVEL, SEAMS, START, UNITS
from tools.token_texts import LATIN, SESSIONS, SHORTEST, Documents, collect, sessions


np: Any = importlib.import_module("numpy")

# Recorded sessions are what the estimator is for, so they weigh more than odd kinds of text.
EMPHASIS = {
    **dict.fromkeys(SESSIONS, 2.0),
    **dict.fromkeys(("pi-coding-agent", "aider-pair", "prose"), 3.0),
    "json": 4.0,
    **dict.fromkeys(("hex", "base64"), 0.75),
    **dict.fromkeys(("lock files", "numbers", "xml", "web"), 0.5),
    **dict.fromkeys(("zh_CN", "ja", "ko", "ru", "hi", "mixed"), 2.0),
    **dict.fromkeys((*LATIN, "odd", "zh_TW"), 0.4),
    **dict.fromkeys(("signs", "dense emoji", "ka", "hy"), 0.2),
}
LENGTHS = (SHORTEST, 1_500, 1_500)
PER_FIT = 300
DAMPING = 3e-3
LOWEST_LEVEL = 1
SEED = 20_260_101
SWEEPS = 2_000
SWEEPS_BETWEEN = 30
BYTES = 256
# How many seams run between two bytes.
BETWEEN = {
    (before, after): sum(before in seam.before and after in seam.after for seam in SEAMS)
    for before in range(BYTES)
    for after in range(BYTES)
}


class Chunk(NamedTuple):
    """A piece of a document, with the tokens that the vocabulary makes of it."""

    kind: str
    text: str
    judge: bool
    tokens: int


def cut(documents: Documents, count: Callable[[str], int], rng: random.Random) -> list[Chunk]:
    """Return pieces of the documents, whole documents on either side of the judgement."""
    chunks: list[Chunk] = []
    for kind, texts in documents.items():
        sides: dict[bool, list[str]] = {False: [], True: []}
        for number, text in enumerate(texts):
            at = 0
            while at < len(text) - 100:
                size = rng.choice(LENGTHS)
                sides[number % 2 == 1].append(text[at : at + size])
                at += size
        for judge, pieces in sides.items():
            rng.shuffle(pieces)
            chunks += [Chunk(kind, text, judge, count(text)) for text in pieces[:PER_FIT]]
    return [chunk for chunk in chunks if chunk.tokens]


def counts(text: str) -> list[int]:
    """Return how often each byte occurs in *text*, and how many seams there are."""
    data = text.encode("utf-8", "surrogatepass")
    occurrences = Counter(data)
    seams = sum(map(BETWEEN.__getitem__, pairwise(data)))
    return [*(occurrences[byte] for byte in range(BYTES)), seams]


class Fit:
    """Least squares by coordinates, each number within its bounds, over the bytes and the seams."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        sizes = Counter(chunk.kind for chunk in chunks)
        tokens = np.array([chunk.tokens for chunk in chunks], float)
        emphasis = np.array(
            [EMPHASIS.get(chunk.kind, 1.0) / max(sizes[chunk.kind], 30) for chunk in chunks]
        )
        table = np.array([counts(chunk.text) for chunk in chunks], float) / UNITS
        scaled = table * (np.sqrt(emphasis) / tokens)[:, None]
        self.matrix = scaled.T @ scaled
        self.target = scaled.T @ (np.sqrt(emphasis) * (1 - START / UNITS / tokens))
        diagonal = np.diag(self.matrix)
        damping = DAMPING * diagonal + 1e-7 * diagonal[:BYTES].mean()
        self.matrix = self.matrix + np.diag(damping)
        self.size = len(self.target)
        self.numbers = np.zeros(self.size)
        self.free = set(range(self.size))

    def settle(self, sweeps: int) -> None:
        """Move every free number to its best place, the others standing still, *sweeps* times."""
        for _ in range(sweeps):
            for at in sorted(self.free):
                self.numbers[at] = self.best(at)

    def best(self, at: int) -> float:
        """Return the best allowed value of one number, the others standing still."""
        line = self.matrix[at]
        rest = line @ self.numbers - line[at] * self.numbers[at]
        value = max(float(self.target[at] - rest) / float(line[at]), LOWEST_LEVEL)
        return min(value, HIGHEST_LEVEL) if at < BYTES else value

    def round(self) -> None:
        """Make every number whole, that of the seams and then the commonest bytes first."""
        weights = np.diag(self.matrix)
        for at in (*range(BYTES, self.size), *map(int, np.argsort(-weights[:BYTES]))):
            self.free.discard(at)
            self.numbers[at] = round(self.numbers[at])
            self.settle(SWEEPS_BETWEEN if weights[at] > weights[ord("z")] else 0)

    def whole(self) -> list[int]:
        """Return the levels of the bytes and what a seam adds."""
        # What no text of the trial holds is taken for half a token a byte.
        seen = np.diag(self.matrix)[:BYTES] > np.diag(self.matrix)[:BYTES].min()
        self.numbers[:BYTES][~seen] = UNITS // 2
        return [int(number) for number in self.numbers]


def judge(
    chunks: Sequence[Chunk], estimate: Callable[[str], float]
) -> dict[str, tuple[float, float]]:
    """Return the mean absolute and the mean error of each kind, on the longer pieces."""
    errors: dict[str, list[float]] = defaultdict(list)
    for chunk in chunks:
        if len(chunk.text) > SHORTEST:
            errors[chunk.kind].append(estimate(chunk.text) / chunk.tokens - 1)
    return {
        kind: (statistics.fmean(map(abs, found)), statistics.fmean(found))
        for kind, found in errors.items()
    }


def report(chunks: Sequence[Chunk], estimate: Callable[[str], float]) -> None:
    """Print the errors of *estimate* beside those of a quarter of the characters."""
    ours = judge(chunks, estimate)
    naive = judge(chunks, lambda text: len(text) / 4)
    print(f"\n{'kind':<18}{'mean |error|':>14}{'bias':>9}{'chars/4':>12}{'bias':>9}")
    for kind in sorted(ours, key=ours.__getitem__):
        (size, bias), (other, other_bias) = ours[kind], naive[kind]
        print(f"{kind:<18}{size:>13.1%}{bias:>+10.1%}{other:>11.1%}{other_bias:>+10.1%}")
    for name, kinds in (("mean", set(ours) - LATIN - {"odd", "signs"}), ("mean, all", set(ours))):
        here = statistics.fmean(ours[kind][0] for kind in kinds)
        there = statistics.fmean(naive[kind][0] for kind in kinds)
        print(f"{name:<18}{here:>13.1%}{'':>10}{there:>11.1%}")


def main() -> None:
    """Fit, print the tables, and judge them."""
    parser = argparse.ArgumentParser(description="Fit the token estimator.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--locale", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="+", required=True)
    arguments = parser.parse_args()
    count: Callable[[str], int] = importlib.import_module("rs_bpe").openai.o200k_base().count
    rng = random.Random(SEED)
    documents = collect(arguments.texts, arguments.locale, arguments.data, rng)
    chunks = cut(documents, count, rng)
    fit = Fit([piece for piece in chunks if not piece.judge])
    fit.settle(SWEEPS)
    fit.round()
    numbers = fit.whole()
    print(f"SEAM: Final = {numbers[-1]}")
    for at in range(0, BYTES, 16):
        print(f"    {bytes(numbers[at : at + 16]).hex(' ')}")

    def estimate(text: str) -> int:
        units = START + sum(map(mul, counts(text), numbers))
        return max(1, int(units / UNITS + 0.5))

    report([piece for piece in chunks if piece.judge], estimate)
    print(f"\n{'session':<18}{'tokens':>10}{'sum of messages':>17}{'chars/4':>9}")
    for name in SESSIONS:
        texts = [text for found in sessions(arguments.data, name) for text in found]
        exact = sum(map(count, texts))
        summed, naive = sum(map(estimate, texts)), sum(len(text) // 4 for text in texts)
        print(f"{name:<18}{exact:>10,}{summed / exact - 1:>+16.1%}{naive / exact - 1:>+10.1%}")


if __name__ == "__main__":
    main()
