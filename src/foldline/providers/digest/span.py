"""The messages of a request as flat records of clean text: what was said, and what was called."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.wire import is_failed
from foldline.history.messages import Message, Role
from foldline.history.parts import CompactionPart, TextPart, ToolCallPart, ToolCallResponsePart
from foldline.providers.digest.text import clean, ends


__all__ = ["Argument", "Call", "Result", "Span", "Speech", "json_leaves", "read_span"]


class Speech(Struct, frozen=True):
    """The text of the message at an index."""

    position: int
    role: Role
    text: str


class Argument(Struct, frozen=True):
    """A value in the arguments of a call, and the nearest key around it; empty if they are no JSON."""

    label: str
    value: str


class Call(Struct, frozen=True):
    """A tool call in the message at an index; its result repeats the id."""

    position: int
    id: str
    name: str
    arguments: tuple[Argument, ...]


class Result(Struct, frozen=True):
    """What a tool returned, and whether the record itself marks it as an error."""

    position: int
    id: str
    text: str
    is_error: bool = False


class Span(Struct, frozen=True):
    """What messages hold for a digest, in order, and how many of them each role wrote."""

    roles: Counter[str]
    speeches: tuple[Speech, ...]
    calls: tuple[Call, ...]
    results: tuple[Result, ...]


_Json: TypeAlias = "dict[str, _Json] | list[_Json] | str | float | bool | None"

# The metadata in which formats keep the flag that a tool has failed, if it is no part.
_MARKED = "isError"
_NAME_BREAK = re.compile(r"[\s,:]+")


def read_span(messages: Iterable[Message]) -> Span:
    """Flatten *messages*; what has no text, such as images and encrypted reasoning, is left out."""
    placed = list(enumerate(messages))
    return Span(
        Counter(message.role for _, message in placed),
        tuple(one for place, message in placed for one in _speech(message, place)),
        tuple(_call(call, place) for place, message in placed for call in message.tool_calls),
        tuple(one for place, message in placed for one in _results(message, place)),
    )


def _speech(message: Message, position: int) -> Iterator[Speech]:
    parts = (part for part in message.parts if isinstance(part, TextPart | CompactionPart))
    said = "\n".join(part.content for part in parts)
    if message.role != "tool" and (text := clean(ends(said))).strip():
        yield Speech(position, message.role, text)


def _results(message: Message, position: int) -> Iterator[Result]:
    is_error = (message.metadata or {}).get(_MARKED) is True
    for part in message.tool_call_responses:
        text = clean(ends(_response_text(part)))
        yield Result(position, part.id, text, is_error or is_failed(part))
    if message.role == "tool" and message.text:
        # Text beside, or instead of, the result of a known call is a result too.
        yield Result(position, "", clean(ends(message.text)))


def _call(part: ToolCallPart, position: int) -> Call:
    # Once as JSON, where a secret is next to its name, and once more without escapes.
    written = clean(ends(part.arguments))
    try:
        leaves = tuple(json_leaves("", decode_json(written)))
    except (FormatError, RecursionError):
        leaves = (("", written),)
    arguments = tuple(Argument(clean(label), clean(text)) for label, text in leaves)
    return Call(position, part.id, _NAME_BREAK.sub(" ", clean(part.name)).strip(), arguments)


def json_leaves(label: str, value: _Json) -> Iterator[tuple[str, str]]:
    """Yield each value in *value* as text, after the nearest key around it, or *label*."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from json_leaves(key, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from json_leaves(label, inner)
    elif isinstance(value, str):
        yield label, value
    elif value is not None:
        yield label, json.dumps(value)


def _response_text(part: ToolCallResponsePart) -> str:
    if isinstance(part.response, str):
        return part.response
    return "\n".join(inner.content for inner in part.response if isinstance(inner, TextPart))
