"""
Searching messages for words.

A word is a run of letters, digits and underscores, compared without case and in one form of
Unicode (NFKC). Scripts that put no space between words are searched character by character, as a
phrase. All stores find the same: where one has an index it only chooses which rows are read, and
what is read is searched again here.
"""

import logging
import re
import unicodedata
from collections.abc import Iterator, Sequence

from msgspec import Struct

from foldline.errors import ConfigError, StoreError
from foldline.history.messages import Message
from foldline.history.parts import (
    CompactionPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.threads.arguments import check_index
from foldline.threads.backing import Backing
from foldline.threads.old_storage import WordIndex
from foldline.threads.reader import ThreadReader
from foldline.threads.record import ThreadRecord


__all__ = ["Match", "Query", "find_messages", "text_of", "words_of"]


_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r'"([^"]*)"')
# Scripts without spaces: Han, kana, Thai, Lao, Burmese, Khmer.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff])"
)
_STRIDE = 256
_SHOWN = 80

_LOGGER = logging.getLogger("foldline")


class Match(Struct, frozen=True, kw_only=True):
    """A message that was found."""

    number: int
    """Its number among all messages, from 0, system messages counted."""

    message: Message
    """The message."""

    excerpt: str
    """The text around the first word that was looked for."""


class Query(Struct, frozen=True):
    """What is looked for: phrases of one or more words, all of which must be there."""

    phrases: tuple[tuple[str, ...], ...]
    """The words of each phrase."""

    @classmethod
    def parse(cls, text: str) -> "Query":
        """
        Read a search text, in which double quotes hold a phrase together.

        Raises:
            ConfigError: It is no text, or has no word.
        """
        _check_text(text)
        quoted = [words_of(phrase) for phrase in _QUOTED.findall(text)]
        single = [words_of(word) for word in _QUOTED.sub(" ", text).split()]
        phrases = tuple(tuple(phrase) for phrase in (*quoted, *single) if phrase)
        if not phrases:
            message = f"a search text of {len(text)} characters has no word"
            raise ConfigError(message)
        return cls(phrases)

    @property
    def words(self) -> list[str]:
        """Every word, once."""
        return list(dict.fromkeys(word for phrase in self.phrases for word in phrase))

    def fits(self, words: Sequence[str]) -> bool:
        """Whether *words* hold every phrase."""
        return all(_holds(words, phrase) for phrase in self.phrases)


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        message = f"a search text is a {type(text).__name__}: allowed is a text"
        raise ConfigError(message)


def _holds(words: Sequence[str], phrase: Sequence[str]) -> bool:
    size = len(phrase)
    starts = (place for place, word in enumerate(words) if word == phrase[0])
    return any(tuple(words[start : start + size]) == tuple(phrase) for start in starts)


def words_of(text: str) -> list[str]:
    """Return the words of *text*, in order."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(_UNSPACED.sub(r" \1 ", folded))


def text_of(message: Message) -> str:
    """Return everything that is said in *message*, tool calls and answers included."""
    return "\n".join(_texts(message.parts))


def _texts(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, TextPart | ReasoningPart | CompactionPart):
            yield part.content
        elif isinstance(part, ToolCallPart):
            yield part.name
            yield part.arguments
        elif isinstance(part, ToolCallResponsePart):
            if isinstance(part.response, str):
                yield part.response
            else:
                yield from _texts(part.response)


async def find_messages(
    backing: Backing, record: ThreadRecord, text: str, *, limit: int
) -> list[Match]:
    """
    Return the newest *limit* messages of a thread that hold every word of *text*.

    Raises:
        ConfigError: *text* is none or has no word, or *limit* is no whole number from 1 up.
    """
    check_index("limit", limit)
    if limit < 1:
        message = f"limit={limit}: allowed is a whole number from 1 up"
        raise ConfigError(message)
    query = Query.parse(text)
    reader = ThreadReader(backing, record.key, record.head)
    numbers: list[int] | None = None
    if isinstance(backing.storage, WordIndex) and not backing.vault.encrypts:
        numbers = await _looked_up(backing.storage, reader, record, query)
    if numbers is None:
        return await _scan(reader, record.head.count, query, limit)
    return await _searched(reader, numbers, query, limit)


async def _scan(reader: ThreadReader, stop: int, query: Query, limit: int) -> list[Match]:
    found: list[Match] = []
    while stop > 0 and len(found) < limit:
        start = max(0, stop - _STRIDE)
        messages = await reader.messages(start, stop)
        for number in range(stop - 1, start - 1, -1):
            match = _match(number, messages[number - start], query)
            if match is not None:
                found.append(match)
        stop = start
    return found[:limit]


def _match(number: int, message: Message, query: Query) -> Match | None:
    text = text_of(message)
    if not query.fits(words_of(text)):
        return None
    return Match(number=number, message=message, excerpt=_excerpt(text, query))


def _excerpt(text: str, query: Query) -> str:
    flat = " ".join(text.split())
    at = flat.casefold().find(query.phrases[0][0])
    start = max(0, at - _SHOWN // 2)
    return flat[start : start + _SHOWN]


async def _searched(
    reader: ThreadReader, numbers: Sequence[int], query: Query, limit: int
) -> list[Match]:
    found: list[Match] = []
    for number in reversed(numbers):
        (message,) = await reader.messages(number, number + 1)
        match = _match(number, message, query)
        if match is not None:
            found.append(match)
        if len(found) == limit:
            break
    return found


async def _looked_up(
    index: WordIndex, reader: ThreadReader, record: ThreadRecord, query: Query
) -> list[int] | None:
    """
    Return the rows that may hold what is looked for; None where the index cannot tell.

    It cannot where it is damaged, or where there is no room or no right to write to it.
    """
    key, branch, stop = record.key, record.head.branch, record.head.count
    try:
        # Rows enter the index when somebody searches, so that appending costs nothing for it.
        start = await index.indexed(key, branch)
        while start < stop:
            end = min(stop, start + _STRIDE)
            messages = await reader.messages(start, end)
            words = [
                (start + place, " ".join(words_of(text_of(message))))
                for place, message in enumerate(messages)
            ]
            await index.index(key, branch, words)
            start = end
        numbers = await index.find(key, branch, stop, query.words)
        # Meanwhile somebody may have taken words out of it, to have it made anew.
        is_complete = await index.indexed(key, branch) >= stop
    except StoreError as error:
        _LOGGER.info("a search reads messages instead of its index: %s", error)
        return None
    return numbers if is_complete else None
