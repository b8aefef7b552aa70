"""A session made ready to be played any number of times."""

from collections.abc import Iterable

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.tokens import TokenCounter, TokenEstimator, count_message
from foldline.logs.importer import Session
from foldline.replay.record import SessionRecord


__all__ = ["Tape", "model_calls"]


class Tape:
    """The messages of a session, where it called its model, and how large each message is."""

    def __init__(self, session: Session, *, counter: TokenCounter | None = None) -> None:
        """Prepare *session*, its tokens counted by *counter*, or by an estimator."""
        self.messages = session.messages
        self.counter: TokenCounter = counter or TokenEstimator()
        self.calls = session.calls or model_calls(session.messages)
        self._sizes = {
            id(message): count_message(message, self.counter) for message in session.messages
        }
        history = History(session.messages, counter=self.counter)
        self.session = SessionRecord(
            id=session.id,
            format=session.format,
            title=session.title,
            messages=len(session.messages),
            exchanges=history.exchanges(),
            tokens=history.system_tokens + history.tokens(),
        )

    def size(self, message: Message) -> int:
        """Return the tokens of *message*, which need not be one of the session."""
        known = self._sizes.get(id(message))
        return count_message(message, self.counter) if known is None else known


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
