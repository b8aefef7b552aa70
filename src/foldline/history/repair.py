"""
Repairing a damaged stretch of history, for a view only.

Real histories are damaged: a process died between a call and its result, a result came after the
next user message, two calls share an id, a result answers nothing. Vendors refuse a request built
of such messages. `repair` returns the stretch in an order that every vendor accepts:

- A **call block** is a run of neighboring assistant messages of which the first calls tools. Directly
  after it come the results of exactly its calls, each once.
- A late result moves up to its call. A call without result gets one that says so. A result
  without a call is left out, and so is a second result of the same call.
- A second call under an id that is taken gets an id of its own, and so does its result.
- System messages stay as they are.
- Only the assistant calls tools, and never answers: a call by anybody else is left out, and a
  result inside an assistant message moves after its call.

A message whose parts need no change comes back as the very same object. One that changes keeps the
vendor's own item with the change made in it, since signed reasoning and marks of a prompt cache
are nowhere else. The stored history is never touched.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import is_
from typing import TypeAlias, TypeVar

from msgspec.structs import replace

from foldline.history.formats import CONVERTERS
from foldline.history.messages import Message
from foldline.history.parts import Part, ToolCallPart, ToolCallResponsePart


NO_RESPONSE = "[no result of this tool call was recorded]"
"""What a view says if a call was never answered."""


_TOOL_PARTS = (ToolCallPart, ToolCallResponsePart)
_ToolPart = TypeVar("_ToolPart", ToolCallPart, ToolCallResponsePart)


_Place: TypeAlias = tuple[int, int]
"""The index of a message, and that of one of its parts."""

_Answers: TypeAlias = dict[_Place, _Place]
"""The place of the result of a call, by the place of the call."""

_Taken: TypeAlias = dict[str, int]
"""The ids of calls so far, each with the highest number that was tried after it."""


def repair(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return *messages* with each tool call followed by its one result, and no other results."""
    parts = (part for message in messages for part in message.parts)
    if not any(isinstance(part, _TOOL_PARTS) for part in parts):
        return tuple(messages)
    return tuple(_repaired(messages, _pair(messages)))


def _pair(messages: Sequence[Message]) -> _Answers:
    waiting: dict[str, list[_Place]] = {}
    of_call: _Answers = {}
    for index, message in enumerate(messages):
        parts = () if message.role == "system" else message.parts
        for number, part in enumerate(parts):
            if isinstance(part, ToolCallPart) and message.role == "assistant":
                waiting.setdefault(part.id, []).append((index, number))
            elif isinstance(part, ToolCallResponsePart) and waiting.get(part.id):
                of_call[_take(waiting[part.id])] = index, number
    return of_call


def _take(waiting: list[_Place]) -> _Place:
    """Take the first waiting call of the newest message that has one."""
    newest, first = waiting[-1][0], len(waiting) - 1
    while first and waiting[first - 1][0] == newest:
        first -= 1
    return waiting.pop(first)


def _repaired(messages: Sequence[Message], answers: _Answers) -> Iterator[Message]:
    taken: _Taken = {}
    index = 0
    while index < len(messages):
        stop = index + 1
        if messages[index].role == "assistant" and messages[index].tool_calls:
            while stop < len(messages) and messages[stop].role == "assistant":
                stop += 1
            yield from _block(messages, range(index, stop), answers, taken)
        else:
            yield from _without_tools(messages[index])
        index = stop


def _block(
    messages: Sequence[Message], block: range, answers: _Answers, taken: _Taken
) -> Iterator[Message]:
    given: dict[int, dict[int, str]] = {}
    missing: list[tuple[int, ToolCallPart]] = []
    # The number of the first call that a message answers.
    firsts: dict[int, int] = {}
    count = 0
    for index in block:
        parts: list[Part | None] = []
        for number, part in enumerate(messages[index].parts):
            if not isinstance(part, ToolCallPart):
                parts.append(None if isinstance(part, ToolCallResponsePart) else part)
                continue
            call = _with_id(part, _new_id(part.id, taken))
            parts.append(call)
            answer = answers.get((index, number))
            count += 1
            if answer is None:
                missing.append((count, call))
            else:
                given.setdefault(answer[0], {})[answer[1]] = call.id
                firsts.setdefault(answer[0], count)
        if any(parts) or not parts:
            yield _with_parts(messages[index], parts)
    # Answers keep their order; a missing one comes before the first answer to a later call.
    for index in sorted(given):
        while missing and missing[0][0] < firsts[index]:
            yield _unanswered(missing.pop(0)[1])
        yield _results(messages[index], given[index])
    for _, call in missing:
        yield _unanswered(call)


def _unanswered(call: ToolCallPart) -> Message:
    return Message.tool(call.id, NO_RESPONSE, name=call.name)


def _results(message: Message, ids: Mapping[int, str]) -> Message:
    """Return what *message* has of the results whose places and new ids are *ids*."""
    parts = [
        _with_id(part, ids[number])
        if number in ids and isinstance(part, ToolCallResponsePart)
        else None
        for number, part in enumerate(message.parts)
    ]
    result = _with_parts(message, parts)
    if result is message and message.role != "assistant":
        return message
    return replace(result, role="tool")


def _without_tools(message: Message) -> Iterator[Message]:
    """Yield *message* without calls and results that are not its to make, if anything is left."""
    rest = [None if isinstance(part, _TOOL_PARTS) else part for part in message.parts]
    if message.role == "system" or None not in rest:
        yield message
    elif any(rest):
        yield _with_parts(message, rest)


def _with_parts(message: Message, parts: Sequence[Part | None]) -> Message:
    """Return *message* with *parts*, one for each of its own; None leaves that one out."""
    if all(map(is_, parts, message.parts)):
        return message
    native = message.native
    if native is not None and native.item:
        return CONVERTERS[native.format].with_parts(message, parts)
    return replace(message, parts=tuple(part for part in parts if part is not None))


def _with_id(part: _ToolPart, wished: str) -> _ToolPart:
    return part if part.id == wished else replace(part, id=wished)


def _new_id(wished: str, taken: _Taken) -> str:
    name = wished or "call"
    result, number = name, taken.get(name, 1)
    while result in taken:
        number += 1
        result = f"{name}_{number}"
    taken[result] = 1
    taken[name] = number
    return result
