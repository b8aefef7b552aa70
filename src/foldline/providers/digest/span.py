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
from foldline.providers.digest.identifiers import Finder
from foldline.providers.digest.text import ends


__all__ = ["Argument", "Call", "Result", "Span", "Speech", "json_leaves", "read_span"]


class Speech(Struct, frozen=True, gc=False):
    """The text of the message at an index."""

    position: int
    role: Role
    text: str


class Argument(Struct, frozen=True, gc=False):
    """A value in the arguments of a call, and the nearest key around it; empty if they are no JSON."""

    label: str
    value: str


class Call(Struct, frozen=True):
    """A tool call in the message at an index; its result repeats the id."""

    position: int
    id: str
    name: str
    arguments: tuple[Argument, ...]


class Result(Struct, frozen=True, gc=False):
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


def read_span(messages: Iterable[Message], finder: Finder) -> Span:
    """Flatten *messages*; what has no text, such as images and encrypted reasoning, is left out."""
    roles: Counter[str] = Counter()
    speeches: list[Speech] = []
    calls: list[Call] = []
    results: list[Result] = []
    for place, message in enumerate(messages):
        roles[message.role] += 1
        said: list[str] = []
        for part in message.parts:
            match part:
                case TextPart() | CompactionPart():
                    said.append(part.content)
                case ToolCallPart():
                    calls.append(_call(part, place, finder))
                case ToolCallResponsePart():
                    results.append(_result(part, message, place, finder))
                case _:
                    pass
        if message.role == "tool":
            if message.text:
                # Text beside, or instead of, the result of a known call is a result too.
                results.append(Result(place, "", finder.clean(ends(message.text))))
        elif said and (text := finder.clean(ends("\n".join(said)))).strip():
            speeches.append(Speech(place, message.role, text))
    return Span(roles, tuple(speeches), tuple(calls), tuple(results))


def _result(part: ToolCallResponsePart, message: Message, position: int, finder: Finder) -> Result:
    is_error = (message.metadata or {}).get(_MARKED) is True or is_failed(part)
    return Result(position, part.id, finder.clean(ends(_response_text(part))), is_error)


def _call(part: ToolCallPart, position: int, finder: Finder) -> Call:
    # Once as JSON, where a secret is next to its name, and once more without escapes.
    written = finder.clean(ends(part.arguments))
    try:
        leaves = tuple(json_leaves("", decode_json(written)))
    except (FormatError, RecursionError):
        leaves = (("", written),)
    clean = finder.clean
    arguments = tuple([Argument(clean(label), clean(text)) for label, text in leaves])
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
