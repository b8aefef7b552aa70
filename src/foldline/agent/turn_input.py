"""What a turn begins with, checked: one line says what is wrong with it."""

from collections.abc import Sequence
from typing import TypeAlias, cast

from foldline.checks import expect
from foldline.history.messages import READ_HINT, Message
from foldline.reduction.config import AgentRunConfig
from foldline.threads.thread import ConversationThread


TurnInput: TypeAlias = str | Message | Sequence[Message] | None
"""The user's text, messages, or None to continue from what is stored."""


def checked_input(given: object, *, thread: object = None, config: object = None) -> list[Message]:
    """Return *given*, a `TurnInput`, as messages, after a check of what a turn gets beside it."""
    expect("thread", thread, ConversationThread | None, hint="`await store.thread(id)` gives one")
    expect("config", config, AgentRunConfig | None)
    if given is None:
        return []
    if isinstance(given, str):
        return [Message.user(given)]
    if isinstance(given, Message):
        return [given]
    expect("message", given, str | Message | Sequence, hint=READ_HINT)
    messages = list(cast("Sequence[Message]", given))
    for place, one in enumerate(messages):
        expect(f"message[{place}]", one, Message, hint=READ_HINT)
    return messages
