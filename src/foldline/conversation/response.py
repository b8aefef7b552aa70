"""A response that an orchestrator brings to a thread: which of it is new, and whose it is."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import cast

from msgspec import structs

from foldline.agent.result import AGENT_KEY, dated
from foldline.checks import expect
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
    Check that *response* is a sequence of messages.

    Raises:
        ConfigError: It is something else.
    """
    expect("response", response, list | tuple)
    for place, one in enumerate(cast("Sequence[object]", response)):
        expect(f"response[{place}]", one, Message)


def without_history(response: Sequence[Message], history: Sequence[Message]) -> tuple[Message, ...]:
    """Return *response* without *history*, if it begins with all of it."""
    size = len(history)
    if len(response) >= size and all(map(_is_same, response, history)):
        return tuple(response[size:])
    return tuple(response)


def _is_same(one: Message, other: Message) -> bool:
    return one is other or message_digest(one) == message_digest(other)


def without_stored(response: Iterable[Message], stored: Iterable[Message]) -> list[Message]:
    """
    Return those of *response* that are not in *stored*; each stored message counts once.

    Two messages are the same if their roles, names and parts are.
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
    """Return *message* with its time and, if it is the assistant's, the name of *agent*."""
    if message.role != "assistant":
        return dated(message, now)
    # Not as its name, which would be sent and change bytes that a vendor has cached.
    metadata = {AGENT_KEY: agent, **(message.metadata or {})}
    return dated(structs.replace(message, metadata=metadata), now)


def answered_by(message: Message) -> str | None:
    """Return the name of the agent that produced *message*; None if unknown."""
    name = (message.metadata or {}).get(AGENT_KEY)
    return name if isinstance(name, str) else None
