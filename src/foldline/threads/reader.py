"""Reading the messages of a thread: windows, pages, and searches, which read page by page."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from foldline.checks import expect
from foldline.errors import ConfigError, StoreCorruptError
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
from foldline.reduction.state import HistoryReductionState
from foldline.threads.cipher import DAMAGE_ADVICE
from foldline.threads.head import Head
from foldline.threads.key import ThreadKey
from foldline.threads.row import (
    NO_SEAL,
    KnownRow,
    MessageRow,
    StoredRow,
    check_chain,
    extend_history,
    read_body,
    read_chain,
    read_messages,
    read_row,
    read_rows,
    write_body,
)
from foldline.threads.storage import StoreContext


_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r'"([^"]*)"')
# Scripts without spaces: Han, kana, Thai, Lao, Burmese, Khmer.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff])"
)
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SHOWN = 80

_STRIDE = 64
_PAGE = 1_000
# Reading so many rows that nobody needs takes about as long as another call.
_NEAR = 64


class Match(Struct, frozen=True, kw_only=True):
    """A message that was found."""

    number: int
    """Its number among all messages, from 0, system messages counted."""

    index: int
    """Its index in the thread, as `get_range` takes it; of a system message, that of the next."""

    message: Message
    """The message."""

    excerpt: str
    """The text around the first word that was searched for."""


class ThreadReader:
    """Reads rows of one thread at one revision, and refuses what does not fit together."""

    def __init__(
        self, context: StoreContext, key: ThreadKey, head: Head, *, tail: Sequence[StoredRow] = ()
    ) -> None:
        """Read the thread *key* as of *head*, current or earlier; *tail* are its newest rows."""
        self.context: Final = context
        self._storage = context.storage
        self._vault = context.vault
        self._key = key
        self._head = head
        self._tail = tail
        self._system: list[StoredRow] = []

    async def messages(self, start: int, stop: int) -> list[Message]:
        """Return the messages with the row numbers from *start* up to *stop*."""
        if 0 < stop - start < _NEAR:
            return [one.message for one in await self._known(start, stop)]
        found: list[Message] = []
        # In pieces, so that other tasks run in between and not everything is held twice.
        for first in range(start, stop, _PAGE):
            rows = await self._rows(first, min(stop, first + _PAGE))
            found += read_messages(rows, self._vault)
        return found

    async def same(self, messages: Sequence[Message]) -> int:
        """Return how many of *messages* are stored as they are, from the first on."""
        stop = min(len(messages), self._head.count)
        for start in range(0, stop, _PAGE):
            rows = await self._rows(start, min(stop, start + _PAGE))
            for row, message in zip(rows, messages[start : start + _PAGE], strict=False):
                body = read_row(row, self._vault).body
                # JSON may give back other values than it was given, such as a list for a tuple.
                if body != write_body(message) and read_body(body) != message:
                    return row.seq
        return stop

    async def search(self, query: "Query", *, limit: int, before: int | None) -> list[Match]:
        """Return the newest *limit* messages that fit *query*, of those numbered below *before*."""
        found: list[Match] = []
        stop = self._head.count if before is None else min(before, self._head.count)
        while stop > 0 and len(found) < limit:
            start = max(0, stop - _PAGE)
            for row in reversed(await self._rows(start, stop)):
                payload = read_row(row, self._vault)
                if not query.may_fit(payload.body):
                    continue
                message = read_body(payload.body)
                said = text_of(message)
                if query.fits(said):
                    excerpt = query.excerpt(said)
                    match = Match(
                        number=row.seq, index=payload.position, message=message, excerpt=excerpt
                    )
                    found.append(match)
            stop = start
        return found[:limit]

    async def seq_of(self, position: int) -> int:
        """Return the row number of the message at *position*; after the last one, that of the end."""
        return _seq_of(position, await self._system_rows())

    async def counts_before(self, index: int) -> MessageRow | None:
        """Return what the row before *index* counts; None if there is no message before it."""
        if not 0 < index <= self._head.length:
            return None
        return await self._counts_at(index - 1, await self._system_rows())

    async def head_at(self, seq: int) -> Head:
        """Return the head as it was after the first *seq* rows, with nothing archived."""
        system: Sequence[StoredRow] = ()
        seal, counts = NO_SEAL, None
        if seq > 0:
            system = [row for row in await self._system_rows() if row.seq < seq]
            (last,) = await self._known(seq - 1, seq)
            seal, position = last.row.seal, seq - len(system) - 1
            if last.row.system:
                counts = await self._counts_at(position, system)
            else:
                self._expect(last, position)
                counts = last.counts
        plain = NO_PREFIX if counts is None else counts
        return replace(
            self._head,
            count=seq,
            system=len(system),
            system_tokens=read_row(system[-1], self._vault).tokens if system else 0,
            users=plain.users,
            tokens=plain.tokens,
            digest=plain.digest,
            seal=seal,
            archived=0,
            pins=tuple([index for index in self._head.pins if index < seq - len(system)]),
        )

    async def at(self, positions: Sequence[int]) -> list[Message]:
        """Return the messages at *positions*, which are in order."""
        found, system = list[Message](), await self._system_rows()
        seqs = [_seq_of(position, system) for position in positions]
        for start, stop in _pieces(seqs, _NEAR):
            first = seqs[start]
            rows = await self._known(first, seqs[stop - 1] + 1)
            for seq, position in zip(seqs[start:stop], positions[start:stop], strict=True):
                self._expect(rows[seq - first], position)
                found.append(rows[seq - first].message)
        return found

    async def position_of(self, message_id: str) -> int:
        """Return the position of the newest message with the id *message_id*."""
        for stop in range(self._head.count, 0, -_PAGE):
            for known in reversed(await self._known(max(0, stop - _PAGE), stop)):
                if known.message.id == message_id and not known.row.system:
                    return known.counts.position
        message = f"at must be the id of a message that is no system message, got {message_id!r}"
        raise ConfigError(message)

    async def _counts_at(self, position: int, system: Sequence[StoredRow]) -> MessageRow | None:
        return None if position < 0 else (await self._message_at(position, system)).counts

    async def _message_at(self, position: int, system: Sequence[StoredRow]) -> KnownRow:
        seq = _seq_of(position, system)
        (known,) = await self._known(seq, seq + 1)
        self._expect(known, position)
        return known

    def _expect(self, known: KnownRow, position: int) -> None:
        # Which rows are system messages is not under a seal, and decides which row is looked for.
        if known.counts.position != position:
            raise self._damaged(known.row.seq)

    async def window(self, reduction: HistoryReductionState | None) -> History:
        """Return the history that a turn needs: all of it, or what follows the cut."""
        count, cut = self._head.count, 0 if reduction is None else reduction.read_up_to
        if reduction is None or not 0 < cut <= self._head.length:
            rows = await self._known(0, count)
            return extend_history(History(counter=self.context.counter), rows)
        system = await self._system_rows()
        first = _seq_of(cut - 1, system)
        rows = await self._known(first, count)
        self._expect(rows[0], cut - 1)
        if system:
            await self._check_apart([row for row in system if row.seq < first])
        opening = await self._prefix(rows, system, reduction.pinned_index)
        # A system message is in the prefix wherever it stands, with its place.
        tail = [known for known in rows[1:] if not known.row.system] if system else rows[1:]
        return self.context.recent.history(self._key, opening, tail, self.context.counter)

    async def _prefix(
        self, rows: Sequence[KnownRow], system: Sequence[StoredRow], pinned: int | None
    ) -> Prefix:
        counts = rows[0].counts
        length = counts.position + 1
        user = None
        if pinned is not None and 0 <= pinned < length:
            user = await self._message_at(pinned, system)
        elif counts.users and not any(known.message.is_from_user for known in rows[1:]):
            user = await self._last_user(_seq_of(length - 1, system) + 1)
        before = None if user is None else await self._counts_at(user.counts.position - 1, system)
        before_user = 0 if before is None else before.tokens
        instructions = read_rows(system, self._vault) if system else []
        return Prefix(
            length=length,
            digest=counts.digest,
            tokens=counts.tokens,
            users=counts.users,
            last_user=None if user is None else user.counts.position,
            user=None if user is None else user.message,
            user_tokens=0 if user is None else user.counts.tokens - before_user,
            tokens_before_user=before_user,
            system=tuple([known.message for known in instructions]),
            system_at=tuple([known.counts.position for known in instructions]),
            system_tokens=self._head.system_tokens,
        )

    async def _last_user(self, stop: int) -> KnownRow | None:
        stride = _STRIDE
        while stop > 0:
            start = max(0, stop - stride)
            for known in reversed(await self._known(start, stop)):
                if known.message.is_from_user:
                    return known
            stop, stride = start, min(4 * stride, _PAGE)
        return None

    async def _system_rows(self) -> list[StoredRow]:
        if not self._head.system or self._system:
            return self._system
        head = self._head
        rows = await self._storage.rows(self._key, head.epoch, 0, head.count, system=True)
        if len(rows) != head.system:
            raise StoreCorruptError(
                f"thread {self._key.id!r} has {len(rows)} system messages instead of "
                f"{head.system}: {DAMAGE_ADVICE}"
            )
        self._system = rows
        return rows

    async def _known(self, start: int, stop: int) -> list[KnownRow]:
        rows, before = await self._fetched(start, stop)
        vault, runs = self._vault, self._head.runs
        if start < stop == self._head.count and len(rows) <= _NEAR:
            known, bad = self.context.recent.read_chain(self._key, rows, vault, before, runs)
        else:
            known, bad = read_chain(rows, vault, before, runs)
        if bad is not None:
            raise self._damaged(rows[bad].seq)
        return known

    async def _rows(self, start: int, stop: int) -> Sequence[StoredRow]:
        rows, before = await self._fetched(start, stop)
        self._check(rows, before)
        return rows[1:] if before is None else rows

    async def _fetched(self, start: int, stop: int) -> tuple[Sequence[StoredRow], bytes | None]:
        """Return rows to be checked, and what the first follows; the one before *start*, if None."""
        # One row more, since a seal is checked against the one before it.
        first = max(0, start - 1)
        at = first - self._head.count + len(self._tail)
        if at >= 0 and self._tail and self._tail[0].seq == first - at:
            rows = self._tail[at : at + stop - first]
        else:
            rows = await self._storage.rows(self._key, self._head.epoch, first, stop)
        if len(rows) != stop - first:
            raise StoreCorruptError(
                f"thread {self._key.id!r} has {len(rows)} of the rows {first} to {stop - 1}: "
                f"{DAMAGE_ADVICE}"
            )
        if stop == self._head.count and rows and rows[-1].seal != self._head.seal:
            raise self._damaged(stop - 1)
        return rows, NO_SEAL if start <= 0 else None

    def _check(self, rows: Sequence[StoredRow], before: bytes | None) -> None:
        bad = check_chain(rows, before, self._head.runs)
        if bad is not None:
            raise self._damaged(rows[bad].seq)

    async def _check_apart(self, rows: Sequence[StoredRow]) -> None:
        """Check rows that were read without those before them, of which seals alone are needed."""
        runs = [rows[start:stop] for start, stop in _pieces([row.seq for row in rows], 2)]
        before, wanted = {-1: NO_SEAL}, [run[0].seq - 1 for run in runs if run[0].seq]
        for start, stop in _pieces(wanted, _NEAR):
            first, end = wanted[start], wanted[stop - 1] + 1
            for row in await self._storage.rows(self._key, self._head.epoch, first, end):
                # A damaged file may return a value of any type.
                if type(row.data) is bytes:
                    before[row.seq] = row.seal
        for run in runs:
            number = run[0].seq - 1
            if number not in before:
                raise self._damaged(number)
            self._check(run, before[number])

    def _damaged(self, seq: int) -> StoreCorruptError:
        return StoreCorruptError(
            f"message row {seq} of thread {self._key.id!r} is damaged: {DAMAGE_ADVICE}"
        )


def _seq_of(position: int, system: Sequence[StoredRow]) -> int:
    seq = position
    for row in system:
        if row.seq > seq:
            break
        seq += 1
    return seq


def _pieces(numbers: Sequence[int], gap: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the stop of each piece of *numbers*, a *gap* or more from the next."""
    start = 0
    for stop in range(1, len(numbers) + 1):
        if stop == len(numbers) or numbers[stop] - numbers[stop - 1] >= gap:
            yield start, stop
            start = stop


