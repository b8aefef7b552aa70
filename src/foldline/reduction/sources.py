"""What a summary is made of, as plain texts."""

from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec.structs import astuple

from foldline.history.messages import Message
from foldline.history.parts import BlobPart, Part, is_opaque


def texts_of(messages: Iterable[Message]) -> Iterator[str]:
    """Give every text of *messages*: names, calls, arguments, answers and what was thought."""
    for message in messages:
        yield message.name or ""
        for part in message.parts:
            yield from _part_texts(part)


def _part_texts(part: Part) -> Iterator[str]:
    # Binary content has no text to take a name from, and what is opaque is not said.
    if not isinstance(part, BlobPart) and not is_opaque(part):
        for value in astuple(part):
            if isinstance(value, str):
                yield value
            elif not isinstance(value, bool):
                yield from chain.from_iterable(map(_part_texts, value))
