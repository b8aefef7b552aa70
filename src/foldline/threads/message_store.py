"""Where the messages of one conversation are kept."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from foldline.history.messages import Message


__all__ = ["MessageStore"]


@runtime_checkable
class MessageStore(Protocol):
    """Whatever keeps the messages of one conversation; a `ConversationThread` does."""

    @property
    def count(self) -> int:
        """How many messages there are."""
        ...

    async def add_messages(self, messages: Iterable[Message]) -> None:
        """Append *messages*, all or none."""
        ...

    async def get_messages(self) -> list[Message]:
        """Return all messages, oldest first."""
        ...
