"""
OpenTelemetry GenAI messages.

Source: OpenTelemetry GenAI semantic conventions, the JSON schemas of `gen_ai.input.messages` and
`gen_ai.output.messages`. Neighboring assistant items are one message, each result is one of its own.
Every part of ours has its place here, so nothing is dropped on the way from another format but what
that format's own item holds beside the parts.
"""

from typing import Any, assert_never

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.converter import Converter
from foldline.history.formats.wire import (
    as_list,
    as_object,
    as_text,
    as_text_or_none,
    check_role,
    is_list,
    is_object,
    json_text,
)
from foldline.history.messages import Message, NativeFormat, Role
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    ResponseContent,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)


__all__ = ["OTEL", "from_otel", "message_from_otel", "to_otel"]


_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_NOT_IN_RESPONSES = (ToolCallPart, ToolCallResponsePart, ReasoningPart, CompactionPart)


def _message(fields: dict[str, Any]) -> Message:
    role = _ROLES[check_role(fields.get("role"), _ROLES)]
    parts = tuple(
        _part(as_object(block, f"parts[{place}]"), f"parts[{place}]")
        for place, block in enumerate(as_list(fields.get("parts"), "parts"))
    )
    return Message(role=role, parts=parts, name=as_text_or_none(fields.get("name"), "name"))


def _part(block: dict[str, Any], field: str) -> Part:
    kind = as_text(block.get("type"), f"{field}.type")
    match kind:
        case "text" | "reasoning" | "compaction":
            return _spoken(kind, as_text(block.get("content"), f"{field}.content"))
        case "tool_call":
            call_id = as_text_or_none(block.get("id"), f"{field}.id") or ""
            name = as_text(block.get("name"), f"{field}.name")
            return ToolCallPart(call_id, name, _as_json(block.get("arguments")))
        case "tool_call_response":
            call_id = as_text_or_none(block.get("id"), f"{field}.id") or ""
            # Earlier versions of the conventions call it `result`.
            response = block.get("response", block.get("result"))
            return ToolCallResponsePart(call_id, _response(response))
        case _:
            return _media_part(block) or GenericPart(kind, json_text(block))


def _spoken(kind: str, content: str) -> TextPart | ReasoningPart | CompactionPart:
    if kind == "reasoning":
        return ReasoningPart(content)
    return CompactionPart(content) if kind == "compaction" else TextPart(content)


def _media_part(block: dict[str, Any]) -> BlobPart | UriPart | FilePart | None:
    match block:
        case {"type": "blob", "modality": str() as modality, "content": str() as data}:
            mime = block.get("mime_type")
            return BlobPart(modality, mime if isinstance(mime, str) else "", data)
        case {"type": "uri", "modality": str() as modality, "uri": str() as uri}:
            return UriPart(modality, uri)
        case {"type": "file", "modality": str() as modality, "file_id": str() as file_id}:
            return FilePart(modality, file_id)
        case _:
            return None


def _as_json(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json_text(value)


def _response(value: Any) -> str | tuple[ResponseContent, ...]:
    if not is_list(value) or not value:
        return _as_json(value)
    parts: list[ResponseContent] = []
    for block in value:
        if not is_object(block) or not isinstance(block.get("type"), str):
            return json_text(value)
        parts.append(_response_part(block))
    return tuple(parts)


def _response_part(block: dict[str, Any]) -> ResponseContent:
    try:
        part = _part(block, "response")
    except FormatError:
        return GenericPart(block["type"], json_text(block))
    if isinstance(part, _NOT_IN_RESPONSES):
        return GenericPart(block["type"], json_text(block))
    return part


def _built(message: Message) -> list[dict[str, Any]]:
    blocks = [_block(part) for part in message.parts]
    item: dict[str, Any] = {"role": message.role, "parts": blocks}
    if message.name is not None:
        item["name"] = message.name
    return [item]


def _block(part: Part) -> dict[str, Any]:
    match part:
        case TextPart() | ReasoningPart() | CompactionPart():
            return {"type": part.__struct_config__.tag, "content": part.content}
        case ToolCallPart(id=call_id, name=name, arguments=text):
            value = _from_json(text)
            return {"type": "tool_call", "id": call_id, "name": name, "arguments": value}
        case ToolCallResponsePart(id=call_id, response=response):
            if isinstance(response, str):
                return _answer(call_id, response)
            return _answer(call_id, [_block(inner) for inner in response])
        case GenericPart(kind=kind, data=data):
            return _generic(kind, data)
        case _:
            return _media_block(part)


def _answer(call_id: str, response: Any) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": call_id, "response": response}


def _media_block(part: BlobPart | UriPart | FilePart) -> dict[str, Any]:
    match part:
        case BlobPart(modality=modality, mime_type="", content=data):
            return {"type": "blob", "modality": modality, "content": data}
        case BlobPart(modality=modality, mime_type=mime, content=data):
            return {
                "type": "blob",
                "modality": modality,
                "mime_type": mime,
                "content": data,
            }
        case UriPart(modality=modality, uri=uri):
            return {"type": "uri", "modality": modality, "uri": uri}
        case FilePart(modality=modality, file_id=file_id):
            return {"type": "file", "modality": modality, "file_id": file_id}
        case _:
            assert_never(part)


def _from_json(text: str) -> Any:
    try:
        return decode_json(text)
    except FormatError:
        return text


def _generic(kind: str, data: str) -> dict[str, Any]:
    value = _from_json(data)
    if is_object(value) and value.get("type") == kind:
        return value
    return {"type": kind, "data": value}


def _id_key(block: dict[str, Any]) -> str | None:
    return "id" if block.get("type") in {"tool_call", "tool_call_response"} else None


OTEL = Converter(
    format=NativeFormat.OTEL,
    parse=_message,
    build=_built,
    id_key=_id_key,
    list_key="parts",
    result_type="tool_call_response",
)
"""The converter of this format."""

from_otel = OTEL.messages
"""Reads the value of `gen_ai.input.messages` or `gen_ai.output.messages`."""

to_otel = OTEL.items
"""Writes messages as items; those that `from_otel` read come out as they were."""

message_from_otel = OTEL.message
"""Reads one item as one message."""
