"""
What the user asked: the beginnings of user messages, verbatim, and the rules among them.
"""

import re
from collections.abc import Iterable, Sequence

from foldline.providers.digest.selection import Item
from foldline.providers.digest.sentences import split_sentences
from foldline.providers.digest.text import one_line, shorten
from foldline.providers.digest.transcript import Speech


__all__ = ["offer_requests", "offer_rules"]


_MOST = 200
_RULE = re.compile(
    r"\b(?:do not|don['’]?t|never|must(?: not)?|always|prefer\w*|only|should(?:n['’]?t| not)?|avoid"
    r"|make sure|instead of|no longer|not allowed|insist|require\w*|cannot|can['’]t)\b",
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


def offer_rules(speeches: Iterable[Speech], *, prior: Sequence[str], shown: str) -> list[Item]:
    """
    Offer the sentences in which the user forbids, demands or prefers, the newest first.

    Args:
        prior: The rules of the digests that are absorbed, oldest first.
        shown: Text that is shown anyway; what it holds is not offered.
    """
    new = [
        sentence
        for speech in speeches
        if speech.role == "user"
        for sentence in split_sentences(speech.text)
        if len(sentence) <= _RULE_LENGTH and _RULE.search(sentence)
    ]
    texts = [text for text in _distinct([*prior, *new]) if text not in shown]
    return [Item(text, place) for place, text in enumerate(texts)][::-1][:_MOST]


def _distinct(texts: Iterable[str]) -> list[str]:
    """
    Keep the last of equal *texts*, in order.
    """
    return list(dict.fromkeys(reversed([text for text in texts if text])))[::-1]
