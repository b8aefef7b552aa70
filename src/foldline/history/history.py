"""A history in memory, with everything that a turn asks of it."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import overload

from foldline.errors import FormatError, MessagesNotLoadedError
from foldline.history.codec import not_a_message
from foldline.history.digest import digest_at
from foldline.history.messages import Message
from foldline.history.pairing import Pairing
from foldline.history.parts import (
    CompactionPart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.history.prefix import NO_PREFIX, Prefix
from foldline.history.tokens import TokenCounter, TokenEstimator, checked_counts, count_message
from foldline.history.units import CountingUnit


class History(Sequence[Message]):
    """
    An append-only sequence of messages that knows its digests, tokens and exchanges.

    Each message is counted and paired with its tool calls once, when it is appended, and hashed when
    a digest needs it. Every question about a prefix or a tail then takes constant or logarithmic time.

    As a sequence, and in every index, it holds the messages that are not system messages: a
    reduction counts and hashes only those. `system` and `everything` return the others too.

    A history may begin after a *prefix* of which it has only the digest and the counts. Reading a
    message of that prefix raises `MessagesNotLoadedError`; nothing else differs.
    """

    def __init__(
        self,
        messages: Iterable[Message] = (),
        *,
        counter: TokenCounter | None = None,
        prefix: Prefix = NO_PREFIX,
    ) -> None:
        """
        Hold *messages*, oldest first.

        Args:
            messages: What was said so far, after *prefix*.
            counter: Counts the tokens of a str; an estimator by default.
            prefix: What is known of earlier messages that are not in memory.
        """
        self._counter: TokenCounter = counter or TokenEstimator()
        self._prefix, self._chain = prefix, bytearray(prefix.digest)
        self._first = self._length = prefix.length
        # An alias such as `list[str]` takes many times as long to make a list as `[]`.
        self._messages: list[Message] = []
        self._tokens = array("q", (prefix.tokens,))
        # Places take four bytes each.
        self._reach, self._users, self._tools = array("I"), array("I"), array("I")
        self._marked, self._whole = array("I"), array("I", (prefix.length,))
        self._peaks: list[tuple[int, int]] = []
        self._pairing, self._last_reasoning = Pairing(), -1
        self._system, self._system_at = list(prefix.system), array("I", prefix.system_at)
        self._system_tokens = prefix.system_tokens
        self.known: dict[int, Message] = {}
        """Messages of that prefix that can be read all the same, by their indexes."""
        self.extend(messages)

    def append(self, message: Message) -> None:
        """
        Append *message*.

        Raises:
            FormatError: It is no message, or a field of it has a value of another type.
        """
        try:
            (tokens,) = checked_counts((message,), self._counter)
        except (TypeError, AttributeError, AssertionError) as error:
            if (refusal := not_a_message(message)) is None:
                # It is the counter that failed.
                raise
            raise refusal from error
        self._hold(((message, tokens),))

    def copy(self) -> "History":
        """Return a history of the same messages that grows on its own."""
        # What several copies have in common is hashed once, but for the newest, many together.
        self.digest(max(self._first, self._length // _HASHED * _HASHED))
        made = object.__new__(type(self))
        made.__dict__ = fields = vars(self).copy()
        fields |= {name: fields[name][:] for name in _LISTS}
        fields |= {"known": self.known.copy(), "_pairing": self._pairing.copy()}
        return made

    def opened_with(self, rules: Message) -> "History":
        """Return a history of its own that has *rules* in place of the first system message."""
        made, system = self.copy(), [rules, *self._system[1:]]
        tokens = sum(count_message(one, self._counter) for one in system)
        vars(made).update(_system=system, _system_tokens=tokens)
        return made

    def after(self, index: int) -> "History":
        """Return this history with only the counts of what is before *index*, which tears nothing."""
        before = bisect_left(self._users, index)
        user = self._users[before - 1] if before else self._prefix.last_user
        prefix = Prefix(
            length=index,
            digest=self.digest(index),
            tokens=self.tokens(0, index),
            users=self._prefix.users + before,
            last_user=user,
            user=None if user is None else self[user],
            user_tokens=0 if user is None else self.tokens(user, user + 1),
            tokens_before_user=0 if user is None else self.tokens(0, user),
            system=self.system,
            system_at=tuple(self._system_at),
            system_tokens=self._system_tokens,
        )
        made = History(counter=self._counter, prefix=prefix)
        made.extend_known(
            (self[at], self.tokens(at, at + 1), self.digest(at + 1))
            for at in range(index, len(self))
        )
        return made

    def extend_known(self, rows: Iterable[tuple[Message, int, bytes]]) -> None:
        """
        Append messages with their tokens and digests, without counting and hashing them again.

        A digest is that of the prefix that the message ends; of a system message it is not used.
        """
        self.digest()
        known = [*rows]
        self._hold(map(itemgetter(0, 1), known))
        self._chain += b"".join([one for message, _, one in known if message.role != "system"])

    def _hold_system(self, message: Message, tokens: int) -> None:
        if self._pairing.asked:
            self._pairing.last_damage = self._length
        self._system.append(message)
        self._system_at.append(self._length)
        self._system_tokens += tokens

    def _hold(self, rows: Iterable[tuple[Message, int]]) -> None:
        held, sums, peaks, whole = self._messages, self._tokens, self._peaks, self._whole
        position, total, before = self._length, sums[-1], held[-1] if held else None
        pairing = self._pairing
        for message, size in rows:
            role, parts = message.role, message.parts
            if role == "system":
                self._hold_system(message, size)
                continue
            self._length = position + 1
            held.append(message)
            total += size
            sums.append(total)
            while peaks and peaks[-1][1] <= size:
                peaks.pop()
            peaks.append((position, size))
            part = parts[0] if len(parts) == 1 else None
            text = part.content if type(part) is TextPart and role != "tool" else None
            if role == "user":
                if (text and text[0].isalpha()) or message.is_from_user:  # no reminder, for most
                    self._users.append(position)
                pairing.open.clear()
            if message.metadata is not None:
                self._marked.append(position)
            is_free = text is not None and not pairing.asked
            reach = position if is_free else self._pair(message, position, before)
            self._reach.append(reach)
            # A result tears every index between its call and itself, for good, and the next piece
            # of an answer the one between the two.
            if before is not None and role == before.role == "assistant" and reach == position:
                reach -= not message.begins_after(before)
            while whole[-1] > reach:
                whole.pop()
            position += 1
            whole.append(position)
            before = message

    def extend(self, messages: Iterable[Message]) -> None:
        """Append *messages* in order."""
        given = messages if isinstance(messages, list) else [*messages]
        try:
            tokens = checked_counts(given, self._counter)
        except (TypeError, AttributeError, AssertionError):
            for place, message in enumerate(given):
                try:
                    self.append(message)
                except FormatError as error:
                    text = f"messages[{place}]: {error}".replace(": message must", " must", 1)
                    raise FormatError(text) from error
        else:
            self._hold(zip(given, tokens, strict=True))

    def _pair(self, message: Message, position: int, before: Message | None) -> int:
        """Return the position of the earliest call that *message* answers, or its own."""
        reach, pairing = position, self._pairing
        calls: list[str] = []
        answers: list[str] = []
        for part in message.parts:
            if type(part) is TextPart:
                continue
            if isinstance(part, ToolCallPart):
                calls.append(part.id)
                pairing.called(part.id, message, position)
            elif isinstance(part, ToolCallResponsePart):
                answers.append(part.id)
                reach = min(reach, pairing.answered(part.id, position))
            elif isinstance(part, GenericPart):
                reach = min(reach, pairing.served(part, message, position))
            elif isinstance(part, ReasoningPart):
                self._last_reasoning = position
            elif isinstance(part, CompactionPart):
                self._marked.append(position)
        if calls or message.role == "tool":
            self._tools.append(position)
        if calls or answers or pairing.asked:
            pairing.follow(message, before, position, calls=calls, answers=answers)
        return reach

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if self._prefix is NO_PREFIX:
            return self._messages[index]
        if isinstance(index, slice):
            return [self._behind(at) for at in range(*index.indices(len(self)))]
        return self._behind(range(len(self))[index])

    def _behind(self, index: int) -> Message:
        prefix = self._prefix
        if index >= prefix.length:
            return self._messages[index - prefix.length]
        if index == prefix.last_user and prefix.user is not None:
            return prefix.user
        if index in self.known:
            return self.known[index]
        raise MessagesNotLoadedError(index=index, start=prefix.length)

    def __iter__(self) -> Iterator[Message]:
        self._need_all()
        return iter(self._messages)

    def _need_all(self) -> None:
        if self._prefix.length:
            raise MessagesNotLoadedError(index=0, start=self._prefix.length)

    def __repr__(self) -> str:
        return f"<History messages={len(self)} system={len(self._system)} tokens={self.tokens()}>"

    @property
    def system(self) -> tuple[Message, ...]:
        """The system messages, in order."""
        return tuple(self._system)

    @property
    def total(self) -> int:
        """The number of all messages, system messages included."""
        return self._length + len(self._system)

    @property
    def start(self) -> int:
        """The index of the first message in memory."""
        return self._prefix.length

    @property
    def system_tokens(self) -> int:
        """The tokens of the system messages together."""
        return self._system_tokens

    @property
    def counter(self) -> TokenCounter:
        """What counts the tokens of a str here."""
        return self._counter

    def everything(self) -> list[Message]:
        """
        Return all messages, system messages at their places.

        Raises:
            MessagesNotLoadedError: A part of the history is not in memory.
        """
        self._need_all()
        result, start = self._messages[:0], 0
        for at, message in zip(self._system_at, self._system, strict=True):
            result += (*self._messages[start:at], message)
            start = at
        return result + self._messages[start:]

    def system_after(self, length: int) -> list[tuple[int, Message]]:
        """Return the system messages that more than *length* others precede, and how many do."""
        first = bisect_right(self._system_at, length)
        return [(self._system_at[at], self._system[at]) for at in range(first, len(self._system))]

    def at(self, index: int) -> Message:
        """Return the message at *index*, system messages counted."""
        if not self._system:
            return self[index]
        places = [place + before for before, place in enumerate(self._system_at)]
        before = bisect_left(places, index)
        return self._system[before] if index in places[before:] else self[index - before]

    def digest(self, index: int | None = None) -> bytes:
        """
        Return the digest of the first *index* messages, or of all of them.

        Raises:
            IndexError: There are fewer messages than *index*.
            MessagesNotLoadedError: The prefix ends in a part that is not in memory.
        """
        place = len(self._messages) if index is None else index - self._first
        if not 0 <= place <= len(self._messages):
            if index is not None and 0 < index < self._first:
                raise MessagesNotLoadedError(index=index, start=self._first)
            raise IndexError(f"no prefix of {index} messages in a history of {len(self)}")
        return digest_at(self._chain, self._messages, place)

    def tokens(self, start: int = 0, stop: int | None = None) -> int:
        """Return the tokens of the messages from *start* up to *stop*, or to the end."""
        if self._prefix is NO_PREFIX:
            return self._tokens[-1 if stop is None else stop] - self._tokens[start]
        return self._tokens_before(len(self) if stop is None else stop) - self._tokens_before(start)

    def _tokens_before(self, index: int) -> int:
        prefix = self._prefix
        if index >= prefix.length:
            return self._tokens[index - prefix.length]
        if index == 0:
            return 0
        if prefix.last_user is not None and 0 <= index - prefix.last_user <= 1:
            return prefix.tokens_before_user + (index - prefix.last_user) * prefix.user_tokens
        raise MessagesNotLoadedError(index=index, start=prefix.length)

    def largest(self, start: int) -> int:
        """Return the tokens of the largest message from *start* on that is in memory; 0 if none."""
        at = bisect_left(self._peaks, (start, 0))
        return self._peaks[at][1] if at < len(self._peaks) else 0

    def tools(self, least: int, start: int) -> dict[int, int]:
        """Return the tokens of each call and tool's message of *least* tokens from *start* on."""
        found, sums, first = bisect_left(self._tools, start), self._tokens, self._first - 1
        return {
            at: size
            for at in self._tools[found:]
            if (size := sums[at - first] - sums[at - first - 1]) >= least
        }

    def exchanges(self, start: int = 0) -> int:
        """Return how many exchanges the messages from *start* on are, on their own."""
        opened = len(self._users) - bisect_left(self._users, start)
        if start < self._prefix.length:
            # Known for the beginning and from the last user message on: no other is asked for.
            last = self._prefix.last_user
            opened += self._prefix.users if start == 0 else int(last is not None and start <= last)
        return opened or int(start < len(self))

    def count(self, unit: CountingUnit, start: int = 0) -> int:
        """Return the size of the messages from *start* on, in *unit*."""
        if unit == "messages":
            return self._length - start
        return self.exchanges(start) if unit == "exchanges" else self.tokens(start)

    def index_keeping(self, unit: CountingUnit, size: int) -> int:
        """
        Return the smallest index from which on there are at most *size* of *unit*.

        It is within what is in memory, whose newest message a view always holds. With exchanges it
        is where one begins, so that each is kept whole.
        """
        first, last = self._prefix.length, len(self) - 1
        if unit == "messages" or size == 0:
            index = len(self) - size
        elif unit == "exchanges":
            has_more = size < len(self._users) + bool(self._prefix.users)
            index = self._users[-size] if has_more else first
        else:
            index = first + bisect_left(self._tokens, self._tokens[-1] - size)
        return max(first, min(index, last)) if last >= first else max(0, last)

    def index_within(self, start: int, tokens: int) -> int:
        """
        Return the highest index up to which the messages from *start* on have at most *tokens*.

        It is at least one message further, if there is one, so that a walk over a history ends.
        """
        first = self._prefix.length
        within = bisect_right(self._tokens, self._tokens[start - first] + tokens) - 1 + first
        return max(min(start + 1, len(self)), within)

    def users(self, start: int) -> Iterator[int]:
        """Yield the indexes of the user messages in memory from *start* on, the newest first."""
        return reversed(self._users[bisect_left(self._users, start) :])

    def marked(self, start: int) -> Sequence[int]:
        """Return which messages from *start* on have metadata, as pins do, or a compaction."""
        return self._marked[bisect_left(self._marked, start) :]

    def last_user(self) -> int | None:
        """Return the index of the last user message, or None if there is none."""
        return self._users[-1] if self._users else self._prefix.last_user

    def reach(self, index: int) -> int:
        """Return the index of the earliest call that the message at *index* answers, or its own."""
        return self._reach[index - self._first]

    def first_open_call(self) -> int:
        """
        Return the index of the first call of the newest exchange that has no result yet.

        It is the number of messages if every call has one. A call of an older exchange was given
        up: the user spoke after it.
        """
        return next(iter(self._pairing.open), len(self))

    def whole_indexes(self, top: int, above: int) -> Iterator[int]:
        """Yield each index from *top* down to just over *above* where a cut tears nothing apart."""
        at = bisect_right(self._whole, top)
        while at and self._whole[at - 1] > above:
            at -= 1
            yield self._whole[at]

    def next_whole_index(self, above: int) -> int:
        """Return the lowest index over *above*, which is no end, where a cut tears nothing apart."""
        return self._whole[bisect_right(self._whole, above)]

    def has_reasoning(self, start: int) -> bool:
        """Whether a message in memory from *start* on has reasoning."""
        return self._last_reasoning >= start

    def is_damaged(self, start: int) -> bool:
        """Whether `repair` may change messages from *start* on: calls without their one result after."""
        return bool(self._pairing.asked) or self._pairing.last_damage >= start


_HASHED = 32
# The fields that appending changes.
_LISTS = tuple(
    name for name, value in vars(History()).items() if type(value) in {list, array, bytearray}
)
