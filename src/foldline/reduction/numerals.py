"""The numbers that a text says in English words, as the transcript of a call or a meeting does."""

import re
from collections.abc import Iterator
from itertools import pairwise


__all__ = ["in_digits"]


_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_VALUES = {
    "oh": 0,
    **{word: value for value, word in enumerate(_ONES)},
    **{word: value for value, word in enumerate(_ORDINALS, 1)},
    **{word: 10 * value for value, word in enumerate(_TENS, 2)},
    **{f"{word[:-1]}ieth": 10 * value for value, word in enumerate(_TENS, 2)},
}
_ORDINAL = frozenset((*_ORDINALS, *(f"{word[:-1]}ieth" for word in _TENS)))
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_MARKS = ("point", "half")
_WORD = "|".join(sorted((*_VALUES, *_SCALES, *_MARKS), key=len, reverse=True))
_RUN = re.compile(
    rf"(\b(?!(?:{_WORD})\b)[^\W\d_]{{1,12}}\W{{1,3}})?\b((?:{_WORD})(?:(?:\s(?:euros?|dollars?|pounds?))?(?:\s?-\s?|\s)(?:and\s)?(?:an?\s)?(?:{_WORD}))*+)\b"
    r"((?:\s[^\W\d_]{1,12}){0,2})"
)
_TEN, _HUNDRED = 10, 100
_LEAST_DIGITS = 3
_LEAST_SPELLED = 3


def in_digits(text: str) -> str:
    """
    Return what *text*, folded, says in number words, a line each, between the words around it.

    Of few digits only ordinals are told, which may be days. What can be read in two ways has a line for
    each: "twelve fifty" is a price or a year.
    """
    return "\n".join(
        f"{match[1] or ''}{value}{match[3]}"
        for match in _RUN.finditer(text)
        for value in _readings(re.findall(_WORD, match[2]))
    )


def _readings(found: list[str]) -> Iterator[str]:
    groups = [*_groups(found)]
    for one in groups:
        if one and (one >= _HUNDRED or found[-1] in _ORDINAL):
            yield str(one)
    for one, other in pairwise(groups):
        if one and other and max(one, other) < _HUNDRED and other >= _TEN:
            yield f"{one}.{other}"
            yield f"{one}{other}"
    if "half" in found and groups and groups[0]:
        yield f"{groups[0]}.5"
    if len(groups) >= _LEAST_SPELLED:
        yield "".join("." if one is None else str(one) for one in groups)


def _groups(found: list[str]) -> Iterator[int | None]:
    """Yield the numbers of a run of words, and None for a point."""
    total, current, room = 0, None, 0
    for word in found:
        value, scale = _VALUES.get(word, 0), _SCALES.get(word, 0)
        begins = word in _MARKS or (not scale and not 0 < value < room)
        if begins and current is not None:
            yield total + current
            total, current = 0, None
        if word == "point":
            yield None
        elif scale == _HUNDRED:
            current, room = (current or 1) * scale, scale
        elif scale:
            total, current, room = total + (current or 1) * scale, 0, scale
        elif word != "half":
            current, room = (current or 0) + value, 0 if value < 2 * _TEN else _TEN
    if current is not None:
        yield total + current
