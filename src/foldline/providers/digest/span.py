"""The messages of a request as flat records of clean text: what was said, and what was called."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.wire import is_failed
from foldline.history.messages import Message, Role
from foldline.history.parts import (
    CompactionPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    texts_in,
)
from foldline.history.reminders import without_reminders
from foldline.providers.digest.identifiers import Finder
from foldline.providers.digest.text import ends, printable, unescaped
from foldline.providers.speakers import named, spoken_by


class Speech(Struct, frozen=True, gc=False):
    """The text of the message at an index."""

    position: int
    role: Role
    text: str
    name: str = ""
    """The agent that said it, where several answer, or the user that has a name."""

    @property
    def by(self) -> str:
        """Who said it."""
        return f"{self.role} ({self.name})" if self.name else self.role


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


Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"
"""A value of a JSON text."""

_Read = TypeVar("_Read", Speech, Result)

# The metadata in which formats keep the flag that a tool has failed, if it is no part.
_MARKED = "isError"
_NAME_BREAK = re.compile(r"[\s,:]+")


def read_span(messages: Iterable[Message], finder: Finder, earlier: Iterable[str] = ()) -> Span:
    """
    Flatten *messages*; what has no text, such as images and encrypted reasoning, is left out.

    *earlier* summaries tell whether several agents answer, if the messages do not.
    """
    messages = tuple(messages)
    agents = spoken_by(messages, earlier)
    roles: Counter[str] = Counter()
    speeches: list[Speech] = []
    calls: list[tuple[int, ToolCallPart]] = []
    results: list[Result] = []
    for place, message in enumerate(messages):
        roles[message.role] += 1
        said: list[str] = []
        for part in message.parts:
            match part:
                case TextPart() | CompactionPart():
                    said.append(part.content)
                case ToolCallPart():
                    calls.append((place, part))
                case ToolCallResponsePart():
                    is_error = (message.metadata or {}).get(_MARKED) is True or is_failed(part)
                    answer = unescaped(ends("\n".join(texts_in(part))))
                    results.append(Result(place, part.id, answer, is_error))
                case _:
                    pass
        text = "\n".join(said)
        text = ends(without_reminders(text) if message.role == "user" else text)
        if message.role != "tool":
            by = agents[place]
            if message.role == "user" and message.name:
                by = named(message.name).replace(":", "")
            speeches.append(Speech(place, message.role, text, by))
        elif text:
            # Text beside, or instead of, the result of a known call is a result too.
            results.append(Result(place, "", text))
    spoken = [one for one in _cleaned(speeches, finder) if one.text.strip()]
    return Span(roles, tuple(spoken), _calls(calls, finder), tuple(_cleaned(results, finder)))


def _cleaned(read: Sequence[_Read], finder: Finder) -> Iterator[_Read]:
    for one, text in zip(read, finder.clean([one.text for one in read]), strict=True):
        # Most texts come back as they are.
        yield one if text == one.text else replace(one, text=text)


def _calls(parts: Sequence[tuple[int, ToolCallPart]], finder: Finder) -> tuple[Call, ...]:
    written = [printable(ends(part.arguments)) for _, part in parts]
    leaves = list(map(_leaves, written))
    labels = {*(label for each in leaves for label, _ in each), *(part.name for _, part in parts)}
    names = dict(zip(labels, finder.clean(labels), strict=True))
    values = iter(finder.clean([value for each in leaves for _, value in each]))
    calls: list[Call] = []
    for (place, part), text, each in zip(parts, written, leaves, strict=True):
        arguments = [Argument(names[label], next(values)) for label, _ in each]
        if finder.has_hint(chain.from_iterable(each)):
            # A secret is next to its name only in JSON.
            texts = finder.clean(chain.from_iterable(_leaves(*finder.clean([text]))))
            arguments = [Argument(*pair) for pair in zip(texts[::2], texts[1::2], strict=True)]
        name = _NAME_BREAK.sub(" ", names[part.name]).strip()
        calls.append(Call(place, part.id, name, tuple(arguments)))
    return tuple(calls)


def _leaves(written: str) -> list[tuple[str, str]]:
    try:
        return list(json_leaves("", decode_json(written)))
    except (FormatError, RecursionError):
        return [("", written)]


def json_leaves(label: str, value: Json) -> Iterator[tuple[str, str]]:
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
