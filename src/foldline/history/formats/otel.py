"""
OpenTelemetry GenAI messages.

Source: OpenTelemetry GenAI semantic conventions, the JSON schemas of `gen_ai.input.messages` and
`gen_ai.output.messages`. Neighboring assistant items are one message, each result is one of its own.
Every part of ours has its place here, so nothing is dropped on the way from another format but what
that format's own item holds beside the parts.
"""

from contextlib import suppress
from typing import Any

import msgspec

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.converter import Converter
from foldline.history.formats.wire import (
    Object,
    as_list,
    as_object,
    as_text,
    as_text_or_none,
    check_role,
    is_list,
    is_object,
    json_text,
    maybe_text,
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
    is_opaque,
)


_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_SPOKEN: dict[str, type[TextPart | ReasoningPart | CompactionPart]] = {
    "text": TextPart,
    "reasoning": ReasoningPart,
    "compaction": CompactionPart,
}
_MEDIA: Any = BlobPart | UriPart | FilePart
_NOT_IN_RESPONSES = (ToolCallPart, ToolCallResponsePart, ReasoningPart, CompactionPart)


def _message(fields: Object) -> Message:
    role = _ROLES[check_role(fields.get("role"), _ROLES)]
    parts = tuple(
        _part(as_object(block, f"parts[{place}]"), f"parts[{place}]")
        for place, block in enumerate(as_list(fields.get("parts"), "parts"))
    )
    return Message(role=role, parts=parts, name=as_text_or_none(fields.get("name"), "name"))


def _part(block: Object, field: str) -> Part:
    kind = as_text(block.get("type"), f"{field}.type")
    match kind:
        case "text" | "reasoning" | "compaction":
            return _SPOKEN[kind](as_text(block.get("content"), f"{field}.content"))
        case "tool_call":
            call_id = as_text_or_none(block.get("id"), f"{field}.id") or ""
            name = as_text(block.get("name"), f"{field}.name")
            return ToolCallPart(call_id, name, _as_json(block.get("arguments")))
        case "tool_call_response":
            call_id = as_text_or_none(block.get("id"), f"{field}.id") or ""
            # Earlier versions of the conventions call it `result`.
            response = block.get("response", block.get("result"))
            return ToolCallResponsePart(call_id, _response(response))
        case "blob" | "uri" | "file":
            mime = maybe_text(block.get("mime_type"))
            try:
                medium: Part = msgspec.convert({**block, "mime_type": mime}, _MEDIA)
            except msgspec.ValidationError:
                medium = GenericPart(kind, json_text(block))
            return medium
        case _:
            return GenericPart(kind, json_text(block))


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


def _response_part(block: Object) -> ResponseContent:
    with suppress(FormatError):
        part = _part(block, "response")
        if not isinstance(part, _NOT_IN_RESPONSES):
            return part
    return GenericPart(block["type"], json_text(block))


def _built(message: Message) -> list[Object]:
    blocks = [_block(part) for part in message.parts if not is_opaque(part)]
    item: Object = {"role": message.role, "parts": blocks}
    if message.name is not None:
        item["name"] = message.name
    return [item]


def _block(part: Part) -> Object:
    """Write *part*: as msgspec does, since the names of parts are those of the conventions."""
    if isinstance(part, GenericPart):
        value = _from_json(part.data)
        is_whole = is_object(value) and value.get("type") == part.kind
        return value if is_whole else {"type": part.kind, "data": value}
    block: Object = msgspec.to_builtins(part)
    if isinstance(part, ToolCallPart):
        block["arguments"] = _from_json(part.arguments)
    elif isinstance(part, ToolCallResponsePart) and not isinstance(part.response, str):
        block["response"] = [_block(inner) for inner in part.response if not is_opaque(inner)]
    elif isinstance(part, BlobPart) and not part.mime_type:
        del block["mime_type"]
    return block


def _from_json(text: str) -> Any:
    try:
        return decode_json(text)
    except FormatError:
        return text


def _id_key(block: Object) -> str | None:
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
