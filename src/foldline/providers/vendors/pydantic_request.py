"""
Messages and tools as pydantic-ai takes them, for vendors whose wire format foldline does not speak.

What a part has no place for there is written as readable text, or left out where it is none. The
reasoning of earlier answers goes without its signature, which foldline has no place for.
"""

import base64
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from foldline.history.formats.renderings import OPENING_NOTE
from foldline.history.formats.renderings.sending import scrubbed, summary_text
from foldline.history.formats.wire import is_failed, object_from_json, readable_text
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.providers.tool_definition import ToolDefinition


if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters


__all__ = ["pydantic_messages", "pydantic_tools"]


_Placed: TypeAlias = tuple[bool, Any]
"""A part of pydantic-ai, behind whether it is the model's."""


def pydantic_tools(tools: Iterable[ToolDefinition]) -> "ModelRequestParameters":
    """Write *tools*."""
    from pydantic_ai import models  # noqa: PLC0415
    from pydantic_ai import tools as theirs  # noqa: PLC0415

    written = [
        theirs.ToolDefinition(
            name=tool.name,
            description=tool.description or None,
            parameters_json_schema=dict(tool.parameters),
        )
        for tool in tools
    ]
    return models.ModelRequestParameters(function_tools=written)


def pydantic_messages(view: Iterable[Message], *, vendor: str) -> "list[ModelMessage]":
    """
    Write *view*; where the model would speak first, a short user note stands in front of it.

    Args:
        vendor: Who holds uploaded files, as pydantic-ai names it.
    """
    from pydantic_ai import messages as theirs  # noqa: PLC0415

    writer = _Writer(vendor)
    placed = [one for message in view for one in writer.parts(message)]
    rules = (place for place, (_, part) in enumerate(placed) if not writer.is_rule(part))
    first = next(rules, len(placed))
    if first == len(placed) or placed[first][0]:
        placed.insert(first, (False, theirs.UserPromptPart(OPENING_NOTE)))
    written: list[ModelMessage] = []
    for is_model, group in groupby(placed, key=lambda one: one[0]):
        parts = [part for _, part in group]
        make: Callable[..., ModelMessage] = (
            theirs.ModelResponse if is_model else theirs.ModelRequest
        )
        written.append(make(parts=parts))
    return written


class _Writer:
    def __init__(self, vendor: str) -> None:
        from pydantic_ai import messages  # noqa: PLC0415

        self._theirs = messages
        self._vendor = vendor
        self._tools: dict[str, str] = {}

    def is_rule(self, part: Any) -> bool:
        return isinstance(part, self._theirs.SystemPromptPart)

    def parts(self, message: Message) -> Iterator[_Placed]:
        if message.is_summary:
            yield True, self._theirs.TextPart(scrubbed(summary_text(message)))
            return
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                yield True, self._call(part)
            elif isinstance(part, ToolCallResponsePart):
                yield False, self._answer(part)
            elif message.role == "assistant":
                yield from ((True, one) for one in self._said(part))
            else:
                rule = message.role == "system"
                yield from ((False, one) for one in self._asked(part, is_rule=rule))

    def _call(self, part: ToolCallPart) -> Any:
        self._tools[part.id] = part.name
        arguments = scrubbed(object_from_json(part.arguments))
        return self._theirs.ToolCallPart(part.name, arguments, part.id)

    def _answer(self, part: ToolCallResponsePart) -> Any:
        name = self._tools.get(part.id, "unknown")
        if isinstance(part.response, str):
            return self._theirs.ToolReturnPart(name, scrubbed(part.response), part.id)
        content = [self._content(one) for one in part.response if not isinstance(one, GenericPart)]
        only_text = all(isinstance(one, str) for one in content)
        return self._theirs.ToolReturnPart(
            name,
            "\n".join(content) if only_text else content,
            part.id,
            outcome="failed" if is_failed(part) else "success",
        )

    def _said(self, part: Part) -> Iterator[Any]:
        if isinstance(part, ReasoningPart):
            if part.content:
                yield self._theirs.ThinkingPart(scrubbed(part.content))
        elif isinstance(part, BlobPart) and (data := _bytes(part)) is not None:
            yield self._theirs.FilePart(self._binary(part, data))
        elif text := readable_text(part):
            yield self._theirs.TextPart(scrubbed(text))

    def _asked(self, part: Part, *, is_rule: bool) -> Iterator[Any]:
        if is_rule:
            if text := readable_text(part):
                yield self._theirs.SystemPromptPart(scrubbed(text))
        elif isinstance(part, BlobPart | UriPart | FilePart):
            yield self._theirs.UserPromptPart([self._content(part)])
        elif (text := readable_text(part)) is not None:
            yield self._theirs.UserPromptPart(scrubbed(text))

    def _content(self, part: TextPart | BlobPart | UriPart | FilePart) -> Any:
        match part:
            case BlobPart():
                data = _bytes(part)
                return readable_text(part) if data is None else self._binary(part, data)
            case UriPart(modality=modality, uri=uri):
                kinds = {
                    "image": self._theirs.ImageUrl,
                    "audio": self._theirs.AudioUrl,
                    "video": self._theirs.VideoUrl,
                }
                return kinds.get(modality, self._theirs.DocumentUrl)(uri)
            case FilePart(file_id=file_id):
                # Which vendors there are, pydantic-ai alone knows.
                held: Any = self._theirs.UploadedFile
                return held(file_id, self._vendor)
            case TextPart(content=text):
                return scrubbed(text)

    def _binary(self, part: BlobPart, data: bytes) -> Any:
        kind = part.mime_type or "application/octet-stream"
        return self._theirs.BinaryContent(data, media_type=kind)


def _bytes(part: BlobPart) -> bytes | None:
    try:
        return base64.b64decode(part.content)
    except ValueError:
        return None
