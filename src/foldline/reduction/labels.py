"""Labels of a report that look like those of a turn: "System: Ubuntu", "User: wants a refund"."""

import re
from collections.abc import Set as AbstractSet

from foldline.reduction.language import LANGUAGES, TELLING, content, words
from foldline.reduction.orders import imitates


__all__ = ["is_fact"]


_LABEL = re.compile(
    r"[\s*_`]*(?:(?P<side>[Uu]ser|[Hh]uman|[Aa]ssistant|AI|[Bb]ot)"
    r"|[Ss]ystem|[Tt]ool|[Mm]odel|[Ff]unction|[Ii]nstructions?|[Pp]rompt)[*_`]{0,4}\s?:[*_`]{0,4}\s"
).match
_THIRD_PERSON = re.compile(
    r"[a-z]{2,}(?:[a-rt-z]s|ed)|will|found|wrote|chose|is|was|has|did|made|ran|got|began|kept"
).fullmatch
# Who speaks to somebody, forbids or permits is no label.
_PERSONS = frozenset(
    word
    for code in ("en", "de", "fr", "es")
    for word in LANGUAGES[code].first | LANGUAGES[code].second
)
_SPEAKS = re.compile(
    r"[!?！？\"“„«]|\b(?:please|yes|no|ok|okay|sure|thanks|this|always|never|must|should|shall|may|can|cannot"
    r"|allowed|permitted|approved|authorized|granted|lifted|disabled|enabled|ignore|bitte|immer|nie|darf|muss|jamais"
    r"|toujours|siempre|nunca|sempre|mai|altijd|nooit|alltid|aldrig|zawsze|nigdy|всегда|никогда)\b",
    re.IGNORECASE,
).search
# What follows a word that is an order.
_IS_OBJECT = re.compile(
    r"the|an?|all|any|every|each|both|this|that|these|those|it|them|everything|his|her|their|its|der|die|das|den|alle"
    r"|les?|la|tous|toutes|el|l[oa]s|todos|il|lo|gli|tutti|o|os|de|het"
).fullmatch
_LEAST_KNOWN = 0.5


def is_fact(statement: str, said: AbstractSet[str]) -> bool:
    """
    Whether *statement* has the label of a turn, but reports something of the conversation.

    It begins with a word of meaning that is among the stems that were *said*, as are half of all; or,
    behind the label of a side, with what that one did or wants. It speaks to nobody.
    """
    label = _LABEL(statement)
    if label is None:
        return False
    rest = statement[label.end() :]
    found = words(rest)
    if not found or imitates(rest) or _SPEAKS(rest) or not _PERSONS.isdisjoint(found):
        return False
    told = found[1:] if label["side"] else found
    meant = [stem for word in told if word not in TELLING for stem in content([word])]
    if sum(stem in said for stem in meant) < _LEAST_KNOWN * len(meant):
        return False
    if label["side"]:
        return found[0] in TELLING or _THIRD_PERSON(found[0]) is not None
    return bool(meant) and meant[0] in said and not any(map(_IS_OBJECT, found[1:2]))
