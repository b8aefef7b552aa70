"""The sentences in which the user forbids, demands or prefers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from foldline.providers.digest.outline import Item
from foldline.providers.digest.prose import split_sentences
from foldline.providers.digest.span import Speech
from foldline.providers.digest.text import ELLIPSIS, distinct


__all__ = ["offer_rules"]


_MOST_RULES = 200
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


def offer_rules(
    speeches: Iterable[Speech], *, prior: Sequence[str], asked: Iterable[str]
) -> list[Item]:
    """
    Offer the sentences in which the user forbids, demands or prefers, the strict ones first.

    Of equally strict ones the newest and the oldest alternate: a rule holds until it is withdrawn.
    """
    new = (speech.text for speech in speeches if speech.role == "user")
    texts = distinct([*_rules(asked), *prior, *_rules(new)])
    strict = [place for place, text in enumerate(texts) if _STRICT.search(text)]
    others = sorted(set(range(len(texts))).difference(strict))
    ranked = _from_both_ends(strict) + _from_both_ends(others)
    return [Item(texts[place], place) for place in ranked[:_MOST_RULES]]


def _rules(texts: Iterable[str]) -> Iterator[str]:
    for sentence in chain.from_iterable(map(split_sentences, texts)):
        is_whole = len(sentence) <= _RULE_LENGTH and not sentence.endswith(ELLIPSIS)
        if is_whole and _RULE.search(sentence):
            yield sentence


def _from_both_ends(places: Sequence[int]) -> list[int]:
    pairs = zip_longest(reversed(places), places)
    return list(dict.fromkeys(place for pair in pairs for place in pair if place is not None))
