"""
Repairing a damaged stretch of history, for a view only.

Real histories are damaged: a process died between a call and its result, a result came after the
user had gone on, two calls share an id, a result answers nothing. Vendors refuse a request built
of such messages. `repair` gives the stretch in an order that every vendor accepts:

- A **call block** is a run of neighboring assistant messages of which the first calls tools. Directly
  after it come the results of exactly its calls, each once.
- A late result moves up to its call. A call without result gets one that says so. A result of nothing
  is left out, and so is a second result of the same call.
- A second call under an id that is taken gets an id of its own, and so does its result.
- System messages stay as they are.
- Only the assistant calls tools, and never answers: a call by anybody else is left out, and a
  result inside an assistant message moves behind its call.

A message whose parts need no change comes back as the very same object. One that changes keeps the
vendor's own item with the change made in it, since signed reasoning and marks of a prompt cache
are nowhere else. The stored history is never touched.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from foldline.history.formats import CONVERTERS
from foldline.history.messages import Message
from foldline.history.parts import Part, ToolCallPart, ToolCallResponsePart


__all__ = ["NO_RESPONSE", "repair"]


NO_RESPONSE = "[no result of this tool call was recorded]"
"""What a view says where a call was never answered."""


_ToolPart = TypeVar("_ToolPart", ToolCallPart, ToolCallResponsePart)

_ANSWERING = frozenset({"tool", "user"})


class _Place(NamedTuple):
    message: int
    part: int


_Answers: TypeAlias = dict[_Place, _Place]
"""Which response belongs to which call, both by their places."""

_Taken: TypeAlias = dict[str, int]
"""The ids of calls so far, each with the highest number that was tried behind it."""


def repair(messages: Sequence[Message]) -> tuple[Message, ...]:
    """
    Return *messages* so that each tool call is followed by its one answer, and nothing else is.
    """
    if not any(_has_tools(message) for message in messages):
        return tuple(messages)
    return tuple(_mended(messages, _pair(messages)))


def _has_tools(message: Message) -> bool:
    return any(_is_call(part) or _is_response(part) for part in message.parts)


def _calls(message: Message) -> bool:
    return message.role == "assistant" and any(_is_call(part) for part in message.parts)


def _is_call(part: Part) -> bool:
    return type(part) is ToolCallPart


def _is_response(part: Part) -> bool:
    return type(part) is ToolCallResponsePart


def _pair(messages: Sequence[Message]) -> _Answers:
    waiting: dict[str, list[_Place]] = {}
    of_call: _Answers = {}
    for index, message in enumerate(messages):
        parts = () if message.role == "system" else message.parts
        for number, part in enumerate(parts):
            place = _Place(index, number)
            if isinstance(part, ToolCallPart) and message.role == "assistant":
                waiting.setdefault(part.id, []).append(place)
            elif isinstance(part, ToolCallResponsePart) and waiting.get(part.id):
                of_call[_take(waiting[part.id])] = place
    return of_call


def _take(waiting: list[_Place]) -> _Place:
    """Take the first call of the newest message that still waits."""
    newest, first = waiting[-1].message, len(waiting) - 1
    while first and waiting[first - 1].message == newest:
        first -= 1
    return waiting.pop(first)


def _mended(messages: Sequence[Message], answers: _Answers) -> Iterator[Message]:
    taken: _Taken = {}
    index = 0
    while index < len(messages):
        if not _calls(messages[index]):
            yield from _without_tools(messages[index])
            index += 1
            continue
        stop = _block_end(messages, index)
        behind = _answers_end(messages, index, stop, answers)
        if behind is None or not _are_new(messages[index:stop], taken):
            yield from _rebuilt(messages, range(index, stop), answers, taken)
            index = stop
        else:
            yield from messages[index:behind]
            index = behind


def _block_end(messages: Sequence[Message], start: int) -> int:
    stop = start + 1
    while stop < len(messages) and messages[stop].role == "assistant":
        stop += 1
    return stop


def _answers_end(
    messages: Sequence[Message], start: int, stop: int, answers: _Answers
) -> int | None:
    """Return the index behind the answers to the block, or None where they are not in order."""
    wanted: set[_Place] = set()
    for index in range(start, stop):
        parts = messages[index].parts
        calls = [_Place(index, number) for number, part in enumerate(parts) if _is_call(part)]
        if any(map(_is_response, parts)) or not all(call in answers for call in calls):
            return None
        wanted.update(answers[call] for call in calls)
    return _matched_end(messages, stop, wanted)


def _matched_end(messages: Sequence[Message], start: int, wanted: set[_Place]) -> int | None:
    index = start
    while wanted:
        if index == len(messages) or messages[index].role not in _ANSWERING:
            return None
        found = {
            _Place(index, number)
            for number, part in enumerate(messages[index].parts)
            if _is_response(part)
        }
        if (
            not found
            or not found <= wanted
            or _is_torn(messages[index], is_last=len(found) == len(wanted))
        ):
            return None
        wanted -= found
        index += 1
    return index


def _is_torn(message: Message, *, is_last: bool) -> bool:
    """Whether *message* calls, or says something of its own before the last answer."""
    if any(_is_call(part) for part in message.parts):
        return True
    first_other = next(
        (number for number, part in enumerate(message.parts) if not _is_response(part)), None
    )
    if first_other is None:
        return False
    return not is_last or any(_is_response(part) for part in message.parts[first_other:])


def _are_new(block: Sequence[Message], taken: _Taken) -> bool:
    """Whether the calls of *block* have ids that are not taken yet; takes them if so."""
    ids = [call.id for message in block for call in message.tool_calls]
    if "" in ids or len(set(ids)) != len(ids) or not taken.keys().isdisjoint(ids):
        return False
    taken.update(dict.fromkeys(ids, 1))
    return True


def _without_tools(message: Message) -> Iterator[Message]:
    """
    Give *message* without what it carries of tools, and nothing where nothing is left.

    Answers stand behind their calls or nowhere; calls are not its to make.
    """
    rest = [None if _is_response(part) or _is_call(part) else part for part in message.parts]
    if message.role == "system" or None not in rest:
        yield message
    elif any(rest):
        yield _with_parts(message, rest)


def _with_parts(message: Message, parts: Sequence[Part | None]) -> Message:
    """Return *message* with *parts*, one for each of its own; None leaves that one out."""
    if all(new is old for new, old in zip(parts, message.parts, strict=True)):
        return message
    native = message.native
    if native is not None and native.item:
        return CONVERTERS[native.format].with_parts(message, parts)
    return replace(message, parts=tuple(part for part in parts if part is not None))


def _rebuilt(
    messages: Sequence[Message], block: range, answers: _Answers, taken: _Taken
) -> Iterator[Message]:
    responses: list[Message] = []
    for index in block:
        parts: list[Part | None] = []
        for number, part in enumerate(messages[index].parts):
            if isinstance(part, ToolCallPart):
                call = _with_id(part, _new_id(part.id, taken))
                parts.append(call)
                answer = answers.get(_Place(index, number))
                responses.append(_response(messages, call, answer))
            else:
                parts.append(None if _is_response(part) else part)
        yield _with_parts(messages[index], parts)
    yield from responses


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


def _response(messages: Sequence[Message], call: ToolCallPart, answer: _Place | None) -> Message:
    if answer is None:
        return Message.tool(call.id, NO_RESPONSE, name=call.name)
    source = messages[answer.message]
    part = source.parts[answer.part]
    assert isinstance(part, ToolCallResponsePart)
    parts: list[Part | None] = [None] * len(source.parts)
    parts[answer.part] = _with_id(part, call.id)
    result = _with_parts(source, parts)
    return result if result.role == "tool" else replace(result, role="tool")
