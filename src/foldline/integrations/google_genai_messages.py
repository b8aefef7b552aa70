"""The contents of Gemini, as objects of Google's SDK or as dictionaries, also mixed."""

import base64
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from google.genai import types

from foldline.errors import FormatError
from foldline.guests.blocks import BlockCodec, result_text
from foldline.history.formats.renderings.sending import scrubbed
from foldline.history.formats.wire import object_from_json, readable_text
from foldline.history.messages import Message, Role
from foldline.history.parts import (
    BlobPart,
    Part,
    ReasoningPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.logs.gemini import RESULT, content_parts, tool_of


Content: TypeAlias = types.Content | dict[str, Any]
"""A content as the SDK has it, or the dictionary that it takes for one."""

_Part: TypeAlias = types.Part | dict[str, Any]


class ContentCodec(BlockCodec[Content, _Part]):
    """Reads and writes contents; what is unchanged in an answer keeps its thought signature."""

    def read(self, item: Content, /) -> Sequence[Message]:
        """Return what *item* says; FormatError if it is no content."""
        _check(item)
        return super().read(item)

    def role(self, item: Content, /) -> Role:
        """Return the role of *item*."""
        return "assistant" if _held(item, "role") == "model" else "user"

    def blocks(self, item: Content, /) -> Sequence[_Part]:
        """Return the parts of *item*."""
        return _parts(item)

    def parts(self, block: _Part, /) -> Iterable[Part]:
        """Read one part."""
        return content_parts(_plain(block))

    def tool(self, block: _Part, /) -> str | None:
        """Return the name that a result has."""
        return tool_of(_plain(block))

    def block(self, part: Part, own: _Part | None, tool: str | None = None, /) -> _Part | None:
        """Write one part."""
        match part:
            case ToolCallPart():
                return _called(part, own)
            case ToolCallResponsePart():
                return {"function_response": self._answer(part, tool)}
            case ReasoningPart(content=text):
                return {"text": text, "thought": True}
            case BlobPart(mime_type=mime, content=data):
                return {"inline_data": {"mime_type": mime, "data": base64.b64decode(data)}}
            case UriPart(uri=uri):
                return {"file_data": {"file_uri": uri}}
            case _:
                text = readable_text(part)
                return None if text is None else {"text": text}

    def _answer(self, part: ToolCallResponsePart, tool: str | None) -> dict[str, Any]:
        response = () if isinstance(part.response, str) else part.response
        pictures = [self.block(one, None) for one in response if isinstance(one, BlobPart)]
        said = {"name": tool or "unknown", "response": {RESULT: result_text(part)}}
        return (
            said | ({"id": part.id} if part.id else {}) | ({"parts": pictures} if pictures else {})
        )

    def made(self, role: str, blocks: list[_Part], source: Content | None, /) -> Content:
        """Return a content of the model or a user, of the kind that *source* is, or an object."""
        who = "model" if role == "assistant" else "user"
        return _like(source, who if source is None else _held(source, "role"), blocks)


def as_dictionaries(view: Iterable[Content]) -> list[Content]:
    """Return *view* with dictionaries in place of objects."""
    return [one if isinstance(one, dict) else one.model_dump(exclude_none=True) for one in view]


def alternating(view: Iterable[Content]) -> list[Content]:
    """Return *view* as Gemini takes it: all results of a turn are together, and no content is empty."""
    made: list[Content] = []
    said = (one for one in view if _parts(one))
    for (is_model, answers), run in groupby(said, key=lambda one: (_is_model(one), _answers(one))):
        same = list(run)
        if not is_model and not answers:
            made += same
            continue
        joined = [part for one in same for part in _parts(one)]
        made.append(same[0] if len(same) == 1 else _like(same[0], _held(same[0], "role"), joined))
    return made


def sendable(item: Content) -> Content:
    """Return *item* without lone surrogates, which are no JSON to Gemini; itself if it has none."""
    said = item if isinstance(item, dict) else item.model_dump(exclude_none=True)
    fit: dict[str, Any] = scrubbed(said)
    return item if fit is said else fit if said is item else types.Content.model_validate(fit)


def _check(item: object) -> None:
    """Refuse what the SDK makes a content of itself, and what it returns around one."""
    kind = type(item).__name__
    if hasattr(item, "candidates"):
        text = f"it is a {kind}: append response.candidates[0].content"
        raise FormatError(text)
    parts = item.get("parts") if isinstance(item, dict) else getattr(item, "parts", ())
    is_listed = isinstance(parts, list | tuple | None)
    is_content = isinstance(item, types.Content) or (isinstance(item, dict) and "parts" in item)
    if (
        not is_content
        or not is_listed
        or not all(isinstance(p, types.Part | dict) for p in parts or ())
    ):
        text = f"it is a {kind}: give types.Content, or a dictionary with role and a list of parts"
        raise FormatError(text)


def _held(item: Content, field: str) -> Any:
    return item.get(field) if isinstance(item, dict) else getattr(item, field)


def _parts(item: Content) -> Sequence[_Part]:
    return _held(item, "parts") or ()


def _plain(part: _Part) -> dict[str, Any]:
    return part if isinstance(part, dict) else part.model_dump(exclude_none=True)


def _like(source: Content | None, role: str | None, parts: list[_Part]) -> Content:
    """Return a content of the kind that *source* is; a part that is given is in it as it is."""
    if isinstance(source, dict):
        return {"role": role, "parts": parts}
    made: Any = parts
    return types.Content(role=role, parts=made)


def _called(part: ToolCallPart, own: _Part | None) -> _Part:
    """Return the call *part*; what is beside it in *own*, as its signature, stays."""
    given = object_from_json(part.arguments)
    call = types.FunctionCall(id=part.id or None, name=part.name, args=given)
    if isinstance(own, types.Part):
        return own.model_copy(update={"function_call": call})
    beside = {key: own[key] for key in own if key != "functionCall"} if own else {}
    return beside | {"function_call": call.model_dump(exclude_none=True)}


def _is_model(item: Content) -> bool:
    return _held(item, "role") == "model"


def _answers(item: Content) -> bool:
    return any(map(_is_answer, _parts(item)))


def _is_answer(part: _Part) -> bool:
    if isinstance(part, dict):
        return "function_response" in part or "functionResponse" in part
    return part.function_response is not None
