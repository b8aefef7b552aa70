"""What a summary is made of, as plain texts."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain

from msgspec.structs import astuple

from foldline.history.messages import Message
from foldline.history.parts import BlobPart, Part, TextPart, is_opaque
from foldline.reduction.numerals import around_digits


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
