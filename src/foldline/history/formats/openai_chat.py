"""
OpenAI Chat Completions messages.

Source: OpenAI Chat Completions API reference, the request field `messages`. `developer` is read as
`system` and the legacy `function` as `tool`; neighboring assistant items are one message.

Towards this format from another one, reasoning, sealed compactions and parts of unknown kinds
are dropped; a readable compaction becomes text; media that the role has no place for leave a
short mark; a message with tool results becomes one item per result, then one for the rest.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.formats.converter import Converter
from foldline.history.formats.wire import (
    PLAIN_KEYS,
    Object,
    are_texts,
    as_list,
    as_object,
    as_text,
    as_text_or_none,
    blocks_in,
    check_role,
    data_url,
    is_elsewhere,
    is_object,
    json_text,
    maybe_list,
    maybe_object,
    maybe_text,
    media_from_url,
    plain_message,
    speaker,
    written_blocks,
)
from foldline.history.messages import Message, NativeFormat, Role
from foldline.history.parts import (
    BlobPart,
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


_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_RESULT_KEYS = ("role", "tool_call_id", "content")
_ANSWER_KEYS = ("role", "content", "tool_calls")
_CALL_KEYS = ("id", "type", "function")
_FUNCTION_KEYS = ("name", "arguments")


def _message(fields: dict[str, Any]) -> Message:
    vendor_role = check_role(fields.get("role"), _ROLES)
    role = _ROLES[vendor_role]
    if role == "assistant":
        parts = _assistant_parts(fields)
    elif role == "tool":
        parts = _tool_parts(fields, legacy=vendor_role == "function")
    elif "content" in fields:
        parts = _content(fields["content"])
    else:
        # An object of another library, or a row with a name of its own for the text.
        raise FormatError("it has no content")
    return Message(role=role, parts=parts, name=as_text_or_none(fields.get("name"), "name"))


def _usual(item: object) -> Message | None:
    if type(item) is not dict:
        return None
    keys = tuple(item)
    if keys == PLAIN_KEYS:
        return plain_message(item["role"], item["content"])
    if keys == _RESULT_KEYS:
        role, call_id, said = item.values()
        if role == "tool" and are_texts(call_id, said):
            return Message(role=role, parts=(ToolCallResponsePart(call_id, said),))
    elif keys == _ANSWER_KEYS:
        role, said, calls = item.values()
        if role != "assistant" or type(calls) is not list or not (said is None or are_texts(said)):
            return None
        made = [part for one in calls if (part := _usual_call(one)) is not None]
        if made and len(made) == len(calls):
            return Message(role=role, parts=(*(() if said is None else (TextPart(said),)), *made))
    return None


def _usual_call(call: object) -> ToolCallPart | None:
    if type(call) is not dict or tuple(call) != _CALL_KEYS:
        return None
    call_id, kind, function = call.values()
    if kind != "function" or type(function) is not dict or tuple(function) != _FUNCTION_KEYS:
        return None
    name, arguments = function.values()
    return ToolCallPart(call_id, name, arguments) if are_texts(call_id, name, arguments) else None


def _content(content: Any) -> tuple[ResponseContent, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    return tuple(_content_part(block, field) for block, field in blocks_in(content, "content"))


def _content_part(block: dict[str, Any], field: str) -> ResponseContent:
    kind = as_text(block.get("type"), f"{field}.type")
    match kind:
        case "text" | "refusal":
            return TextPart(as_text(block.get(kind), f"{field}.{kind}"))
        case "image_url":
            image = block.get("image_url")
            if not isinstance(image, str):
                fields = as_object(image, f"{field}.image_url")
                image = as_text(fields.get("url"), f"{field}.image_url.url")
            return media_from_url(image, "image")
        case "input_audio":
            audio = as_object(block.get("input_audio"), f"{field}.input_audio")
            data = as_text(audio.get("data"), f"{field}.input_audio.data")
            return BlobPart("audio", f"audio/{audio.get('format')}", data)
        case "file":
            return _file(as_object(block.get("file"), f"{field}.file"), block)
        case _:
            return GenericPart(kind, json_text(block))


def _file(file: dict[str, Any], block: dict[str, Any]) -> ResponseContent:
    file_id, data = file.get("file_id"), file.get("file_data")
    if isinstance(file_id, str):
        return FilePart("document", file_id)
    if not isinstance(data, str):
        return GenericPart("file", json_text(block))
    found = media_from_url(data, "document")
    return found if isinstance(found, BlobPart) else BlobPart("document", "", data)


def _tool_parts(fields: dict[str, Any], *, legacy: bool) -> tuple[Part, ...]:
    call_id = as_text_or_none(fields.get("tool_call_id"), "tool_call_id")
    content = fields.get("content")
    parts = _content(content)
    if call_id is None and not legacy and "tool_name" not in fields:
        # It names no call, so it answers none: what a tool said, without a call. With the name of a
        # tool it is Ollama's, whose calls need no ids: it answers the first one that waits.
        return parts
    response = content if isinstance(content, str) else parts
    return (ToolCallResponsePart(call_id or "", response or ""),)


def _assistant_parts(fields: dict[str, Any]) -> tuple[Part, ...]:
    parts: list[Part] = []
    reasoning = fields.get("reasoning_content")
    if isinstance(reasoning, str):
        # Not OpenAI's own field, but that of several compatible vendors.
        parts.append(ReasoningPart(reasoning))
    parts.extend(_said(fields.get("content")))
    refusal = as_text_or_none(fields.get("refusal"), "refusal")
    if refusal is not None:
        parts.append(TextPart(refusal))
    if fields.get("audio") is not None:
        audio = as_object(fields["audio"], "audio")
        transcript = as_text_or_none(audio.get("transcript"), "audio.transcript")
        parts += [] if transcript is None else [TextPart(transcript)]
        parts.append(FilePart("audio", as_text_or_none(audio.get("id"), "audio.id") or ""))
    parts.extend(_calls(fields))
    return tuple(parts)


def _said(content: Any) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    blocks = blocks_in(content, "content")
    return tuple(_thought(block) or _content_part(block, field) for block, field in blocks)


def _thought(block: dict[str, Any]) -> Part | None:
    """Return what a model of Mistral thinks, which is a block of its content; None for another one."""
    if block.get("type") != "thinking":
        return None
    return ReasoningPart(thought_in(block))


def thought_in(block: dict[str, Any]) -> str:
    """Return what a model of Mistral thinks in *block*; empty for another one."""
    said = map(maybe_object, maybe_list(block.get("thinking")))
    return "".join(maybe_text(one.get("text")) for one in said)


def _calls(fields: dict[str, Any]) -> Iterable[ToolCallPart]:
    calls = fields.get("tool_calls")
    if calls is not None:
        for place, call in enumerate(as_list(calls, "tool_calls")):
            field = f"tool_calls[{place}]"
            yield _call(as_object(call, field), field)
    legacy = fields.get("function_call")
    if legacy is not None:
        yield _function(as_object(legacy, "function_call"), "function_call", "")


def _call(call: dict[str, Any], field: str) -> ToolCallPart:
    call_id = as_text_or_none(call.get("id"), f"{field}.id") or ""
    kind = as_text_or_none(call.get("type"), f"{field}.type") or "function"
    if kind == "function":
        function = as_object(call.get("function"), f"{field}.function")
        return _function(function, f"{field}.function", call_id)
    if kind == "custom":
        custom = as_object(call.get("custom"), f"{field}.custom")
        name = as_text(custom.get("name"), f"{field}.custom.name")
        return ToolCallPart(call_id, name, as_text(custom.get("input"), f"{field}.custom.input"))
    return ToolCallPart(call_id, kind, json_text(call))


def _function(function: dict[str, Any], field: str, call_id: str) -> ToolCallPart:
    name = as_text_or_none(function.get("name"), f"{field}.name") or ""
    arguments = function.get("arguments")
    if is_object(arguments):
        # Some compatible vendors write the object itself.
        return ToolCallPart(call_id, name, json_text(arguments))
    text = as_text_or_none(arguments, f"{field}.arguments") or ""
    return ToolCallPart(call_id, name, text)


def _built(message: Message) -> list[dict[str, Any]]:
    tools = message.role != "system"
    calls = message.tool_calls if tools else ()
    answers = message.tool_call_responses if tools else ()
    items = [_answer(answer, message.name) for answer in answers]
    role = speaker(message)
    blocks = written_blocks(message.parts, media=_media if role == "user" else None)
    if message.parts and not blocks and not calls:
        return items
    item: dict[str, Any] = {"role": role}
    if message.name is not None and not answers:
        item["name"] = message.name
    item["content"] = _joined(blocks, role)
    if calls:
        item["tool_calls"] = [_call_item(call) for call in calls]
    return [*items, item]


def _call_item(call: ToolCallPart) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _answer(answer: ToolCallResponsePart, name: str | None) -> dict[str, Any]:
    item: dict[str, Any] = {"role": "tool", "tool_call_id": answer.id}
    if name is not None:
        item["name"] = name
    if isinstance(answer.response, str):
        item["content"] = answer.response
    else:
        item["content"] = written_blocks(answer.response) or ""
    return item


def _joined(blocks: list[dict[str, Any]], role: str) -> Any:
    if not blocks:
        return None if role == "assistant" else ""
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return blocks


def _media(part: Part) -> dict[str, Any] | None:
    match part:
        case BlobPart(modality="image"):
            return {"type": "image_url", "image_url": {"url": data_url(part)}}
        case UriPart(modality="image", uri=uri):
            return {"type": "image_url", "image_url": {"url": uri}}
        case BlobPart(modality="audio", mime_type=mime, content=data):
            kind = mime.rpartition("/")[2]
            audio = {"data": data, "format": "mp3" if kind == "mpeg" else kind}
            return {"type": "input_audio", "input_audio": audio}
        case BlobPart(modality="document"):
            file = {"filename": "document", "file_data": data_url(part)}
            return {"type": "file", "file": file}
        case FilePart(modality="document", file_id=file_id) if not is_elsewhere(part, "file_"):
            return {"type": "file", "file": {"file_id": file_id}}
        case _:
            return None


def _id_key(item: dict[str, Any]) -> str | None:
    if item.get("role") == "tool":
        return "tool_call_id"
    return None if "role" in item else "id"


OPENAI_CHAT = Converter(
    format=NativeFormat.OPENAI_CHAT,
    parse=_message,
    build=_built,
    usual=_usual,
    id_key=_id_key,
    list_key="tool_calls",
)
"""The converter of this format."""

from_openai_chat = OPENAI_CHAT.messages
"""Reads the field `messages` of a request."""

to_openai_chat = OPENAI_CHAT.items
"""Writes messages as items; those that `from_openai_chat` read come out as they were."""

message_from_openai_chat = OPENAI_CHAT.message
"""Reads one item as one message."""

CHAT_FIELDS = (
    "role",
    "tool_call_id",
    "name",
    "reasoning_content",
    "content",
    "refusal",
    "annotations",
    "audio",
    "tool_calls",
    "function_call",
)
"""The fields of a message, in the order in which they are read."""

_EMPTY: tuple[Any, ...] = (None, [])
_LOGGED_KEYS = frozenset({*_CALL_KEYS, "index"})


def chat_message(item: Object) -> Message:
    """Read what *item* of a log says, whose keys are in any order; no copy of it is kept."""
    sent = {
        key: item.get(key) for key in CHAT_FIELDS if key == "content" or item.get(key) not in _EMPTY
    }
    if "tool_calls" in sent:
        sent["tool_calls"] = [
            _logged_call(call) for call in as_list(item["tool_calls"], "tool_calls")
        ]
    message = message_from_openai_chat(sent)
    if message.role == "tool" and not message.tool_call_responses:
        # What answers no call was printed; the vendor would refuse the item as it is.
        return replace(message, native=None)
    return message


def _logged_call(call: Any) -> Any:
    fields = maybe_object(call)
    function = maybe_object(fields.get("function"))
    if not fields.keys() <= _LOGGED_KEYS or function.keys() != {"name", "arguments"}:
        return call
    named = {"name": function["name"], "arguments": function["arguments"]}
    return {"id": fields.get("id"), "type": fields.get("type", "function"), "function": named}
