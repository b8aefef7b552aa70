"""
The most central sentences of a text, by TextRank on a sparse graph, in pure Python.

Two sentences are neighbors if they share words; the weight of the edge is the number of shared
words over the logarithms of both lengths. PageRank on that graph gives the centrality (Mihalcea
and Tarau, "TextRank: Bringing Order into Text", 2004).

Time is linear in the length of the text: at most `MAX_SENTENCES` enter the graph, the longest of
each of as many equal strata, and a word in more than `MAX_POSTINGS` of them makes no edges.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise


__all__ = ["MAX_POSTINGS", "MAX_SENTENCES", "rank_sentences", "split_sentences", "stratify"]


MAX_SENTENCES = 400
"""The most sentences that enter the graph."""

MAX_POSTINGS = 60
"""The most sentences that a word may link."""

_DAMPING = 0.85
_ROUNDS = 15
_SHORTEST = 20
_LONGEST = 400
_MARKUP = " \t#>*-•|"
_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_WORD = re.compile(r"[^\W_]{3,40}")
_STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        "about after all also and any are because been but can could did does don for from get"
        " going had has have here how into its just know let like more mean not now okay one our"
        " out really say should some something than that the their them then there these they"
        " thing think this those uhhuh very want was way well were what when where which who will"
        " with would yeah yep yes you your",
    )
)


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of *text*, without code and those too short or too long."""
    if "```" in text:
        text = _FENCE.sub("\n", text)
    for piece in _END.split(text):
        sentence = " ".join(piece.strip(_MARKUP).split())
        if _SHORTEST <= len(sentence) <= _LONGEST:
            yield sentence


def stratify(sentences: Sequence[str], *, limit: int) -> list[int]:
    """Return the indexes of at most *limit* sentences, spread evenly over all positions."""
    size = len(sentences)
    if size <= limit:
        return list(range(size))
    edges = [stratum * size // limit for stratum in range(limit + 1)]
    return [
        max(range(start, end), key=lambda index: len(sentences[index]))
        for start, end in pairwise(edges)
    ]


def rank_sentences(sentences: Sequence[str]) -> list[int]:
    """Return the indexes of the sentences that entered the graph, the most central first."""
    chosen = stratify(sentences, limit=MAX_SENTENCES)
    words = [sorted(_words(sentences[index])) for index in chosen]
    scores = _page_rank(_graph(words))
    order = sorted(range(len(chosen)), key=lambda place: (-scores[place], place))
    return [chosen[place] for place in order]


def _words(sentence: str) -> set[str]:
    return set(_WORD.findall(sentence.lower())) - _STOPWORDS


def _graph(words: Sequence[Sequence[str]]) -> list[list[tuple[int, float]]]:
    postings: dict[str, list[int]] = {}
    for place, known in enumerate(words):
        for word in known:
            postings.setdefault(word, []).append(place)
    lengths = [math.log(len(known) + 1) for known in words]
    graph: list[list[tuple[int, float]]] = []
    for place, known in enumerate(words):
        shared = Counter(_neighbors(postings, known))
        del shared[place]
        graph.append(
            [(other, n / (lengths[place] + lengths[other])) for other, n in shared.items()]
        )
    return graph


def _neighbors(postings: dict[str, list[int]], known: Iterable[str]) -> Iterator[int]:
    for word in known:
        linked = postings[word]
        if len(linked) <= MAX_POSTINGS:
            yield from linked


def _page_rank(graph: Sequence[Sequence[tuple[int, float]]]) -> list[float]:
    totals = [sum(weight for _, weight in edges) or 1.0 for edges in graph]
    shares = [[(other, weight / totals[other]) for other, weight in edges] for edges in graph]
    scores = [1.0] * len(graph)
    for _ in range(_ROUNDS):
        scores = [
            (1 - _DAMPING) + _DAMPING * sum(weight * scores[other] for other, weight in edges)
            for edges in shares
        ]
    return scores
