"""
A history in memory, with everything about it that a turn needs at hand.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn, overload

from foldline.history.digest import DIGEST_SIZE, EMPTY_DIGEST, chain_digest
from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.tokens import TokenCounter, TokenEstimator, count_message
from foldline.history.units import CountingUnit


__all__ = ["History"]


class History(Sequence[Message]):
    """
    An append-only sequence of messages that knows its digests, tokens and exchanges.

    Each message is hashed, counted and paired with its tool calls once, when it is appended;
    every question about a prefix or a tail is then answered in constant or logarithmic time.

    As a sequence, and in every index, it holds the messages that are not system messages: a
    reduction counts and hashes those alone. `system` and `everything` give the others.
    """

    __slots__ = (
        "_calls",
        "_chain",
        "_counter",
        "_head",
        "_last_tool",
        "_messages",
        "_open",
        "_reach",
        "_system",
        "_system_at",
        "_system_tokens",
        "_tokens",
        "_users",
        "_whole",
    )

    def __init__(
        self, messages: Iterable[Message] = (), *, counter: TokenCounter | None = None
    ) -> None:
        """
        Hold *messages*, oldest first.

        Args:
            messages: What was said so far.
            counter: What counts the tokens of a text; an estimator where none is given.
        """
        self._counter: TokenCounter = counter or TokenEstimator()
        self._messages: list[Message] = []
        self._chain = bytearray(EMPTY_DIGEST)
        self._head = EMPTY_DIGEST
        self._tokens = array("q", (0,))
        self._reach = array("q")
        self._whole = array("q", (0,))
        self._users = array("q")
        self._calls: dict[str, list[int]] = {}
        self._open: dict[int, int] = {}
        self._last_tool = -1
        self._system: list[Message] = []
        self._system_at = array("q")
        self._system_tokens = 0
        self.extend(messages)

    def append(self, message: Message) -> None:
        """
        Add *message* behind all others.
        """
        tokens = count_message(message, self._counter)
        if message.role == "system":
            self._system.append(message)
            self._system_at.append(len(self._messages))
            self._system_tokens += tokens
            return
        position = len(self._messages)
        self._head = chain_digest(self._head, message)
        self._chain += self._head
        self._messages.append(message)
        self._tokens.append(self._tokens[-1] + tokens)
        if message.role == "user":
            self._users.append(position)
            self._open.clear()
        parts, reach, whole = message.parts, position, self._whole
        if len(parts) != 1 or type(parts[0]) is not TextPart:
            reach = self._pair(message, position)
        self._reach.append(reach)
        # An answer tears every index between its call and itself, for good.
        while whole[-1] > reach:
            whole.pop()
        whole.append(position + 1)

    def extend(self, messages: Iterable[Message]) -> None:
        """
        Add *messages* behind all others, in order.
        """
        for message in messages:
            self.append(message)

    def _pair(self, message: Message, position: int) -> int:
        """
        Return the position of the earliest call that *message* answers, or its own.
        """
        reach = position
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                self._last_tool = position
                # A call by anybody else is damage, which no view keeps: nothing answers it.
                if message.role == "assistant":
                    self._calls.setdefault(part.id, []).append(position)
                    self._open[position] = self._open.get(position, 0) + 1
            elif isinstance(part, ToolCallResponsePart):
                self._last_tool = position
                reach = min(reach, self._answered(part.id, position))
        return reach

    def _answered(self, call_id: str, position: int) -> int:
        waiting = self._calls.get(call_id)
        if not waiting:
            return position
        call = waiting.pop()
        if not waiting:
            del self._calls[call_id]
        if call in self._open:
            self._open[call] -= 1
            if not self._open[call]:
                del self._open[call]
        return call

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._messages[index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def __repr__(self) -> str:
        return f"<History messages={len(self)} system={len(self._system)} tokens={self.tokens()}>"

    @property
    def system(self) -> tuple[Message, ...]:
        """
        The system messages, in order.
        """
        return tuple(self._system)

    @property
    def total(self) -> int:
        """
        The number of all messages, system messages included.
        """
        return len(self._messages) + len(self._system)

    @property
    def system_tokens(self) -> int:
        """
        The tokens of the system messages together.
        """
        return self._system_tokens

    @property
    def counter(self) -> TokenCounter:
        """
        What counts the tokens of a text here.
        """
        return self._counter

    def everything(self) -> list[Message]:
        """
        Return all messages, system messages at their places.
        """
        return self._merged(len(self._messages))

    def _merged(self, stop: int) -> list[Message]:
        result: list[Message] = []
        start = 0
        for at, message in zip(self._system_at, self._system, strict=True):
            if at > stop:
                break
            result += self._messages[start:at]
            result.append(message)
            start = at
        return result + self._messages[start:stop]

    def digest(self, index: int | None = None) -> bytes:
        """
        Return the digest of the first *index* messages, or of all of them.

        Raises:
            IndexError: There are fewer messages than *index*.
        """
        if index is None:
            return self._head
        if not 0 <= index <= len(self._messages):
            self._refuse_prefix(index)
        start = index * DIGEST_SIZE
        return bytes(self._chain[start : start + DIGEST_SIZE])

    def _refuse_prefix(self, index: int) -> NoReturn:
        message = f"no prefix of {index} messages in a history of {len(self._messages)}"
        raise IndexError(message)

    def tokens(self, start: int = 0, stop: int | None = None) -> int:
        """
        Return the tokens of the messages from *start* up to *stop*, or to the end.
        """
        return self._tokens[-1 if stop is None else stop] - self._tokens[start]

    def exchanges(self, start: int = 0) -> int:
        """
        Return how many exchanges the messages from *start* on hold, as a history of their own.
        """
        opened = len(self._users) - bisect_left(self._users, start)
        return opened or int(start < len(self._messages))

    def count(self, unit: CountingUnit, start: int = 0) -> int:
        """
        Return the size of the messages from *start* on, in *unit*.
        """
        if unit == "messages":
            return len(self._messages) - start
        if unit == "exchanges":
            return self.exchanges(start)
        return self.tokens(start)

    def index_keeping(self, unit: CountingUnit, size: int) -> int:
        """
        Return the smallest index behind which there are at most *size* of *unit*.

        The newest message always lies behind it, so that a view never ends before it. With
        exchanges it is where one opens, so that each of them is kept whole.
        """
        last = len(self._messages) - 1
        if unit == "messages" or size == 0:
            index = len(self._messages) - size
        elif unit == "exchanges":
            index = self._users[-size] if size < len(self._users) else 0
        else:
            index = bisect_left(self._tokens, self._tokens[-1] - size)
        return max(0, min(index, last))

    def index_within(self, start: int, tokens: int) -> int:
        """
        Return the highest index up to which the messages from *start* on have at most *tokens*.

        It lies at least one message further where there is one, so that a walk over a history
        comes to its end.
        """
        within = bisect_right(self._tokens, self._tokens[start] + tokens) - 1
        return max(min(start + 1, len(self._messages)), within)

    def last_user(self) -> int | None:
        """
        Return the index of the last user message, or None where no user has spoken.
        """
        return self._users[-1] if self._users else None

    def reach(self, index: int) -> int:
        """
        Return the index of the earliest call that the message at *index* answers.

        It is *index* itself where the message answers no call of this history.
        """
        return self._reach[index]

    def first_open_call(self) -> int:
        """
        Return the index of the first call of the newest exchange that nobody answered yet.

        It is the number of messages where every call is answered. A call of an older exchange
        was given up: the user spoke after it.
        """
        return next(iter(self._open), len(self._messages))

    def whole_indexes(self, top: int, above: int) -> Iterator[int]:
        """
        Give each index from *top* down to just over *above* that parts no call from its answer.
        """
        at = bisect_right(self._whole, top)
        while at and self._whole[at - 1] > above:
            at -= 1
            yield self._whole[at]

    def has_tools(self, start: int) -> bool:
        """
        Whether a message from *start* on calls a tool or carries the answer of one.
        """
        return self._last_tool >= start

    def fork(self, at: int) -> "History":
        """
        Return a new history of the first *at* messages, with the system messages among them.

        System messages that stand directly before the message at *at* are among them.

        Raises:
            IndexError: There are fewer messages than *at*.
        """
        if not 0 <= at <= len(self._messages):
            self._refuse_prefix(at)
        return History(self._merged(at), counter=self._counter)
