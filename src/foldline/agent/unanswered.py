"""Whether what was said last on a thread waits for an answer, and what has answered a message."""

from typing import Final

from msgspec.structs import replace

from foldline.history.messages import PARTIAL_KEY, Message
from foldline.threads.loop_state import COMPLETED, STOPPED
from foldline.threads.thread import ConversationThread
from foldline.threads.turns import TurnRecord


LEFT: Final = "Left for the next message"
"""Why a run ended that nobody ran any more when the next message came."""

_NEAR: Final = 200
"""Among how many of the newest messages one is looked for by its id."""


async def is_waiting(thread: ConversationThread) -> bool:
    """Whether the last message of *thread* has no answer yet."""
    last = await last_said(thread)
    return last is not None and not is_answer(last)


async def last_said(thread: ConversationThread) -> Message | None:
    """Return the last message of *thread* that is no system message; None if there is none."""
    said = await thread.get_range(max(0, thread.head.length - 1))
    return next((message for message in reversed(said) if message.role != "system"), None)


def is_answer(message: Message) -> bool:
    """Whether *message* ends an exchange: an assistant message that calls no tool."""
    return message.role == "assistant" and not message.tool_calls


async def was_left(thread: ConversationThread, turn: TurnRecord) -> bool:
    """Whether *turn* was left for the next message before it had an answer."""
    return turn.reason == LEFT and not any(map(is_answer, await thread.turn_messages(turn)))


async def is_passed(thread: ConversationThread, turn: TurnRecord) -> bool:
    """Whether something was answered since *turn* began, or last if it has not begun."""
    near = replace(turn, stop=min(thread.count, turn.start + _NEAR))
    # In this order: the turn may be answered while its messages are read.
    last = await last_said(thread)
    since = await thread.turn_messages(near) if turn.origin else ()
    return any(map(is_answer, since)) or (last is not None and is_answer(last))


async def turn_that_answered(thread: ConversationThread, message_id: str) -> TurnRecord | None:
    """Return the turn from the user message *message_id* to the next answer, if both are near."""
    said = await thread.get_messages(last=_NEAR)
    before, found = thread.count - len(said), None
    for place, one in enumerate(said):
        if found is None and one.role == "user" and one.id == message_id:
            found = place
        elif found is not None and is_answer(one):
            calls = [each for each in said[found : place + 1] if each.role == "assistant"]
            is_partial = bool((one.metadata or {}).get(PARTIAL_KEY))
            return TurnRecord(
                id=message_id,
                start=before + found,
                stop=before + place + 1,
                reason=STOPPED if is_partial else COMPLETED,
                iterations=len(calls),
            )
    return None
