"""What a summary is made of, as plain texts."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain

from msgspec.structs import astuple

from foldline.history.messages import Message
from foldline.history.parts import BlobPart, Part, TextPart, is_opaque
from foldline.reduction.numerals import around_digits


_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))", re.DOTALL)
_CONTROLS = "bfnrt"
# JSON is escaped again if it is a value in JSON.
_MOST_ESCAPED = 3
# What is not seen between letters, dashes of all lengths, and digits of other scripts.
_UNSEEN = (
    *(0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)),
    *(0xFEFF, *range(0xE0000, 0xE0080)),
)
_ALIKE = {
    **dict.fromkeys(map(chr, _UNSEEN), ""),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    **{chr(zero + digit): str(digit) for zero in (0x660, 0x6F0, 0x966) for digit in range(10)},
}


# With colors come what grep and gcc clear after each (`[K`) and what `tput sgr0` writes (`(B`).
_COLOR = re.compile(r"\x1b(?:\[(?:[\d;:]{0,40}m|K)|\(B|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\))")
_MOVE = re.compile(r"\x1b\[[0-?]{0,40}[ -/]{0,8}[@-~]")


class TextParts:
    """What is read of a long text, where the rest of it cannot matter."""

    def __init__(self, text: str) -> None:
        """Take them from *text* once somebody asks."""
        self._text = text

    @cached_property
    def figures(self) -> str:
        """What stands around the digits."""
        return "\n".join(around_digits(self._text))

    @cached_property
    def runs(self) -> str:
        """What stands between spaces, each once: most come again and again."""
        return "\n".join(set(self._text.split()))


def texts_of(messages: Iterable[Message]) -> Iterator[str]:
    """Give every text of *messages*: names, calls, arguments, answers and what was thought."""
    for message in messages:
        yield message.name or ""
        for part in message.parts:
            if type(part) is TextPart:
                yield part.content
            else:
                yield from _part_texts(part)


def _part_texts(part: Part) -> Iterator[str]:
    # Binary content has no text to take a name from, and what is opaque is not said.
    if not isinstance(part, BlobPart) and not is_opaque(part):
        for value in astuple(part):
            if isinstance(value, str):
                yield value
            elif not isinstance(value, bool):
                yield from chain.from_iterable(map(_part_texts, value))


def as_shown(text: str) -> str:
    """
    Return *text* as a terminal shows it: without colors, links and titles.

    They would be one word with what they color. A move of the cursor ends a word.
    """
    return _MOVE.sub(" ", _COLOR.sub("", text)) if "\x1b" in text else text


def alike(text: str) -> str:
    """Return *text* without forms that only look different."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text)
    # Most texts have few of them: `translate` looks at each character.
    for one in _ALIKE.keys() & set(text):
        text = text.replace(one, _ALIKE[one])
    return text


def as_read(text: str) -> str:
    """Return *text* and after it the same without escapes, even if it is not whole JSON."""
    readings = [as_shown(text)]
    while "\\" in readings[-1] and len(readings) <= _MOST_ESCAPED:
        readings.append(as_shown(_ESCAPE.sub(_unescaped, readings[-1])))
    return "\n".join(readings)


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16)).casefold()
    return "\n" if match[2] in _CONTROLS else match[2]
