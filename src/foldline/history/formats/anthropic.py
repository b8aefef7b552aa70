"""
Anthropic Messages messages.

Source: Anthropic Messages API reference, the request field `messages`. One item is one message; a
user message of nothing but tool results is a tool message. The field `system` of a request is
read and written as an item of the role `system` (see `formats.request`).

Towards this format from another one, reasoning (it cannot be sent without the vendor's signature),
sealed compactions and parts of unknown kinds are dropped; a readable compaction becomes text;
arguments that are no JSON object are wrapped into one; media that a role has no place for leave
a short mark; names of speakers are dropped.
"""

from collections.abc import Iterable
from typing import Any

from foldline.errors import FormatError
from foldline.history.formats.wire import (
    as_object,
    as_text,
    as_text_or_none,
    check_role,
    convert_items,
    is_list,
    is_object,
    json_text,
    keep_native,
    native_item,
    object_from_json,
    readable_text,
    speaker,
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


__all__ = [
    "from_anthropic",
    "items_from_message",
    "message_from_anthropic",
    "to_anthropic",
]


_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}
_PLAIN_KEYS = ["role", "content"]
_PLAIN_ROLES = ["user", "assistant"]
_MEDIA = frozenset({"image", "document"})


def from_anthropic(items: Iterable[Any]) -> tuple[Message, ...]:
    """
    Read the field `messages` of a request.

    Raises:
        FormatError: An item has the wrong shape; the error names its place and the field.
    """
    return convert_items(items, message_from_anthropic)


def to_anthropic(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """
    Write *messages* as items; those that `from_anthropic` read come out as they were.
    """
    return [item for message in messages for item in items_from_message(message)]


def message_from_anthropic(item: Any) -> Message:
    """
    Read one item.

    Raises:
        FormatError: *item* has the wrong shape.
    """
    fields = as_object(item, "the message")
    role, content = fields.get("role"), fields.get("content")
    # Most items of a long history are exactly this; writing them again needs no proof.
    if type(content) is str and list(fields) == _PLAIN_KEYS and role in _PLAIN_ROLES:
        return Message(role=role, parts=(TextPart(content),))
    parts = _parts(content)
    message = Message(role=_role(role, parts), parts=parts)
    return keep_native(message, item, _built(message), NativeFormat.ANTHROPIC)


def _role(given: Any, parts: tuple[Part, ...]) -> Role:
    role = _ROLES[check_role(given, _ROLES)]
    if role != "user" or not parts:
        return role
    answers = all(isinstance(part, ToolCallResponsePart) for part in parts)
    return "tool" if answers else role


def _parts(content: Any) -> tuple[Part, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextPart(content),)
    if not is_list(content):
        message = "content is neither a string nor a list"
        raise FormatError(message)
    return tuple(
        _part(as_object(block, f"content[{place}]"), f"content[{place}]")
        for place, block in enumerate(content)
    )


def _part(block: dict[str, Any], field: str) -> Part:
    kind = as_text(block.get("type"), f"{field}.type")
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
            return ToolCallResponsePart(call_id, _response(block.get("content"), field))
        case _:
            return _content_part(block, kind, field)


def _content_part(block: dict[str, Any], kind: str, field: str) -> ResponseContent:
    if kind == "text":
        return TextPart(as_text(block.get("text"), f"{field}.text"))
    source = block.get("source")
    if kind in _MEDIA and is_object(source):
        return _media_part(source, kind) or GenericPart(kind, json_text(block))
    return GenericPart(kind, json_text(block))


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


def _response(content: Any, field: str) -> str | tuple[ResponseContent, ...]:
    if content is None or isinstance(content, str):
        return content or ""
    if not is_list(content):
        message = f"{field}.content is neither a string nor a list"
        raise FormatError(message)
    parts: list[ResponseContent] = []
    for place, block in enumerate(content):
        inner = f"{field}.content[{place}]"
        kind = as_text(as_object(block, inner).get("type"), f"{inner}.type")
        parts.append(_content_part(block, kind, inner))
    return tuple(parts)


def items_from_message(message: Message) -> list[dict[str, Any]]:
    """
    Write one message as items.

    One item; two where an assistant message carries tool results; none where it holds only what
    this format has no place for.
    """
    item = native_item(message, NativeFormat.ANTHROPIC)
    return _built(message) if item is None else [item]


def _built(message: Message) -> list[dict[str, Any]]:
    if not message.parts:
        return [{"role": speaker(message), "content": []}]
    role = speaker(message)
    if role != "assistant":
        return _item(role, [block for part in message.parts for block in _blocks(part, role)])
    # Results belong to the user's side, whoever is said to have brought them.
    answers = [block for part in message.tool_call_responses for block in _blocks(part, "user")]
    said = [block for part in message.parts for block in _blocks(part, role)]
    return _item("user", answers) + _item(role, said)


def _item(role: str, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not blocks:
        return []
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return [{"role": role, "content": blocks[0]["text"]}]
    return [{"role": role, "content": blocks}]


def _blocks(part: Part, role: str) -> list[dict[str, Any]]:
    match part:
        case ToolCallPart(id=call_id, name=name, arguments=arguments):
            if role != "assistant":
                return []
            value = object_from_json(arguments)
            return [{"type": "tool_use", "id": call_id, "name": name, "input": value}]
        case ToolCallResponsePart(id=call_id, response=response):
            if role != "user":
                return []
            content: Any = response
            if not isinstance(response, str):
                content = _contents(response, media=True)
            return [{"type": "tool_result", "tool_use_id": call_id, "content": content}]
        case _:
            return _contents((part,), media=role == "user")


def _contents(parts: Iterable[Part], *, media: bool) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in parts:
        block = _media_block(part) if media else None
        text = readable_text(part)
        if block is not None:
            blocks.append(block)
        elif text is not None:
            blocks.append({"type": "text", "text": text})
    return blocks


def _media_block(part: Part) -> dict[str, Any] | None:
    if not isinstance(part, (BlobPart, UriPart, FilePart)) or part.modality not in _MEDIA:
        return None
    if isinstance(part, BlobPart):
        source = {"type": "base64", "media_type": part.mime_type, "data": part.content}
    elif isinstance(part, UriPart):
        source = {"type": "url", "url": part.uri}
    else:
        source = {"type": "file", "file_id": part.file_id}
    return {"type": part.modality, "source": source}
