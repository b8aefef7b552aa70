"""What is known of the beginning of a history whose messages are not in memory."""

from msgspec import Struct

from foldline.history.digest import EMPTY_DIGEST
from foldline.history.messages import Message


__all__ = ["NO_PREFIX", "Prefix"]


class Prefix(Struct, frozen=True, kw_only=True):
    """
    The first messages of a history, by their counts and their digest.

    Positions count the messages that are not system messages.
    """

    length: int = 0
    """How many messages there are, system messages not counted."""

    digest: bytes = EMPTY_DIGEST
    """Their prefix digest."""

    tokens: int = 0
    """Their tokens together."""

    users: int = 0
    """How many of them are user messages."""

    last_user: int | None = None
    """The position of the last of these; None if there is none."""

    user: Message | None = None
    """That message itself, if a view needs it."""

    user_tokens: int = 0
    """Its tokens."""

    tokens_before_user: int = 0
    """The tokens of all messages before it."""

    last_tool: int = -1
    """A position not before the last message with a tool call or result; -1 for none."""

    system: tuple[Message, ...] = ()
    """The system messages among them, which every view holds."""

    system_at: tuple[int, ...] = ()
    """How many messages that are not system messages come before each of these."""

    system_tokens: int = 0
    """The tokens of these."""

    def users_from(self, start: int) -> int:
        """
        Return how many user messages there are from the position *start* on.

        It is known for the beginning and from the last user message on; no other is asked for.
        """
        if start == 0:
            return self.users
        return int(self.last_user is not None and start <= self.last_user)


NO_PREFIX = Prefix()
"""The prefix of a history that is in memory from its first message on."""
