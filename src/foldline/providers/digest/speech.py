"""What was said: requests and rules of the user, the most central sentences, the last words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from foldline.providers.digest.budget import Item
from foldline.providers.digest.sentences import rank_sentences, split_sentences
from foldline.providers.digest.text import ELLIPSIS, attribute, bare, one_line, shorten
from foldline.providers.digest.transcript import Speech


__all__ = ["offer_quotes", "offer_requests", "offer_rules", "offer_sentences", "offer_tail"]


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

    Args:
        prior: The requests of the absorbed digests, oldest first.
        detail: How many characters the newest request may have; the very first may have two
            thirds of it, the others a third.
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

    Args:
        prior: The rules of the absorbed digests, oldest first.
        asked: The requests of those digests, which may hold rules too.
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
    """
    Offer sentences by their centrality.

    Args:
        prior: Sentences of the absorbed digests; they compete with the new ones.
        shown: What other sections show; its sentences are not repeated.
    """
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
    """
    Offer the beginnings of the last messages with text, the last one first.

    Args:
        prior: The end of the newest absorbed digest; shown if nothing new was said.
        detail: How many characters the last one may have; the others may have half.
    """
    new = [attribute(speech.role, one_line(speech.text)) for speech in speeches[-_MOST_LAST:]]
    texts = new or list(prior[-_MOST_LAST:])
    newest = len(texts) - 1
    items = (
        Item(shorten(texts[place], limit=detail if place == newest else detail // 2), place)
        for place in range(newest, -1, -1)
    )
    return [item for item in items if item.text]