class Query(Struct, frozen=True):
    """What is searched for: phrases of one or more words, all of which must be there."""

    phrases: tuple[tuple[str, ...], ...]

    @classmethod
    def parse(cls, text: str) -> "Query":
        """Read a search text; words in double quotes are a phrase; ConfigError without a word."""
        expect("text", text, str)
        quoted = [words_of(phrase) for phrase in _QUOTED.findall(text)]
        single = [words_of(word) for word in _QUOTED.sub(" ", text).split()]
        phrases = tuple(tuple(phrase) for phrase in (*quoted, *single) if phrase)
        if not phrases:
            raise ConfigError(f"text must contain a word, got {len(text)} characters without one")
        return cls(phrases)

    def may_fit(self, body: bytes) -> bool:
        """Whether a stored message has every word somewhere; most that lack one are ASCII."""
        # JSON may write other characters as escapes.
        if not body.isascii() or b"\\u" in body:
            return True
        plain = body.lower().decode()
        return all(word in plain for phrase in self.phrases for word in phrase)

    def fits(self, text: str) -> bool:
        """Whether *text* has every phrase."""
        # No word has a space in it.
        said = f" {' '.join(words_of(text))} "
        return all(f" {' '.join(phrase)} " in said for phrase in self.phrases)

    def excerpt(self, text: str) -> str:
        """Return the part of *text* around what is searched for; see `place`."""
        flat = " ".join(text.split())
        start = max(0, self.place(flat) - _SHOWN // 2)
        return flat[start : start + _SHOWN]

    def place(self, text: str) -> int:
        """Return where in *text* all phrases are nearest to each other, the first such place."""
        # Each character stays in its place: a phrase in another form of Unicode is not looked at.
        plain = (
            text.lower()
            if text.isascii()
            else text.translate(
                {ord(one): bare for one in set(text) if len(bare := _folded(one)) == 1}
            )
        )
        found = [(at, phrase) for phrase in set(self.phrases) for at in _places(plain, phrase)]
        last: dict[tuple[str, ...], int] = {}
        best = (0, 0, 0)
        for at, phrase in sorted(found):
            last[phrase] = at
            start = min(last.values())
            best = min(best, (-len(last), at - start, start))
        return best[-1]


def _places(plain: str, phrase: Sequence[str]) -> list[int]:
    words = r"\W*".join(map(re.escape, phrase))
    whole = [one.start() for one in re.finditer(rf"(?<!\w){words}(?!\w)", plain)]
    # A character that is a word stands beside others.
    return whole or [one.start() for one in re.finditer(words, plain)]


def words_of(text: str) -> list[str]:
    """
    Return the words of *text*, in order: runs of letters, digits and underscores.

    They are without case and accents and in one form of Unicode (NFKC). In scripts without spaces
    between words each character is one, so that what is searched for there is a phrase.
    """
    plain = _folded(text)
    return _WORD.findall(plain if plain.isascii() else _UNSPACED.sub(r" \1 ", plain))


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", bare).casefold()


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
