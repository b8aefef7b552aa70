"""
Calls without ids, as Gemini writes most of them.

Such a call is answered by a result of the same name, in the same order. It gets an id that says where
it is, and so does its result; `without_ids` takes both away before they are sent. A result without an
id may also answer a call that has one, as Gemini 3 writes them and the SDK's own results do not.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from msgspec.structs import replace

from foldline.history.messages import Message
from foldline.history.parts import Part, ToolCallPart, ToolCallResponsePart


_MADE = "unnamed-"
"""What an id begins with that no vendor has given."""

_FAR = 256
"""How many messages after a call its result is found."""

_TOOL_PARTS = (ToolCallPart, ToolCallResponsePart)


def with_ids(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield *messages*, a conversation from its beginning, with an id for each call and its result."""
    said: list[Message] = []
    for message in messages:
        said.append(identified(message, len(said), said.__getitem__))
        yield said[-1]


def identified(message: Message, at: int, before: Callable[[int], Message]) -> Message:
    """Return *message*, the one at *at* in a conversation of which *before* gives those before it."""

    def named(number: int, part: Part) -> Part:
        match part:
            case ToolCallPart(id=""):
                return replace(part, id=f"{_MADE}{at}-{number}")
            case ToolCallResponsePart(id=""):
                back = map(before, range(at - 1, -1, -1))
                return replace(part, id=_waiting(message.name, islice(back, _FAR)))
            case _:
                return part

    if not any(isinstance(part, _TOOL_PARTS) and not part.id for part in message.parts):
        return message
    return replace(message, parts=tuple(named(*one) for one in enumerate(message.parts)))


def without_ids(message: Message) -> Message:
    """Return *message* without ids that were made for it."""

    def is_made(part: Part) -> bool:
        return isinstance(part, _TOOL_PARTS) and part.id.startswith(_MADE)

    if not any(map(is_made, message.parts)):
        return message
    parts = (replace(part, id="") if is_made(part) else part for part in message.parts)
    return replace(message, parts=tuple(parts))


def _waiting(name: str | None, newest_first: Iterable[Message]) -> str:
    """Return the id of the first call of *name* in the newest answer that has no result; or nothing."""
    answered: set[str] = set()
    calls: list[ToolCallPart] = []
    for message in newest_first:
        if message.role == "assistant":
            calls[:0] = message.tool_calls
        elif calls:
            break
        answered.update(one.id for one in message.tool_call_responses)
    waiting = (one.id for one in calls if one.id not in answered and name in (None, one.name))
    return next(waiting, "")
