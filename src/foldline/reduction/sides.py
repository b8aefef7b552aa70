"""Whether a summary tells of each side of a conversation what the other one said."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from foldline.history.messages import Message
from foldline.reduction.language import ANSWERING, SIDES, TELLING, content, is_unspaced, words
from foldline.reduction.sources import texts_of
from foldline.reduction.statements import statements


# Who did it stands at the beginning of a statement, and a few words tell whose they are.
_LATEST_NAMED = 2
_LEAST_WORDS = 2
# A number before the full stop ends no statement, but a sentence.
_SENTENCES = re.compile(r"(?<=[.!?])\s").split
_MOST_OWN = 1 / 3
_OF_TELLING = content(TELLING)


def swaps_sides(text: str, messages: Iterable[Message]) -> bool:
    """
    Whether *text* tells of each side, and always, what the other one said first in *messages*.

    One such statement proves nothing: a user takes what he was offered, and an assistant repeats.
    """
    told = [*_told(text)]
    if {is_user for is_user, _ in told} != {True, False}:
        return False
    by_user = _first_said(messages, set[str]().union(*(stems for _, stems in told)))
    return {*_judged(told, by_user)} == {(True, False), (False, False)}


def _told(text: str) -> Iterator[tuple[bool, set[str]]]:
    """Yield of each statement about one side whether that is the user, and its stems."""
    for one in (part for unit in statements(text) for part in _SENTENCES(unit)):
        told = words(one)
        start = next((at for at, word in enumerate(told) if word in SIDES), len(told))
        if start <= _LATEST_NAMED and start < len(told):
            yield told[start] not in ANSWERING, _of_side(told[start:])


def _first_said(messages: Iterable[Message], wanted: Iterable[str]) -> Mapping[str, bool]:
    """Return, by stem of those *wanted*, whether a user said it before anybody else did."""
    speakers = [*messages]
    texts = ["\n".join(texts_of([one])).casefold() for one in speakers]
    ends = [*accumulate(len(text) + 1 for text in texts)]
    joined = "\n".join(texts).replace("’", "'")
    places = {stem: _place(stem, joined) for stem in wanted}
    return {
        stem: speakers[bisect_right(ends, at)].is_from_user
        for stem, at in places.items()
        if at >= 0
    }


def _place(stem: str, text: str) -> int:
    """Return where a word of *text* first begins with *stem*; -1 if none does."""
    at = text.find(stem)
    while at > 0 and text[at - 1].isalnum() and not is_unspaced(stem):
        at = text.find(stem, at + 1)
    return at


def _judged(
    told: Iterable[tuple[bool, set[str]]], by_user: Mapping[str, bool]
) -> Iterator[tuple[bool, bool]]:
    """Yield of each statement *told* whether it is about the user, and whether it tells of him."""
    for is_user, stems in told:
        said = Counter(by_user[stem] for stem in stems if stem in by_user)
        if said.total() >= _LEAST_WORDS:
            yield is_user, said[is_user] > _MOST_OWN * said.total()


def _of_side(told: Sequence[str]) -> set[str]:
    """Return the stems of what is said about the first side named, up to the other one."""
    is_other = (
        at
        for at, word in enumerate(told)
        if word in SIDES and (word in ANSWERING) != (told[0] in ANSWERING)
    )
    return content(told[: next(is_other, len(told))]) - _OF_TELLING
