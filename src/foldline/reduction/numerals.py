"""The numbers of a text: in digits, with whatever marks and words for zeros, or said in English words."""

import re
from collections.abc import Iterator
from itertools import pairwise


NUMBER = re.compile(
    r"(?<![\w.,])(?<!\d:)\d{1,3}(?:([,.' _])\d{3})(?:\1\d{3})*(?:[.,]\d+)?(?![\d])|\d+(?:[.,]\d+)*"
)
"""A number, with or without marks between its groups."""

MARKS = re.compile(r"[.,' _]")
"""What may stand between groups of digits."""

_DIGITS = re.compile(r"\d+")
_AROUND = 64
# How many zeros a word stands for, after a number.
_ZEROS = {
    word: zeros
    for zeros, words in {
        3: "k thousand tsd tausend mille mil mila duizend tusen tys bin тыс тысяч тысячи 千 천",
        4: "万 萬 만",
        6: "m million millions mio millionen millones milioni milhões miljoen miljoner mln milyon млн миллион"
        " миллиона миллионов",
        8: "億 亿 억",
        9: "bn billion billions mrd milliarden milliards miliardi miljard mld milyar млрд",
    }.items()
    for word in words.split()
}
_SCALED = re.compile(r"(?<![0-9A-Za-z_.,])(\d{1,9})(?:[.,](\d{1,9}))?\s?([^\W\d_]{1,10})")
_GROUP = 3
_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
_FIRSTS = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENTHS = _TENS.replace("y", "ieth")
_VALUES = {
    "oh": 0,
    **{word: value for value, word in enumerate(_ONES.split())},
    **{word: value for value, word in enumerate(_FIRSTS.split(), 1)},
    **{
        word: 10 * value
        for words in (_TENS, _TENTHS)
        for value, word in enumerate(words.split(), 2)
    },
}
_ORDINALS = frozenset((*_FIRSTS.split(), *_TENTHS.split()))
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_SIGNS = ("point", "half")
_WORD = "|".join(sorted((*_VALUES, *_SCALES, *_SIGNS), key=len, reverse=True))
_RUN = re.compile(
    rf"\b((?:{_WORD})"
    rf"(?:(?:\s(?:euros?|dollars?|pounds?))?(?:\s?-\s?|\s)(?:and\s)?(?:an?\s)?(?:{_WORD}))*)\b"
    r"((?:\s[^\W\d_]{1,12}){0,2})"
)
# Looked for only in front of a run: at each word it costs many times as much.
_BEFORE = re.compile(rf"\b(?!(?:{_WORD})\b)[^\W\d_]{{1,12}}\W{{1,3}}\Z").search
_LONGEST_BEFORE = 15
_TEN, _HUNDRED = 10, 100
_LEAST_SPELLED = 3


def around_digits(text: str) -> Iterator[str]:
    """Yield what stands around the digits of *text*: no number and no day reads further."""
    start = end = 0
    for match in _DIGITS.finditer(text):
        if match.start() - 2 * _AROUND > end:
            yield text[start : end + _AROUND]
            start = match.start() - _AROUND
        end = match.end()
    yield text[start : end + _AROUND]


def numbers_of(text: str) -> frozenset[str]:
    """Return every number in *text*, as it is written and as it is read."""
    found = set(re.findall(r"\d+", text))
    plain = {one.lstrip("0") for one in found}
    for match in NUMBER.finditer(text):
        if not match[0].isdigit():
            plain.update(readings(match[0]))
    plain.update(_scaled(text))
    return frozenset(found | plain)


def readings(written: str) -> Iterator[str]:
    """Yield what a number may mean, with a mark before its decimals or between its groups."""
    *groups, last = MARKS.split(written)
    whole = "".join(groups)
    if not groups:
        yield last.lstrip("0")
        return
    if len(last) == _GROUP:
        yield (whole + last).lstrip("0")
    decimals = last.rstrip("0")
    yield f"{whole}.{decimals}".rstrip(".").lstrip("0")


def _scaled(text: str) -> Iterator[str]:
    """Yield the numbers in *text* that have a word for their zeros, in digits."""
    for whole, decimals, word in _SCALED.findall(text):
        # No space is written after one of these.
        zeros = _ZEROS.get(word) or _ZEROS.get(word[0] if word >= "\u3000" else "", 0)
        if zeros and zeros >= len(decimals):
            yield f"{whole}{decimals:0<{zeros}}".lstrip("0")


def in_digits(text: str) -> str:
    """
    Return what *text*, folded, says in number words, a line each, between the words around it.

    Of few digits only ordinals are told, which may be days. What can be read in two ways has a line for
    each: "twelve fifty" is a price or a year.
    """
    lines: list[str] = []
    end = 0
    for match in _RUN.finditer(text):
        start = match.start()
        before = _BEFORE(text, max(end, start - _LONGEST_BEFORE), start)
        values = _spoken(re.findall(_WORD, match[1]))
        lines += [f"{before[0] if before else ''}{value}{match[2]}" for value in values]
        end = match.end()
    return "\n".join(lines)


def _spoken(found: list[str]) -> Iterator[str]:
    groups = [*_groups(found)]
    for one in groups:
        if one and (one >= _HUNDRED or found[-1] in _ORDINALS):
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
        begins = word in _SIGNS or (not scale and not 0 < value < room)
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
