"""Whether a summary tells of each side of a conversation what the other one said."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from foldline.history.messages import Message
from foldline.reduction.language import ANSWERING, SIDES, TELLING, content, words
from foldline.reduction.sources import texts_of
from foldline.reduction.statements import statements


__all__ = ["swaps_sides"]


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
    by_user = _first_said(messages)
    found = {*_judged(text, by_user)}
    return found == {(True, False), (False, False)}


def _first_said(messages: Iterable[Message]) -> Mapping[str, bool]:
    """Return, by stem, whether a user said it before anybody else did."""
    found: dict[str, bool] = {}
    for message in messages:
        for stem in content(words("\n".join(texts_of([message])))):
            found.setdefault(stem, message.is_from_user)
    return found


def _judged(text: str, by_user: Mapping[str, bool]) -> Iterator[tuple[bool, bool]]:
    """Yield of each statement about one side whether that is the user, and whether it tells of him."""
    for one in (part for unit in statements(text) for part in _SENTENCES(unit)):
        told = words(one)
        start = next((at for at, word in enumerate(told) if word in SIDES), len(told))
        if start > _LATEST_NAMED or start == len(told):
            continue
        is_user = told[start] not in ANSWERING
        said = Counter(by_user[stem] for stem in _of_side(told[start:]) if stem in by_user)
        if said.total() >= _LEAST_WORDS:
            yield is_user, said[is_user] > _MOST_OWN * said.total()


def _of_side(told: Sequence[str]) -> set[str]:
    """Return the stems of what is told of the first side named, up to the other one."""
    is_other = (
        at
        for at, word in enumerate(told)
        if word in SIDES and (word in ANSWERING) != (told[0] in ANSWERING)
    )
    return content(told[: next(is_other, len(told))]) - _OF_TELLING
