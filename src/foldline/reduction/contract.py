"""
What a summary must be before it may stand for anything.

Only facts that need no model are judged. A wrong summary can pass; an empty one, one that is no
summary at all, or one that invents a name cannot.
"""

import re
from collections.abc import Iterator

from foldline.history.messages import Message
from foldline.history.parts import (
    CompactionPart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.history.tokens import TokenCounter, count_message
from foldline.reduction.request import SummaryRequest


__all__ = ["cleaned", "defects", "source_tokens"]


_TOOL_CALL = re.compile(r"\s*(?:<tool_call|<function_call|<invoke|\{\s*\"(?:name|tool|function)\")")
_IDENTIFIER = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.-]*\w"  # mail addresses
    r"|https?://[^\s<>\"')\]]+[\w/]"  # web addresses
    r"|[A-Za-z0-9][A-Za-z0-9_-]{6,}[A-Za-z0-9]"  # codes, judged by `_is_code`
)
_LEAST_DIGITS = 3
_LEAST_LETTERS = 3


def cleaned(text: str) -> str:
    """
    Return *text* without what no request can carry: NUL and lone surrogates.
    """
    return text.replace("\0", "").encode("utf-8", "replace").decode().strip()


def source_tokens(request: SummaryRequest, counter: TokenCounter) -> int:
    """
    Return the tokens of everything that *request* gives to read.
    """
    earlier = sum(counter.count(text) for text in request.earlier)
    return earlier + sum(count_message(message, counter) for message in request.messages)


def defects(text: str, request: SummaryRequest, counter: TokenCounter) -> tuple[str, ...]:
    """
    Return what is wrong with *text* as an answer to *request*, one sentence each.
    """
    if not text.strip():
        return ("The text is empty.",)
    return tuple(_faults(text, request, counter))


def _faults(text: str, request: SummaryRequest, counter: TokenCounter) -> Iterator[str]:
    if _TOOL_CALL.match(text):
        yield "The text is a tool call, not a summary."
    source, size = source_tokens(request, counter), counter.count(text)
    if size >= source:
        yield f"The text has {size} tokens, and what it stands for has only {source}."
    invented = sum(1 for name in _identifiers(text) if not _occurs(name, request))
    if invented:
        yield f"The text has {invented} names or addresses that the conversation does not have."


def _identifiers(text: str) -> set[str]:
    return {found for found in _IDENTIFIER.findall(text) if _is_telling(found)}


def _is_telling(found: str) -> bool:
    return "@" in found or "://" in found or _is_code(found)


def _is_code(found: str) -> bool:
    digits = sum(character.isdigit() for character in found)
    letters = sum(character.isalpha() for character in found)
    return digits >= _LEAST_DIGITS and letters >= _LEAST_LETTERS


def _occurs(name: str, request: SummaryRequest) -> bool:
    wanted = name.casefold()
    return any(wanted in text.casefold() for text in _source_texts(request))


def _source_texts(request: SummaryRequest) -> Iterator[str]:
    yield from request.earlier
    for message in request.messages:
        yield from _message_texts(message)


def _message_texts(message: Message) -> Iterator[str]:
    if message.name:
        yield message.name
    for part in message.parts:
        yield from _part_texts(part)


def _part_texts(part: Part) -> Iterator[str]:
    match part:
        case TextPart() | ReasoningPart() | CompactionPart():
            yield part.content
        case ToolCallPart():
            yield part.id
            yield part.name
            yield part.arguments
        case ToolCallResponsePart(response=str() as response):
            yield part.id
            yield response
        case ToolCallResponsePart():
            yield part.id
            for inner in part.response:
                if not isinstance(inner, str):
                    yield from _part_texts(inner)
        case GenericPart():
            yield part.data
        case _:
            return
