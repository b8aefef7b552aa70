"""Reading the messages of a thread: windows, pages, and searches, which read page by page."""

import asyncio
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from foldline.checks import expect, expect_whole
from foldline.errors import ConfigError, StoreCorruptError
from foldline.history.digest import EMPTY_DIGEST
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import (
    CompactionPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.history.prefix import NO_PREFIX, Prefix
from foldline.reduction.state import HistoryReductionState, hash_text
from foldline.threads.head import Head
from foldline.threads.key import ThreadKey
from foldline.threads.row import (
    SEAL_SIZE,
    KnownRow,
    MessageRow,
    StoredRow,
    check_chain,
    extend_history,
    read_row,
    read_rows,
)
from foldline.threads.storage import StoreContext


__all__ = ["Match", "Query", "ThreadReader", "find_messages", "text_of", "words_of"]


_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r'"([^"]*)"')
# Scripts without spaces: Han, kana, Thai, Lao, Burmese, Khmer.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff])"
)
_SHOWN = 80

_STRIDE = 64
_PAGE = 1_000
# Reading so many rows that nobody needs takes about as long as another call.
_NEAR = 64
_CALLS_AT_ONCE = 16


class ThreadReader:
    """Reads rows of one thread at one revision, and refuses what does not fit together."""

    def __init__(
        self,
        context: StoreContext,
        key: ThreadKey,
        head: Head,
        *,
        tail: Sequence[StoredRow] = (),
    ) -> None:
        """
        Read the thread *key* as of *head*.

        Args:
            context: What the threads of the store have in common.
            key: The thread.
            head: Its head, current or earlier.
            tail: Its newest rows, if they were read with the head.
        """
        self.context: Final = context
        """What the threads of the store have in common."""
        self._key = key
        self._head = head
        self._tail = tail
        self._system: list[StoredRow] = []

    @property
    def head(self) -> Head:
        """The head that is read."""
        return self._head

    async def messages(self, start: int, stop: int) -> list[Message]:
        """
        Return the messages with the row numbers from *start* up to *stop*.

        Raises:
            StoreCorruptError: A row is missing or damaged.
        """
        found: list[Message] = []
        # In pieces, so that other tasks run in between and not everything is held twice.
        for first in range(start, stop, _PAGE):
            rows = await self._rows(first, min(stop, first + _PAGE))
            found += [known.message for known in self._read(rows)]
        return found

    async def seq_of(self, position: int) -> int:
        """
        Return the row number of the message at *position*, where system messages do not count.

        For the position after the last message it is the number after the last row.
        """
        return _seq_of(position, await self._system_rows())

    async def seq_behind(self, position: int) -> int:
        """
        Return how many rows there are up to *position*, with the system messages that stand there.
        """
        seq = position
        for row in await self._system_rows():
            if row.seq > seq:
                break
            seq += 1
        return seq

    async def hash_at(self, index: int) -> str:
        """
        Return the stored form of the digest of the first *index* messages.

        It is that of no messages if there are fewer.
        """
        counts = None
        if 0 < index <= self._head.length:
            counts = await self._counts_at(index - 1, await self._system_rows())
        return hash_text(EMPTY_DIGEST if counts is None else counts.digest)

    async def head_at(self, seq: int) -> Head:
        """Return the head as it was after the first *seq* rows, with nothing archived."""
        system: Sequence[StoredRow] = ()
        seal, counts = bytes(SEAL_SIZE), None
        if seq > 0:
            system = [row for row in await self._system_rows() if row.seq < seq]
            (last,) = await self._rows(seq - 1, seq)
            seal = last.seal
            counts = await self._counts_at(seq - len(system) - 1, system)
        plain = NO_PREFIX if counts is None else counts
        return replace(
            self._head,
            count=seq,
            system=len(system),
            system_tokens=self._counts(system[-1]).tokens if system else 0,
            users=plain.users,
            tokens=plain.tokens,
            digest=plain.digest,
            seal=seal,
            archived=0,
        )

    async def _counts_at(self, position: int, system: Sequence[StoredRow]) -> MessageRow | None:
        if position < 0:
            return None
        seq = _seq_of(position, system)
        (row,) = await self._rows(seq, seq + 1)
        counts = self._counts(row)
        self._expect(counts, position, seq)
        return counts

    def _expect(self, counts: MessageRow, position: int, seq: int) -> None:
        # Which rows are system messages is not under a seal, and decides which row is looked for.
        if counts.position != position:
            raise self._damaged(seq)

    async def window(self, reduction: HistoryReductionState | None) -> History:
        """
        Return the history that a turn needs: all of it, or what follows the cut of *reduction*.

        Raises:
            StoreCorruptError: A row is missing or damaged.
        """
        counter = self.context.counter
        if reduction is None or not 0 < reduction.summarized_up_to_index <= self._head.length:
            rows = await self._known(0, self._head.count)
            return _extended(History(counter=counter), rows)
        cut = reduction.summarized_up_to_index
        system = await self._system_rows()
        first = _seq_of(cut - 1, system)
        rows = await self._known(first, self._head.count)
        self._expect(rows[0].counts, cut - 1, first)
        await self._check_apart([row for row in system if row.seq < first])
        opening = await self._prefix(rows, system, reduction.pinned_index)
        # A system message is in the prefix wherever it stands, since a view has it in front.
        tail = [known for known in rows[1:] if not known.row.system]
        return _extended(History(counter=counter, prefix=opening), tail)

    async def _prefix(
        self, rows: Sequence[KnownRow], system: Sequence[StoredRow], pinned: int | None
    ) -> Prefix:
        counts = rows[0].counts
        length = counts.position + 1
        user = None
        is_pinned = pinned is not None and pinned < length
        has_user = any(known.message.role == "user" for known in rows[1:])
        if is_pinned or (counts.users and not has_user):
            user = await self._last_user(length, system, pinned)
        before = None if user is None else await self._counts_at(user.counts.position - 1, system)
        before_user = 0 if before is None else before.tokens
        instructions = self._read(system)
        return Prefix(
            length=length,
            digest=counts.digest,
            tokens=counts.tokens,
            users=counts.users,
            last_user=None if user is None else user.counts.position,
            user=None if user is None else user.message,
            user_tokens=0 if user is None else user.counts.tokens - before_user,
            tokens_before_user=before_user,
            last_tool=length - 1,
            system=tuple(known.message for known in instructions),
            system_at=tuple(known.counts.position for known in instructions),
            system_tokens=self._head.system_tokens,
        )

    async def _last_user(
        self, length: int, system: Sequence[StoredRow], pinned: int | None
    ) -> KnownRow | None:
        """Return the last user message among the first *length* messages."""
        if pinned is not None and 0 <= pinned < length:
            seq = _seq_of(pinned, system)
            (known,) = await self._known(seq, seq + 1)
            self._expect(known.counts, pinned, seq)
            return known
        stop, stride = _seq_of(length - 1, system) + 1, _STRIDE
        while stop > 0:
            start = max(0, stop - stride)
            for known in reversed(await self._known(start, stop)):
                if known.message.role == "user":
                    return known
            stop, stride = start, min(4 * stride, _PAGE)
        return None

    async def _system_rows(self) -> list[StoredRow]:
        if not self._head.system or self._system:
            return self._system
        head = self._head
        rows = await self.context.storage.rows(self._key, head.epoch, 0, head.count, system=True)
        if len(rows) != head.system:
            message = (
                f"thread {self._key.id!r} has {len(rows)} system messages instead of {head.system}"
            )
            raise StoreCorruptError(message)
        self._system = rows
        return rows

    async def _rows(self, start: int, stop: int) -> Sequence[StoredRow]:
        # One row more, since a seal is checked against the one before it.
        first = max(0, start - 1)
        rows = self._known_rows(first, stop)
        if rows is None:
            rows = await self.context.storage.rows(self._key, self._head.epoch, first, stop)
        if len(rows) != stop - first:
            message = (
                f"thread {self._key.id!r} has {len(rows)} of the rows {first} to {stop}: "
                "`foldline verify` names what is damaged"
            )
            raise StoreCorruptError(message)
        self._check(rows, first, stop)
        return rows[start - first :]

    def _known_rows(self, first: int, stop: int) -> Sequence[StoredRow] | None:
        """Return rows of the tail, if they are all there."""
        start = self._head.count - len(self._tail)
        if first < start or not self._tail or self._tail[0].seq != start:
            return None
        return self._tail[first - start : stop - start]

    def _check(self, rows: Sequence[StoredRow], first: int, stop: int) -> None:
        before = bytes(SEAL_SIZE) if first == 0 else None
        bad = check_chain(rows, before, self._head.runs)
        is_end = stop == self._head.count and rows
        if bad is None and is_end and rows[-1].seal != self._head.seal:
            bad = len(rows) - 1
        if bad is not None:
            raise self._damaged(rows[bad].seq)

    async def _check_apart(self, rows: Sequence[StoredRow]) -> None:
        """
        Check rows that were read without those before them.

        Those that follow each other, as at the beginning of a thread, need no other row.
        """
        runs = list(_runs(rows))
        before = await self._seals([run[0].seq - 1 for run in runs if run[0].seq > 0])
        before[-1] = bytes(SEAL_SIZE)
        for run in runs:
            bad = check_chain(run, before[run[0].seq - 1], self._head.runs)
            if bad is not None:
                raise self._damaged(run[bad].seq)

    async def _seals(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """
        Return the seals of the rows *numbers*, which are in order; those between are not looked at.
        """
        wanted, seals = frozenset(numbers), dict[int, bytes]()
        spans = list(_spans(numbers))
        for first in range(0, len(spans), _CALLS_AT_ONCE):
            calls = [
                self.context.storage.rows(self._key, self._head.epoch, start, stop)
                for start, stop in spans[first : first + _CALLS_AT_ONCE]
            ]
            for rows in await asyncio.gather(*calls):
                seals.update((row.seq, self._seal(row)) for row in rows if row.seq in wanted)
        for number in numbers:
            if number not in seals:
                raise self._damaged(number)
        return seals

    def _seal(self, row: StoredRow) -> bytes:
        if check_chain([row], None, self._head.runs) is not None:
            raise self._damaged(row.seq)
        return row.seal

    def _damaged(self, seq: int) -> StoreCorruptError:
        return StoreCorruptError(
            f"message row {seq} of thread {self._key.id!r} is damaged: "
            "`foldline threads export --whole-rows` saves what is whole"
        )

    async def _known(self, start: int, stop: int) -> list[KnownRow]:
        return self._read(await self._rows(start, stop))

    def _counts(self, row: StoredRow) -> MessageRow:
        return read_row(row, self.context.vault)

    def _read(self, rows: Sequence[StoredRow]) -> list[KnownRow]:
        return read_rows(rows, self.context.vault)


def _extended(history: History, rows: Sequence[KnownRow]) -> History:
    extend_history(history, rows)
    return history


def _seq_of(position: int, system: Sequence[StoredRow]) -> int:
    seq = position
    for row in system:
        if row.seq > seq:
            break
        seq += 1
    return seq


def _runs(rows: Sequence[StoredRow]) -> Iterator[Sequence[StoredRow]]:
    """Yield *rows* in pieces, in each of which the numbers follow each other."""
    start = 0
    for stop in range(1, len(rows) + 1):
        if stop == len(rows) or rows[stop].seq != rows[stop - 1].seq + 1:
            yield rows[start:stop]
            start = stop


def _spans(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """
    Yield the first number and the one after the last of the pieces in which to read *numbers*.
    """
    start = 0
    for stop in range(1, len(numbers) + 1):
        last = numbers[stop - 1]
        if stop == len(numbers) or not _is_near(numbers[start], last, numbers[stop]):
            yield numbers[start], last + 1
            start = stop


def _is_near(first: int, last: int, number: int) -> bool:
    return number - last < _NEAR and number - first < _PAGE


class Match(Struct, frozen=True, kw_only=True):
    """A message that was found."""

    number: int
    """Its number among all messages, from 0, system messages counted."""

    message: Message
    """The message."""

    excerpt: str
    """The text around the first word that was searched for."""


class Query(Struct, frozen=True):
    """What is searched for: phrases of one or more words, all of which must be there."""

    phrases: tuple[tuple[str, ...], ...]
    """The words of each phrase."""

    @classmethod
    def parse(cls, text: str) -> "Query":
        """
        Read a search text; words in double quotes are a phrase.

        Raises:
            ConfigError: It has no word.
        """
        expect("text", text, str)
        quoted = [words_of(phrase) for phrase in _QUOTED.findall(text)]
        single = [words_of(word) for word in _QUOTED.sub(" ", text).split()]
        phrases = tuple(tuple(phrase) for phrase in (*quoted, *single) if phrase)
        if not phrases:
            message = f"text must contain a word, got {len(text)} characters without one"
            raise ConfigError(message)
        return cls(phrases)

    def fits(self, text: str) -> bool:
        """Whether *text* has every phrase."""
        if text.isascii():
            # Most texts are ASCII and lack a word, which is seen at once.
            plain = text.lower()
            if not all(word in plain for phrase in self.phrases for word in phrase):
                return False
        words = words_of(text)
        return all(_holds(words, phrase) for phrase in self.phrases)


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
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is TextPart:
        return parts[0].content
    return "\n".join(_texts(parts))


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


async def find_messages(reader: ThreadReader, text: str, *, limit: int) -> list[Match]:
    """
    Return the newest *limit* messages that have every word of *text*.

    A word is a run of letters, digits and underscores, compared without case and in one form of
    Unicode (NFKC). Scripts without spaces between words are searched character by character, as a
    phrase.

    Raises:
        ConfigError: *text* has no word, or *limit* is not a whole number of at least 1.
    """
    expect_whole("limit", limit, 1)
    query = Query.parse(text)
    found: list[Match] = []
    stop = reader.head.count
    while stop > 0 and len(found) < limit:
        start = max(0, stop - _PAGE)
        messages = await reader.messages(start, stop)
        for number in range(stop - 1, start - 1, -1):
            message = messages[number - start]
            said = text_of(message)
            if query.fits(said):
                excerpt = _excerpt(said, query)
                found.append(Match(number=number, message=message, excerpt=excerpt))
        stop = start
    return found[:limit]


def _excerpt(text: str, query: Query) -> str:
    flat = " ".join(text.split())
    at = flat.casefold().find(query.phrases[0][0])
    start = max(0, at - _SHOWN // 2)
    return flat[start : start + _SHOWN]
