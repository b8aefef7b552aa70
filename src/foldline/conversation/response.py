"""A response that is brought to a thread: what of it is new, and whose it is."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import cast

from msgspec import structs

from foldline.agent.result import AGENT_KEY, dated
from foldline.errors import ConfigError
from foldline.history.digest import message_digest
from foldline.history.messages import Message


__all__ = [
    "answered_by",
    "check_response",
    "signed",
    "without_history",
    "without_stored",
]


def check_response(response: object) -> None:
    """
    See that *response* is a sequence of messages.

    Raises:
        ConfigError: It is something else, as a text.
    """
    if not isinstance(response, list | tuple):
        message = f"response is a {type(response).__name__}: allowed are messages"
        raise ConfigError(message)
    for one in cast("Sequence[object]", response):
        if not isinstance(one, Message):
            message = f"response holds a {type(one).__name__}: allowed are Message objects"
            raise ConfigError(message)


def without_history(response: Sequence[Message], history: Sequence[Message]) -> tuple[Message, ...]:
    """Return *response* without *history*, where it repeats all of it."""
    size = len(history)
    if len(response) >= size and all(map(_is_same, response, history)):
        return tuple(response[size:])
    return tuple(response)


def _is_same(one: Message, other: Message) -> bool:
    return one is other or message_digest(one) == message_digest(other)


def without_stored(response: Iterable[Message], stored: Iterable[Message]) -> list[Message]:
    """
    Return those of *response* that are not among *stored*, each of which stands for one of them.

    Two messages are the same where their roles, names and parts are.
    """
    left = Counter(map(message_digest, stored))
    news: list[Message] = []
    for message in response:
        digest = message_digest(message)
        if left[digest]:
            left[digest] -= 1
        else:
            news.append(message)
    return news


def signed(message: Message, agent: str, now: datetime) -> Message:
    """Return *message* with its time and, where the assistant says it, the name of *agent*."""
    if message.role != "assistant":
        return dated(message, now)
    # Not as its name: that would be sent, which changes bytes that a vendor has cached.
    metadata = {AGENT_KEY: agent, **(message.metadata or {})}
    return dated(structs.replace(message, metadata=metadata), now)


def answered_by(message: Message) -> str | None:
    """Return the name of the agent that said *message*; None where nobody noted it."""
    name = (message.metadata or {}).get(AGENT_KEY)
    return name if isinstance(name, str) else None
