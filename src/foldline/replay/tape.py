"""A session made ready to be played any number of times."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import takewhile

from foldline.history.digest import EMPTY_DIGEST, chain_digests
from foldline.history.history import History
from foldline.history.messages import Message, Usage
from foldline.history.tokens import MESSAGE_TOKENS, TokenCounter, TokenEstimator, count_message
from foldline.logs.importer import Session
from foldline.replay.record import SessionRecord


# What logs call it.
_MODEL = frozenset({"model", "model_name"})


class Tape:
    """The messages of a session, where it called its model, and how large each message is."""

    def __init__(self, session: Session, *, counter: TokenCounter | None = None) -> None:
        """Prepare *session*, its tokens counted by *counter*, or by an estimator."""
        self.messages = session.messages
        self.said = tuple(one for one in session.messages if one.role != "system")
        """All messages but the system messages, which every view has and no fold takes away."""
        self.counter: TokenCounter = counter or TokenEstimator()
        self.calls = session.calls or model_calls(session.messages)
        self._counted = tuple(
            next((one for one in self._answer(at) if one.usage is not None), None)
            for at in self.calls
        )
        self.usages: tuple[Usage | None, ...] = tuple(
            None if one is None else one.usage for one in self._counted
        )
        """What the vendor reported for each call, if the recording has it."""
        self.idle = tuple(self._idle())
        """The seconds from the answer before to each call; None if the recording has no times."""
        self._sizes = {
            id(message): count_message(message, self.counter) for message in session.messages
        }
        self._estimates = tuple(
            self._said_at(at) if usage is None else 0
            for at, usage in zip(self.calls, self.usages, strict=True)
        )
        self._digests = chain_digests(EMPTY_DIGEST, session.messages)
        history = History(counter=self.counter)
        self.fill(history, len(session.messages))
        self.session = SessionRecord(
            id=session.id,
            format=session.format,
            title=session.title,
            messages=len(session.messages),
            exchanges=history.exchanges(),
            tokens=history.system_tokens + history.tokens(),
            estimated_answers=sum(map(bool, self._estimates)),
            untimed_calls=self.idle[1:].count(None),
            models=tuple(sorted(set(self._models()))),
        )

    def fill(self, history: History, position: int) -> None:
        """Append to *history*, which begins as the session does, what was said up to *position*."""
        new = slice(history.total, position)
        messages = self.messages[new]
        history.extend_known(
            zip(messages, map(self.size, messages), self._digests[new], strict=True)
        )

    def size(self, message: Message) -> int:
        """Return the tokens of *message*, which need not be one of the session."""
        known = self._sizes.get(id(message))
        return count_message(message, self.counter) if known is None else known

    def answer_tokens(self, number: int) -> int:
        """Return the tokens of the answer to a call, counted from 0, estimated without a report."""
        usage = self.usages[number]
        return self._estimates[number] if usage is None else usage.output_tokens

    def _models(self) -> Iterator[str]:
        for message in filter(None, self._counted):
            known = message.metadata or {}
            yield from (str(known[key]) for key in _MODEL & known.keys())

    def _answer(self, start: int) -> Iterator[Message]:
        """Yield the messages of the answer at *start*; its last one may have the usage."""
        following = bisect_right(self.calls, start)
        end = self.calls[following] if following < len(self.calls) else len(self.messages)
        span = takewhile(lambda one: one.role in {"assistant", "system"}, self.messages[start:end])
        return (one for one in span if one.role == "assistant")

    def _said_at(self, start: int) -> int:
        """Return the tokens of the answer at *start*, without the markup of its messages."""
        sizes = map(self.size, self._answer(start))
        return sum(max(0, size - MESSAGE_TOKENS) for size in sizes)

    def time(self, position: int) -> datetime | None:
        """Return when the call was made before which *position* messages had been said."""
        return self.messages[position - 1].created_at if position else None

    def clock(self, position: int) -> datetime:
        """Return that time, or one that is the same whenever a session without times is played."""
        return self.time(position) or datetime(2000, 1, 1, tzinfo=UTC)

    def _idle(self) -> Iterator[float | None]:
        answered: datetime | None = None
        for at in self.calls:
            asked = self.time(at)
            # Times with and without a zone cannot be compared.
            if not asked or not answered or (asked.tzinfo is None) != (answered.tzinfo is None):
                yield None
            else:
                yield (asked - answered).total_seconds()
            answered = (self.time(at + 1) if at < len(self.messages) else None) or asked


def model_calls(messages: Iterable[Message]) -> tuple[int, ...]:
    """
    Return how many messages had been said before each model call, in order.

    A call was made where the assistant speaks after the user or a tool; neighboring messages of
    the assistant came from one call. A session that ends with the user or a tool is about to make
    one more. System messages between them change nothing.
    """
    calls: list[int] = []
    asked = False
    said = 0
    for message in messages:
        if message.role == "assistant" and asked:
            calls.append(said)
        if message.role != "system":
            asked = message.role != "assistant"
        said += 1
    return (*calls, said) if asked else tuple(calls)
