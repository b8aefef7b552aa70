"""
The sentences of what was said, and which of them are the most central.

The most central sentences are found by TextRank on a sparse graph (Mihalcea and Tarau, "TextRank:
Bringing Order into Text", 2004). Two sentences are neighbors if they share words; the weight of the
edge is the number of shared words over the logarithms of both lengths. Time is linear in the length
of the text: at most `_MAX_SENTENCES` enter the graph, the longest of each of as many equal strata,
and a word in more than `_MAX_POSTINGS` of them makes no edges.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from foldline.providers.digest.outline import Item
from foldline.providers.digest.span import Speech
from foldline.providers.digest.text import attribute, bare


__all__ = [
    "focused",
    "offer_quotes",
    "offer_sentences",
    "rank_sentences",
    "split_sentences",
    "words_of",
]


_MOST_SENTENCES = 120
_MAX_SENTENCES = 400
_MAX_POSTINGS = 60
_DAMPING = 0.85
_ROUNDS = 15
_SENTENCE_LENGTHS = range(20, 401)
_MARKUP = " \t#>*-•|"
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
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
    for piece in _SENTENCE_END.split(text):
        sentence = " ".join(piece.strip(_MARKUP).split())
        if len(sentence) in _SENTENCE_LENGTHS:
            yield sentence


def _stratify(sentences: Sequence[str], *, limit: int) -> list[int]:
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
    chosen = _stratify(sentences, limit=_MAX_SENTENCES)
    words = [sorted(words_of(sentences[index])) for index in chosen]
    scores = _page_rank(_graph(words))
    order = sorted(range(len(chosen)), key=lambda place: (-scores[place], place))
    return [chosen[place] for place in order]


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
        if len(linked) <= _MAX_POSTINGS:
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


def words_of(text: str) -> set[str]:
    """Return the words of *text* that say what it is about, in lower case."""
    return set(_WORD.findall(text.lower())) - _STOPWORDS


def focused(items: Sequence[Item], focus: AbstractSet[str]) -> list[Item]:
    """Return *items* with those first that have the most words of *focus*."""
    return sorted(items, key=lambda item: -len(focus & words_of(item.text)))


def offer_sentences(
    speeches: Iterable[Speech],
    *,
    prior: Sequence[str],
    shown: str,
    focus: AbstractSet[str] = frozenset(),
) -> list[Item]:
    """
    Offer new and *prior* sentences by their centrality, but none that is *shown* elsewhere.

    Those with words of *focus* come first.
    """
    new = [
        attribute(speech.role, sentence)
        for speech in speeches
        for sentence in split_sentences(speech.text)
    ]
    texts = list(dict.fromkeys([*prior, *new]))
    fresh = [text for text in texts if bare(text) not in shown]
    items = [Item(text, index) for index, text in enumerate(fresh)]
    wanted = [item for item in items if focus & words_of(item.text)] if focus else []
    ranked = [items[index] for index in rank_sentences(fresh)]
    return list(dict.fromkeys([*focused(wanted, focus), *ranked]))[:_MOST_SENTENCES]


def offer_quotes(foreign: Iterable[str], *, prior: Sequence[str]) -> list[Item]:
    """Offer the sentences of *foreign* summaries in their order, after the *prior* quotes."""
    quoted = [sentence for text in foreign for sentence in split_sentences(text)]
    texts = list(dict.fromkeys([*prior, *quoted]))[:_MOST_SENTENCES]
    return [Item(text, place) for place, text in enumerate(texts)]
