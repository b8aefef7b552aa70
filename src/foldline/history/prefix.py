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
    """The position of the last of these; None where no user has spoken."""

    user: Message | None = None
    """That message itself, where a view needs it."""

    user_tokens: int = 0
    """Its tokens."""

    tokens_before_user: int = 0
    """The tokens of all messages before it."""

    last_tool: int = -1
    """A position at or behind the last message that calls a tool or answers; -1 for none."""

    system: tuple[Message, ...] = ()
    """The system messages among them, which every view holds."""

    system_at: tuple[int, ...] = ()
    """How many messages that are not system messages stand before each of these."""

    system_tokens: int = 0
    """The tokens of these."""

    def users_from(self, start: int) -> int:
        """
        Return how many user messages there are from the position *start* on.

        It is known for the beginning and for the last user message, and at most that one is
        counted elsewhere: between the two nobody has to ask.
        """
        if start == 0:
            return self.users
        return int(self.last_user is not None and start <= self.last_user)


NO_PREFIX = Prefix()
"""The prefix of a history that is in memory from its first message on."""
