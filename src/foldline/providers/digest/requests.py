"""What the user asked: the beginnings of user messages, verbatim, and the rules among them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from foldline.providers.digest.selection import Item
from foldline.providers.digest.sentences import split_sentences
from foldline.providers.digest.text import ELLIPSIS, one_line, shorten
from foldline.providers.digest.transcript import Speech


__all__ = ["offer_requests", "offer_rules"]


_MOST = 200
_RULE = re.compile(
    r"\b(?:do not|don['’]?t|never|must(?: not)?|always|prefer\w*|only|should(?:n['’]?t| not)?|avoid"
    r"|make sure|instead of|no longer|not allowed|insist|require\w*|cannot|can['’]t)\b",
    re.IGNORECASE,
)
# What has to be kept to comes before what is only liked.
_STRICT = re.compile(
    r"\b(?:do not|don['’]?t|never|must(?: not)?|always|no longer|not allowed|insist|make sure)\b",
    re.IGNORECASE,
)
_RULE_LENGTH = 240


def offer_requests(speeches: Iterable[Speech], *, prior: Sequence[str], detail: int) -> list[Item]:
    """
    Offer the beginnings of user messages: the newest first, then the very first, then the rest.

    Args:
        prior: The requests of the digests that are absorbed, oldest first.
        detail: The most characters of the newest request; the others get a third of it, the
            very first two thirds.
    """
    new = [one_line(speech.text) for speech in speeches if speech.role == "user"]
    texts = _distinct([*prior, *new])
    newest = len(texts) - 1
    ranked = [newest, 0, *range(newest - 1, 0, -1)][:_MOST] if texts else []
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

    Of equally strict ones the newest and the oldest come in turn: a rule holds until it is taken
    back, so it must not make way for what is said in passing.

    Args:
        prior: The rules of the digests that are absorbed, oldest first.
        asked: The requests of those digests: a rule in one is not said elsewhere.
    """
    new = (speech.text for speech in speeches if speech.role == "user")
    texts = _distinct([*_rules(asked), *prior, *_rules(new)])
    strict = [place for place, text in enumerate(texts) if _STRICT.search(text)]
    others = sorted(set(range(len(texts))).difference(strict))
    ranked = _from_both_ends(strict) + _from_both_ends(others)
    return [Item(texts[place], place) for place in ranked[:_MOST]]


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
