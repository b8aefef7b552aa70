"""Which statements of a summary say that something is done that was asked for last, and by nobody answered."""

import re
from collections.abc import Iterable, Iterator, Sequence

from foldline.history.messages import Message
from foldline.history.reminders import without_reminders
from foldline.reduction.commands import orders_in
from foldline.reduction.evidence import is_left_open
from foldline.reduction.language import content, words
from foldline.reduction.quotes import TYPED
from foldline.reduction.sources import texts_of
from foldline.reduction.statements import statements


_LEAST_SHARED = 2
_LEAST_SHARE = 0.5
_CLAUSES = re.compile(r"[,;:]\s|\s(?:and|und|et|y|e|en)\s").split
# Who tells what was done says it with a verb in the past, of himself or of what it was done to.
_CLAIMS = re.compile(
    r"\b(?:was|were|been|(?:is|are) now|wurden?|worden|fue(?:ron)?|été|foi|foram|stat[oaie]|werd(?:en)?)\b"
    r"|\b(?:i|we|assistant)(?:['’]ve| have| has)? (?:(?:also|then|now) )?(?:[a-z]{2,}ed|wrote|made|sent|built|put)\b",
    re.IGNORECASE,
).search

_LEAST_BEGUN = 4
_NOT_BEGUN = re.compile(
    r"\b(?:conversation|session|chat) (?:has|had) (?:(?:only )?just (?:started|begun)|not (?:yet )?(?:started|begun))\b"
    r"|\b(?:user|customer) (?:has|had) not (?:yet )?(?:asked|said|requested) (?:for )?anything\b",
    re.IGNORECASE,
).search
_NOTHING_DONE = re.compile(
    r"\bnothing (?:has|had) (?:yet )?(?:been done|happened)(?: so far| yet)?\s?(?:[.,;]|\Z)"
    r"|\bnoch nichts (?:unternommen|getan|gemacht)\b|\brien n['’]a (?:encore )?été fait\b|\bno se ha hecho nada\b",
    re.IGNORECASE,
).search


def undone(found: Iterable[str], messages: Sequence[Message]) -> frozenset[str]:
    """Return those of *found* that tell as done what the last one of *messages* orders."""
    wishes = [*_wishes(messages)]
    if not wishes:
        return frozenset()
    return frozenset(one for one in found if any(_claims(part, wishes) for part in _CLAUSES(one)))


def unbegun(found: Iterable[str], messages: Sequence[Message]) -> frozenset[str]:
    """Return those of *found* that say that nobody has done or said anything, who has."""
    has_begun = len(messages) >= _LEAST_BEGUN
    has_acted = any(one.role == "tool" for one in messages)
    return frozenset(
        one
        for one in found
        if (has_begun and _NOT_BEGUN(one)) or (has_acted and _NOTHING_DONE(one))
    )


def _wishes(messages: Sequence[Message]) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the stems of each order that nobody can have followed yet, and which of them are new."""
    if not messages or not messages[-1].is_from_user:
        return
    text = without_reminders(messages[-1].text)
    if len(text) > TYPED:
        return
    wishes = [content(words(order.text)) for one in statements(text) for order in orders_in(one)]
    # What was spoken of before may have been done before.
    known = content(words("\n".join(texts_of(messages[:-1])))) if wishes else set[str]()
    for wish in wishes:
        if wish - known:
            yield wish, wish - known


def _claims(clause: str, wishes: Iterable[tuple[set[str], set[str]]]) -> bool:
    if not _CLAIMS(clause) or is_left_open(clause):
        return False
    told = content(words(clause))
    return any(
        new & told and len(wish & told) >= max(_LEAST_SHARED, _LEAST_SHARE * len(wish))
        for wish, new in wishes
    )
