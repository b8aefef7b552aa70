"""
What a turn begins with.
"""

from collections.abc import Sequence
from typing import TypeAlias, cast

from foldline.errors import ConfigError
from foldline.history.messages import Message


__all__ = ["TurnInput", "messages_of"]


TurnInput: TypeAlias = str | Message | Sequence[Message] | None
"""A text of the user, messages, or nothing to go on from what is stored."""


def messages_of(given: object) -> list[Message]:
    """
    Return the messages that *given* stands for.

    Raises:
        ConfigError: It is neither a text nor messages.
    """
    if given is None:
        return []
    if isinstance(given, str):
        return [Message.user(given)]
    kind = type(given).__name__
    several = list(cast("Sequence[object]", given)) if isinstance(given, Sequence) else [given]
    messages = [one for one in several if isinstance(one, Message)]
    if len(messages) < len(several):
        message = f"message is a {kind}: allowed are a text and messages"
        raise ConfigError(message)
    return messages
