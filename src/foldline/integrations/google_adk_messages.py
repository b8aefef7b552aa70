"""The contents of Google's Agent Development Kit, which are those of Gemini."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from google.genai import types

from foldline.guests.blocks import BlockCodec, result_text
from foldline.history.formats.wire import json_text, object_from_json, readable_text
from foldline.history.media import blob_of, modality_of
from foldline.history.messages import Role
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
_OTHER_AGENT = ("For context:", "For context: below is a transcript of what another agent did")


class GoogleADKCodec(BlockCodec[types.Content, types.Part]):
    """Reads and writes `Content`; what is unchanged in an answer keeps its thought signature."""

    def role(self, item: types.Content, /) -> Role:
        """Return the role of *item*; what it relays of another agent no user has said."""
        return "assistant" if item.role == "model" or _is_relayed(item) else "user"

    def blocks(self, item: types.Content, /) -> Sequence[types.Part]:
        """Return the parts of *item*."""
        return item.parts or ()

    def parts(self, block: types.Part, /) -> Iterator[Part]:
        """Read one part."""
        call, blob, file = block.function_call, block.inline_data, block.file_data
        if call is not None:
            yield ToolCallPart(call.id or "", call.name or "", json_text(call.args or {}))
        elif (answer := block.function_response) is not None:
            given = answer.response or {}
            # What a tool returns that is no object is wrapped into one.
            said: Any = given.get(_RESULT) if given.keys() == {_RESULT} else given
            text = said if isinstance(said, str) else json_text(said)
            yield ToolCallResponsePart(answer.id or "", text)
        elif blob is not None:
            yield blob_of(blob.data or b"", blob.mime_type or "")
        elif file is not None:
            yield UriPart(modality_of(file.mime_type or ""), file.file_uri or "")
        elif block.text is not None:
            yield ReasoningPart(block.text) if block.thought else TextPart(block.text)
        elif block.model_fields_set:
            yield GenericPart(min(block.model_fields_set), block.model_dump_json(exclude_none=True))

    def tool(self, block: types.Part, /) -> str | None:
        """Return the name that a result has."""
        answer = block.function_response
        return None if answer is None else answer.name

    def block(
        self, part: Part, own: types.Part | None, tool: str | None = None, /
    ) -> types.Part | None:
        """Write one part."""
        match part:
            case ToolCallPart(id=id, name=name, arguments=arguments):
                call = types.FunctionCall(id=id, name=name, args=object_from_json(arguments))
                return (own or types.Part()).model_copy(update={"function_call": call})
            case ToolCallResponsePart(id=id):
                said = {_RESULT: result_text(part)}
                answer = types.FunctionResponse(id=id, name=tool or "unknown", response=said)
                return types.Part(function_response=answer)
            case ReasoningPart(content=text):
                return types.Part(text=text, thought=True)
            case BlobPart(mime_type=mime, content=data):
                blob = types.Blob(mime_type=mime, data=base64.b64decode(data))
                return types.Part(inline_data=blob)
            case UriPart(uri=uri):
                return types.Part(file_data=types.FileData(file_uri=uri))
            case _:
                text = readable_text(part)
                return None if text is None else types.Part(text=text)

    def made(
        self, role: str, blocks: list[types.Part], source: types.Content | None, /
    ) -> types.Content:
        """Return a content of the model or a user."""
        made = "model" if role == "assistant" else "user"
        return types.Content(role=made if source is None else source.role, parts=blocks)


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


def _is_relayed(item: types.Content) -> bool:
    text = (item.parts[0].text if item.parts else None) or ""
    first, begin = _OTHER_AGENT
    return text == first or text.startswith(begin)


def _answers(item: types.Content) -> bool:
    return any(part.function_response is not None for part in item.parts or ())
