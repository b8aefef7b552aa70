"""
Anthropic Messages messages.

Source: Anthropic Messages API reference, the request field `messages`. Neighboring assistant items
are one message; of a user item each tool result is a tool message, and what stands between results
is a user message. The title and the context of a document are texts in front of it; the result of a
tool that failed ends in a generic part that says so.
The field `system` of a request is read and written as an item of the role `system` (see
`formats.request`).

Towards this format from another one, reasoning (it cannot be sent without the vendor's signature),
sealed compactions and parts of unknown kinds are dropped; a readable compaction becomes text;
arguments that are no JSON object are wrapped into one; media that a role has no place for leave
a short mark; names of speakers are dropped.
"""

from typing import Any

import msgspec

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.converter import Converter
from foldline.history.formats.wire import (
    FAILED,
    are_texts,
    as_text,
    as_text_or_none,
    blocks_in,
    check_role,
    is_elsewhere,
    is_object,
    item_of,
    json_text,
    native_of,
    object_from_json,
    speaker,
    written_blocks,
)
from foldline.history.messages import Message, Native, NativeFormat, Role
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


_FORMAT = NativeFormat.ANTHROPIC
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}
_SPEAKERS = ("user", "assistant")
_KEYS = ("role", "content")
_TEXT_KEYS = ("type", "text")
_CALL_KEYS = ("type", "id", "name", "input")
_RESULT_KEYS = ("type", "tool_use_id", "content")
_MEDIA = frozenset({"image", "document"})
_ABOUT = ("title", "context")
"""What a document says beside its pages."""

_encode = msgspec.json.Encoder().encode


def _message(fields: dict[str, Any]) -> Message:
    parts = _parts(fields.get("content"))
    return Message(role=_role(fields.get("role"), parts), parts=parts)


def _usual(item: object) -> Message | None:
    if type(item) is not dict or tuple(item) != _KEYS or item["role"] not in _SPEAKERS:
        return None
    role, blocks = item["role"], item["content"]
    if type(blocks) is str:
        return Message(role=role, parts=(TextPart(blocks),))
    if type(blocks) is not list or not blocks:
        return None
    if len(blocks) == 1 and (text := _usual_text(blocks[0])) is not None:
        # Of the part one str would be written.
        said = text.content
        if said.isascii() and "\x7f" not in said:
            # There is one way to write it.
            native: Native | None = Native(format=_FORMAT, item=_encode(item).decode())
        else:
            native = native_of(item, _FORMAT)
        return None if native is None else Message(role=role, parts=(text,), native=native)
    if role == "user":
        answer = _usual_result(blocks[0]) if len(blocks) == 1 else None
        return None if answer is None else Message(role="tool", parts=(answer,))
    parts = [part for one in blocks if (part := _usual_text(one) or _usual_call(one)) is not None]
    return Message(role=role, parts=tuple(parts)) if len(parts) == len(blocks) else None


def _usual_text(block: object) -> TextPart | None:
    if type(block) is not dict or tuple(block) != _TEXT_KEYS or block["type"] != "text":
        return None
    said = block["text"]
    return TextPart(said) if type(said) is str and (said.isascii() or are_texts(said)) else None


def _usual_call(block: object) -> ToolCallPart | None:
    if type(block) is not dict or tuple(block) != _CALL_KEYS:
        return None
    kind, call_id, name, given = block.values()
    if kind != "tool_use" or type(given) is not dict or not are_texts(call_id, name):
        return None
    try:
        arguments = json_text(given)
        # Without an escape these are the bytes of *given*, which equals write again.
        is_whole = "\\u" not in arguments and decode_json(arguments) == given
    except (FormatError, RecursionError):
        return None
    return ToolCallPart(call_id, name, arguments) if is_whole else None


def _usual_result(block: object) -> ToolCallResponsePart | None:
    if type(block) is not dict or tuple(block) != _RESULT_KEYS or block["type"] != "tool_result":
        return None
    call_id, said = block["tool_use_id"], block["content"]
    if not are_texts(call_id):
        return None
    if type(said) is str:
        return ToolCallResponsePart(call_id, said) if are_texts(said) else None
    if type(said) is not list or not said:
        return None
    parts = [part for one in said if (part := _usual_text(one)) is not None]
    return ToolCallResponsePart(call_id, tuple(parts)) if len(parts) == len(said) else None


def _role(given: Any, parts: tuple[Part, ...]) -> Role:
    role = _ROLES[check_role(given, _ROLES)]
    if role != "user" or not parts:
        return role
    answers = all(isinstance(part, ToolCallResponsePart) for part in parts)
    return "tool" if answers else role


def _parts(content: Any) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    parts: list[Part] = []
    for block, field in blocks_in(content, "content"):
        kind = as_text(block.get("type"), f"{field}.type")
        part = _vendor_part(block, kind, field)
        parts += _content_parts(block, kind, field) if part is None else (part,)
    return tuple(parts)


