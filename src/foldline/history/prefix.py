"""What is known of the beginning of a history that is not in memory."""

from msgspec import Struct

from foldline.history.digest import EMPTY_DIGEST
from foldline.history.messages import Message


class Prefix(Struct, frozen=True, kw_only=True):
    """
    The first messages of a history, by their counts and their digest.

    Positions and the length count the messages that are not system messages. `user` is the last
    user message, if a view needs it. `system_at` has, for each system message, how many others come
    before it.
    """

    length: int = 0
    digest: bytes = EMPTY_DIGEST
    tokens: int = 0
    users: int = 0
    last_user: int | None = None
    user: Message | None = None
    user_tokens: int = 0
    tokens_before_user: int = 0
    system: tuple[Message, ...] = ()
    system_at: tuple[int, ...] = ()
    system_tokens: int = 0


NO_PREFIX = Prefix()
"""The prefix of a history that is in memory from its first message on."""
