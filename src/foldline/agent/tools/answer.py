"""The answer of a tool, as the model reads it."""

import logging
from collections.abc import Iterable
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Final, cast

import msgspec
from msgspec import Struct

from foldline.agent.tools.schema import plain_value
from foldline.history.parts import (
    BlobPart,
    FilePart,
    GenericPart,
    ResponseContent,
    TextPart,
    UriPart,
)
from foldline.providers.transcript import without_middle


MAX_RESULT_CHARS: Final = 200_000
"""How many characters of one text a tool may answer with by default."""

_LOG = logging.getLogger("foldline")
_CONTENT = (TextPart, BlobPart, UriPart, FilePart, GenericPart)
_UNRUN = (GeneratorType, AsyncGeneratorType, CoroutineType)
_MOST_ERROR = 2_000


class ToolAnswer(Struct, frozen=True):
    """What the model gets; a tool may return one itself."""

    content: str | tuple[ResponseContent, ...]
    """The answer: text, or parts if it is more than text."""

    is_error: bool
    """Whether the tool failed."""

    @property
    def text(self) -> str:
        """The text of the answer, without other parts."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(_texts(self.content))


def answer_of(
    value: object, *, name: str = "", max_result_chars: int = MAX_RESULT_CHARS
) -> ToolAnswer:
    """Return what the model reads when the tool *name* returns *value*; a text that is cut is logged."""
    if isinstance(value, _UNRUN):
        kind = type(cast("object", value)).__name__
        return error_answer(f"the tool returned a {kind} that was never run")
    answer = value if isinstance(value, ToolAnswer) else ToolAnswer(_content(value), is_error=False)
    texts = [answer.content] if isinstance(answer.content, str) else _texts(answer.content)
    if (longest := max(map(len, texts), default=0)) > max_result_chars:
        message = "tool %s: a result of %d characters was cut to %d: tool(max_result_chars=…) sets the most"
        _LOG.warning(message, name, longest, max_result_chars)
    return ToolAnswer(_limited(answer.content, max_result_chars), answer.is_error)


def _texts(parts: Iterable[ResponseContent]) -> list[str]:
    return [one.content for one in parts if isinstance(one, TextPart)]


def _content(value: object) -> str | tuple[ResponseContent, ...]:
    if isinstance(value, str):
        # Without what a subclass such as an enumeration adds.
        return str.__str__(value)
    if isinstance(value, TextPart):
        return value.content
    if isinstance(value, bytes | bytearray):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return f"[{len(value):,} bytes that are not text]"
    return _parts(value) or _json(value)


def _parts(value: object) -> tuple[ResponseContent, ...]:
    if isinstance(value, _CONTENT):
        return (value,)
    if not isinstance(value, list | tuple):
        return ()
    given = tuple(cast("Iterable[object]", value))
    if not any(isinstance(one, _CONTENT) for one in given):
        return ()
    parts = tuple(TextPart(one) if isinstance(one, str) else one for one in given)
    found = tuple(one for one in parts if isinstance(one, _CONTENT))
    return found if len(found) == len(parts) else ()


def _json(value: object) -> str:
    try:
        text = msgspec.json.encode(value, enc_hook=plain_value).decode()
        # A table has lines, which are read better as such.
        return msgspec.json.decode(text, type=str) if text.startswith('"') else text
    except (TypeError, ValueError, RecursionError):
        # The tool has run: a result that is not JSON must not look like a failure.
        return str(value)


def _limited(
    content: str | tuple[ResponseContent, ...], most: int
) -> str | tuple[ResponseContent, ...]:
    if isinstance(content, str):
        return without_middle(content, most)
    return tuple(
        TextPart(without_middle(one.content, most)) if isinstance(one, TextPart) else one
        for one in content
    )


def error_answer(text: str) -> ToolAnswer:
    """Return the answer for a failure: `Error: ` and the beginning of *text*."""
    short = text if len(text) <= _MOST_ERROR else f"{text[:_MOST_ERROR]}…"
    return ToolAnswer(f"Error: {short}", is_error=True)
