"""What a turn begins with."""

from collections.abc import Sequence
from typing import TypeAlias, cast

from foldline.errors import ConfigError
from foldline.history.messages import Message


__all__ = ["TurnInput", "messages_of"]


TurnInput: TypeAlias = str | Message | Sequence[Message] | None
"""A text of the user, messages, or nothing to go on from what is stored."""


_ADVICE = (
    "`from_openai_chat` and its like in foldline.history.formats make them of a vendor's items"
)


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
    if isinstance(given, Message):
        return [given]
    if isinstance(given, bytes) or not isinstance(given, Sequence):
        message = f"message is a {type(given).__name__}: allowed are a text and messages; {_ADVICE}"
        raise ConfigError(message)
    messages: list[Message] = []
    for place, one in enumerate(cast("Sequence[object]", given)):
        if not isinstance(one, Message):
            kind = type(one).__name__
            message = f"message[{place}] is a {kind}: allowed are Message objects; {_ADVICE}"
            raise ConfigError(message)
        messages.append(one)
    return messages
