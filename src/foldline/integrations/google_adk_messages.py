"""The contents of Google's Agent Development Kit, which are those of Gemini."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from google.genai import types

from foldline.guests import summary_text
from foldline.history.formats.wire import json_text, object_from_json, readable_text
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)


__all__ = ["GoogleADKCodec", "alternating"]


_RESULT = "result"


class GoogleADKCodec:
    """Reads and writes `Content`, of which each result of a tool is a message."""

    def read(self, item: types.Content, /) -> Sequence[Message]:
        """Return what *item* says."""
        if item.role == "model":
            parts = tuple(part for one in item.parts or () for part in _read(one))
            return [Message(role="assistant", parts=parts)]
        return [_asked(group) for group in _groups(item)]

    def write(self, message: Message, source: types.Content | None, /) -> types.Content:
        """Return *message*; what is unchanged in an answer keeps its thought signature."""
        if message.is_summary:
            return types.Content(role="model", parts=[types.Part(text=summary_text(message))])
        own = [(list(_read(one)), one) for one in (source.parts or () if source else ())]
        parts = [_written(part, message, own) for part in message.parts]
        role = "model" if message.role == "assistant" else "user"
        return types.Content(role=role, parts=[one for one in parts if one is not None])

    def part(self, item: types.Content, which: Sequence[int], /) -> types.Content:
        """Return the parts of those messages."""
        groups = list(_groups(item))
        return item.model_copy(update={"parts": [part for at in which for part in groups[at]]})


def alternating(view: Iterable[types.Content]) -> list[types.Content]:
    """Return *view* as Gemini takes it: all results of a turn are together."""
    made: list[types.Content] = []
    for (role, _), run in groupby(view, key=lambda one: (one.role, _answers(one))):
        same = list(run)
        if role == "user" and not _answers(same[0]):
            made += same
            continue
        joined = [part for one in same for part in one.parts or ()]
        made.append(same[0] if len(same) == 1 else types.Content(role=role, parts=joined))
    return made


def _answers(item: types.Content) -> bool:
    return any(part.function_response is not None for part in item.parts or ())


def _groups(item: types.Content) -> Iterator[list[types.Part]]:
    """Yield the parts of each message in *item*: a result, or what is between results."""
    for is_result, run in groupby(item.parts or (), lambda one: one.function_response is not None):
        if is_result:
            yield from ([part] for part in run)
        else:
            yield list(run)


def _asked(group: Sequence[types.Part]) -> Message:
    answer = group[0].function_response
    if answer is None:
        return Message(role="user", parts=tuple(part for one in group for part in _read(one)))
    given = answer.response or {}
    # What a tool returns that is no object is wrapped into one.
    said: Any = given.get(_RESULT) if given.keys() == {_RESULT} else given
    text = said if isinstance(said, str) else json_text(said)
    part = ToolCallResponsePart(answer.id or "", text)
    return Message(role="tool", parts=(part,), name=answer.name)


def _read(part: types.Part) -> Iterator[Part]:
    call, blob, file = part.function_call, part.inline_data, part.file_data
    if call is not None:
        yield ToolCallPart(call.id or "", call.name or "", json_text(call.args or {}))
    elif blob is not None:
        mime = blob.mime_type or ""
        yield BlobPart(_modality(mime), mime, base64.b64encode(blob.data or b"").decode())
    elif file is not None:
        yield UriPart(_modality(file.mime_type or ""), file.file_uri or "")
    elif part.text is not None:
        yield ReasoningPart(part.text) if part.thought else TextPart(part.text)
    elif part.model_fields_set:
        yield GenericPart(min(part.model_fields_set), part.model_dump_json(exclude_none=True))


def _modality(mime: str) -> str:
    kind = mime.partition("/")[0]
    return kind if kind in {"image", "audio", "video"} else "document"


def _written(
    part: Part, message: Message, own: Sequence[tuple[list[Part], types.Part]]
) -> types.Part | None:
    found = next((one for read, one in own if read == [part]), None)
    if found is not None:
        return found
    match part:
        case ToolCallPart(id=id, name=name, arguments=arguments):
            given = object_from_json(arguments)
            call = types.FunctionCall(id=id, name=name, args=given)
            same = (
                one
                for _, one in own
                if (c := one.function_call) and (c.name, c.args) == (name, given)
            )
            return next(same, types.Part()).model_copy(update={"function_call": call})
        case ToolCallResponsePart(id=id, response=said):
            texts = [said] if isinstance(said, str) else filter(None, map(readable_text, said))
            answer = types.FunctionResponse(
                id=id, name=message.name or "unknown", response={_RESULT: "\n".join(texts)}
            )
            return types.Part(function_response=answer)
        case ReasoningPart(content=text):
            return types.Part(text=text, thought=True)
        case _:
            return _said(part)


def _said(part: Part) -> types.Part | None:
    match part:
        case BlobPart(mime_type=mime, content=data):
            blob = types.Blob(mime_type=mime, data=base64.b64decode(data))
            return types.Part(inline_data=blob)
        case UriPart(uri=uri):
            return types.Part(file_data=types.FileData(file_uri=uri))
        case _:
            text = readable_text(part)
            return None if text is None else types.Part(text=text)