def _vendor_part(block: dict[str, Any], kind: str, field: str) -> Part | None:
    match kind:
        case "thinking":
            return ReasoningPart(as_text(block.get("thinking"), f"{field}.thinking"))
        case "redacted_thinking":
            return ReasoningPart("")
        case "compaction":
            text = as_text_or_none(block.get("content"), f"{field}.content")
            return CompactionPart(text or "")
        case "tool_use":
            return ToolCallPart(
                as_text(block.get("id"), f"{field}.id"),
                as_text(block.get("name"), f"{field}.name"),
                json_text(block["input"]) if "input" in block else "",
            )
        case "tool_result":
            call_id = as_text(block.get("tool_use_id"), f"{field}.tool_use_id")
            return ToolCallResponsePart(call_id, _response(block, field))
        case _:
            return None


def _content_parts(block: dict[str, Any], kind: str, field: str) -> tuple[ResponseContent, ...]:
    if kind == "text":
        return (TextPart(as_text(block.get("text"), f"{field}.text")),)
    source = block.get("source")
    medium = _media_part(source, kind) if kind in _MEDIA and is_object(source) else None
    if medium is None:
        return (GenericPart(kind, json_text(block)),)
    about = (block.get(key) for key in _ABOUT)
    return (*(TextPart(text) for text in about if isinstance(text, str)), medium)


def _media_part(source: dict[str, Any], modality: str) -> ResponseContent | None:
    match source:
        case {"type": "base64", "media_type": str() as mime, "data": str() as data}:
            return BlobPart(modality, mime, data)
        case {"type": "url", "url": str() as url}:
            return UriPart(modality, url)
        case {"type": "file", "file_id": str() as file_id}:
            return FilePart(modality, file_id)
        case {"type": "text", "data": str() as text}:
            return TextPart(text)
        case _:
            return None


def _response(block: dict[str, Any], field: str) -> str | tuple[ResponseContent, ...]:
    said = _said(block.get("content"), f"{field}.content")
    if not block.get("is_error"):
        return said
    return (*((TextPart(said),) if isinstance(said, str) else said), FAILED)


def _said(content: Any, field: str) -> str | tuple[ResponseContent, ...]:
    if content is None or isinstance(content, str):
        return content or ""
    parts: list[ResponseContent] = []
    for block, inner in blocks_in(content, field):
        kind = as_text(block.get("type"), f"{inner}.type")
        parts.extend(_content_parts(block, kind, inner))
    return tuple(parts)


def _built(message: Message) -> list[dict[str, Any]]:
    role = speaker(message)
    if not message.parts:
        return [{"role": role, "content": []}]
    if role != "assistant":
        return item_of(role, [block for part in message.parts for block in _blocks(part, role)])
    # Results belong to the user's side, also those that an assistant message holds.
    answers = [block for part in message.tool_call_responses for block in _blocks(part, "user")]
    said = [block for part in message.parts for block in _blocks(part, role)]
    return item_of("user", answers) + item_of(role, said)


def _blocks(part: Part, role: str) -> list[dict[str, Any]]:
    match part:
        case ToolCallPart(id=call_id, name=name, arguments=arguments):
            if role != "assistant":
                return []
            value = object_from_json(arguments)
            return [{"type": "tool_use", "id": call_id, "name": name, "input": value}]
        case ToolCallResponsePart(id=call_id, response=response):
            return [_result(call_id, response)] if role == "user" else []
        case _:
            return written_blocks((part,), media=_media_block if role == "user" else None)


def _result(call_id: str, response: str | tuple[ResponseContent, ...]) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": response}
    if isinstance(response, str):
        return result
    blocks = written_blocks(response, media=_media_block)
    result["content"] = blocks
    if FAILED in response:
        if len(blocks) == 1 and blocks[0]["type"] == "text":
            result["content"] = blocks[0]["text"]
        result["is_error"] = True
    return result


def _media_block(part: Part) -> dict[str, Any] | None:
    if not isinstance(part, (BlobPart, UriPart, FilePart)) or part.modality not in _MEDIA:
        return None
    if is_elsewhere(part, "file-"):
        return None
    if isinstance(part, BlobPart):
        source = {"type": "base64", "media_type": part.mime_type, "data": part.content}
    elif isinstance(part, UriPart):
        source = {"type": "url", "url": part.uri}
    else:
        source = {"type": "file", "file_id": part.file_id}
    return {"type": part.modality, "source": source}


def _id_key(block: dict[str, Any]) -> str | None:
    return {"tool_use": "id", "tool_result": "tool_use_id"}.get(block.get("type", ""))


ANTHROPIC = Converter(
    format=_FORMAT,
    parse=_message,
    build=_built,
    usual=_usual,
    id_key=_id_key,
    list_key="content",
    result_type="tool_result",
)
"""The converter of this format."""

from_anthropic = ANTHROPIC.messages
"""Reads the field `messages` of a request."""

to_anthropic = ANTHROPIC.items
"""Writes messages as items; those that `from_anthropic` read come out as they were."""

message_from_anthropic = ANTHROPIC.message
"""Reads one item as one message."""
