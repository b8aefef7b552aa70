"""
What a summary must be before it may stand for anything.

Only facts that need no model are judged. A wrong summary can pass; an empty one, one that is no
summary at all, or one that invents a name cannot.
"""

import re
from collections.abc import Iterator
from typing import cast

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.parts import (
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.reduction.request import SummaryRequest


__all__ = ["cleaned", "defects"]


_TOOL_CALL = re.compile(
    r"\s*(?:<tool_call|<function_call|<invoke|\{\s*\"(?:name|tool|function|tool_calls)\")"
)
_IDENTIFIER = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.-]*\w"  # mail addresses
    r"|https?://[^\s<>\"')\]]+[\w/]"  # web addresses
    r"|[A-Za-z0-9]{6,}"  # codes, judged by `_is_code`
)
# What stands next to a redacted secret was cut through, and is no longer in any source.
_REDACTED = re.compile(r"\S*\[redacted [^\]]*\]\S*")
_LEAST_DIGITS = 2
_LEAST_LETTERS = 2


def cleaned(text: str) -> str:
    """
    Return *text* without what no request can carry: NUL and lone surrogates.
    """
    return text.replace("\0", "").encode("utf-8", "replace").decode().strip()


def defects(text: str, request: SummaryRequest, *, tokens: int, room: int) -> tuple[str, ...]:
    """
    Return what is wrong with *text* as an answer to *request*, one sentence each.

    Args:
        text: The answer.
        request: What was asked.
        tokens: The tokens of *text*.
        room: The tokens whose place *text* takes.
    """
    if not text.strip():
        return ("The text is empty.",)
    return tuple(_faults(text, request, tokens, room))


def _faults(text: str, request: SummaryRequest, tokens: int, room: int) -> Iterator[str]:
    if _TOOL_CALL.match(text):
        yield "The text is a tool call, not a summary."
    if tokens >= room:
        yield f"The text has {tokens} tokens; it has to be shorter than the {room} it replaces."
    invented = _invented(_REDACTED.sub(" ", text), request)
    if invented:
        yield f"The text has {invented} names or addresses that the conversation does not have."


def _invented(text: str, request: SummaryRequest) -> int:
    names = {found.casefold() for found in _IDENTIFIER.findall(text) if _is_telling(found)}
    if not names:
        return 0
    # Folded and joined once: names and source may both be long.
    source = "\n".join(_source_texts(request)).casefold()
    return sum(1 for name in names if name not in source)


def _is_telling(found: str) -> bool:
    return "@" in found or "://" in found or _is_code(found)


def _is_code(found: str) -> bool:
    digits = sum(character.isdigit() for character in found)
    letters = sum(character.isalpha() for character in found)
    return digits >= _LEAST_DIGITS and letters >= _LEAST_LETTERS


def _source_texts(request: SummaryRequest) -> Iterator[str]:
    yield from request.earlier
    for message in request.messages:
        yield message.name or ""
        for part in message.parts:
            yield from _part_texts(part)


def _part_texts(part: Part) -> Iterator[str]:
    match part:
        case TextPart() | ReasoningPart() | CompactionPart():
            yield part.content
        case ToolCallPart():
            yield from (part.id, part.name)
            yield from _written(part.arguments)
        case ToolCallResponsePart():
            yield part.id
            yield from _response_texts(part)
        case UriPart():
            yield part.uri
        case FilePart():
            yield part.file_id
        case GenericPart():
            yield part.data
        case _:
            # What is left is binary content: it has no text to take a name from.
            return


def _response_texts(part: ToolCallResponsePart) -> Iterator[str]:
    if isinstance(part.response, str):
        yield from _written(part.response)
        return
    for inner in part.response:
        yield from _part_texts(inner)


def _written(text: str) -> Iterator[str]:
    """
    Give *text* and, where it is JSON, the texts in it: escapes hide what they say.
    """
    yield text
    if "\\" not in text:
        return
    try:
        value = decode_json(text)
    except FormatError:
        return
    yield from _leaves(value)


def _leaves(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            waiting += cast("list[object]", value)
        elif isinstance(value, dict):
            fields = cast("dict[object, object]", value)
            waiting += [*fields, *fields.values()]
