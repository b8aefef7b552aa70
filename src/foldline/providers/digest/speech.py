"""
What was said: requests and rules of the user, the most central sentences, the last words.

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
from itertools import chain, pairwise, zip_longest

from foldline.providers.digest.outline import Item
from foldline.providers.digest.span import Speech
from foldline.providers.digest.text import ELLIPSIS, attribute, bare, one_line, shorten


__all__ = [
    "offer_quotes",
    "offer_requests",
    "offer_rules",
    "offer_sentences",
    "offer_tail",
    "rank_sentences",
    "split_sentences",
    "stratify",
]


_MOST_REQUESTS = 200
_MOST_LAST = 6
_MOST_SENTENCES = 120
_RULE = re.compile(
    r"\b(?:do not|don['’]?t|never|must(?: not)?|always|prefer\w*|only|should(?:n['’]?t| not)?|avoid"
    r"|make sure|instead of|no longer|not allowed|insist|require\w*|cannot|can['’]t)\b",
    re.IGNORECASE,
)
# Orders come before preferences.
_STRICT = re.compile(
    r"\b(?:do not|don['’]?t|never|must(?: not)?|always|no longer|not allowed|insist|make sure)\b",
    re.IGNORECASE,
)
_RULE_LENGTH = 240


def offer_requests(speeches: Iterable[Speech], *, prior: Sequence[str], detail: int) -> list[Item]:
    """
    Offer the beginnings of user messages: the newest first, then the very first, then the rest.

    The newest may have *detail* characters, the very first two thirds of it, the others a third.
    """
    new = [one_line(speech.text) for speech in speeches if speech.role == "user"]
    texts = _distinct([*prior, *new])
    newest = len(texts) - 1
    ranked = [newest, 0, *range(newest - 1, 0, -1)][:_MOST_REQUESTS] if texts else []
    limits = {0: detail * 2 // 3, newest: detail}
    items = (
        Item(shorten(texts[place], limit=limits.get(place, detail // 3)), place)
        for place in dict.fromkeys(ranked)
    )
    return [item for item in items if item.text]


def offer_rules(
    speeches: Iterable[Speech], *, prior: Sequence[str], asked: Iterable[str]
) -> list[Item]:
    """
    Offer the sentences in which the user forbids, demands or prefers, the strict ones first.

    Of equally strict ones the newest and the oldest alternate: a rule holds until it is withdrawn.
    """
    new = (speech.text for speech in speeches if speech.role == "user")
    texts = _distinct([*_rules(asked), *prior, *_rules(new)])
    strict = [place for place, text in enumerate(texts) if _STRICT.search(text)]
    others = sorted(set(range(len(texts))).difference(strict))
    ranked = _from_both_ends(strict) + _from_both_ends(others)
    return [Item(texts[place], place) for place in ranked[:_MOST_REQUESTS]]


def _rules(texts: Iterable[str]) -> Iterator[str]:
    for sentence in chain.from_iterable(map(split_sentences, texts)):
        is_whole = len(sentence) <= _RULE_LENGTH and not sentence.endswith(ELLIPSIS)
        if is_whole and _RULE.search(sentence):
            yield sentence


def _from_both_ends(places: Sequence[int]) -> list[int]:
    pairs = zip_longest(reversed(places), places)
    return list(dict.fromkeys(place for pair in pairs for place in pair if place is not None))


def _distinct(texts: Iterable[str]) -> list[str]:
    """Keep the last of equal *texts*, in order."""
    return list(dict.fromkeys(reversed([text for text in texts if text])))[::-1]


def offer_sentences(speeches: Iterable[Speech], *, prior: Sequence[str], shown: str) -> list[Item]:
    """Offer new and *prior* sentences by their centrality, but none that is *shown* elsewhere."""
    new = [
        attribute(speech.role, sentence)
        for speech in speeches
        for sentence in split_sentences(speech.text)
    ]
    texts = list(dict.fromkeys([*prior, *new]))
    fresh = [text for text in texts if bare(text) not in shown]
    return [Item(fresh[index], index) for index in rank_sentences(fresh)[:_MOST_SENTENCES]]


def offer_quotes(foreign: Iterable[str], *, prior: Sequence[str]) -> list[Item]:
    """Offer the sentences of *foreign* summaries in their order, after the *prior* quotes."""
    quoted = [sentence for text in foreign for sentence in split_sentences(text)]
    texts = list(dict.fromkeys([*prior, *quoted]))[:_MOST_SENTENCES]
    return [Item(text, place) for place, text in enumerate(texts)]


def offer_tail(speeches: Sequence[Speech], *, prior: Sequence[str], detail: int) -> list[Item]:
    """Offer the beginnings of the last messages with text, or of *prior* ones, the last first."""
    new = [attribute(speech.role, one_line(speech.text)) for speech in speeches[-_MOST_LAST:]]
    texts = new or list(prior[-_MOST_LAST:])
    newest = len(texts) - 1
    items = (
        Item(shorten(texts[place], limit=detail if place == newest else detail // 2), place)
        for place in range(newest, -1, -1)
    )
    return [item for item in items if item.text]


_MAX_SENTENCES = 400
_MAX_POSTINGS = 60
_DAMPING = 0.85
_ROUNDS = 15
_SENTENCE_LENGTHS = range(20, 401)
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
        if len(sentence) in _SENTENCE_LENGTHS:
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
    chosen = stratify(sentences, limit=_MAX_SENTENCES)
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
