"""
OpenAI Responses input items.

Source: OpenAI Responses API reference, the request field `input` as a list, or the `output` of a
response. Neighboring items of the model (text, calls, reasoning) are one assistant message, the
output of a call is a tool message, `developer` is read as `system`. The request to approve an MCP
call and the answer to it are a call and its output, and so are a search for tools by the client and
what it found. Items that change the settings of a conversation are system messages, items of every
other kind generic parts of an assistant message.

Towards this format from another one, reasoning (it cannot be sent unless it is the vendor's own),
sealed compactions and parts of unknown kinds are dropped; a readable compaction becomes text; a
message with calls or results becomes several items, in the order of its parts.
"""

from collections.abc import Iterable
from typing import Any

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
    is_list,
    item_of,
    json_text,
    media_from_url,
    native_of,
    plain_message,
    speaker,
    written_blocks,
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


_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_CALL_KEYS = ("type", "call_id", "name", "arguments")
_OUTPUT_KEYS = ("type", "call_id", "output")
_TEXT_KINDS = frozenset({"input_text", "output_text", "text", "summary_text", "refusal"})
_MEDIA = {"image": "input_image", "document": "input_file"}
_CALL_IDS = {"function_call": "call_id", "mcp_approval_request": "id"}
_OF_THE_WIRE = frozenset({"type", "id", "call_id", "status"})
_FUNCTIONS = frozenset({"function_call_output", "custom_tool_call_output"})
_SEARCHES = frozenset({"tool_search_call", "tool_search_output"})
_PAIR_IDS = {"mcp_approval_request": "id", "mcp_approval_response": "approval_request_id"}
# They hold for all that comes after them.
_SETTINGS = frozenset({"additional_tools", "configuration_update"})
_LANGCHAIN = frozenset({"ai", "human"})
_COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})


def _message(fields: dict[str, Any]) -> Message:
    kind = as_text_or_none(fields.get("type"), "type")
    if kind is None and "role" not in fields:
        raise FormatError("type and role are both missing")
    own_id = fields.get("id")
    message_id = own_id if isinstance(own_id, str) else None
    if kind is None or kind == "message":
        role = _ROLES[check_role(fields.get("role"), _ROLES)]
        return Message(role=role, parts=_content(fields.get("content")), id=message_id)
    if kind in _LANGCHAIN:
        raise FormatError(f"type {kind!r} is LangChain's: use foldline.integrations.langchain")
    if _is_answer(fields, kind):
        return Message(role="tool", parts=(_answer(fields, kind),), id=message_id)
    role = "system" if kind in _SETTINGS else "assistant"
    return Message(role=role, parts=(_model_part(fields, kind),), id=message_id)


def _usual(item: object) -> Message | None:
    if type(item) is not dict:
        return None
    keys, kind = tuple(item), item.get("type")
    if keys == PLAIN_KEYS:
        return plain_message(item["role"], item["content"])
    if kind == "function_call" and keys == _CALL_KEYS:
        _, call_id, name, arguments = item.values()
        if are_texts(call_id, name, arguments):
            return Message(role="assistant", parts=(ToolCallPart(call_id, name, arguments),))
    elif kind == "function_call_output" and keys == _OUTPUT_KEYS:
        _, call_id, said = item.values()
        if are_texts(call_id, said):
            return Message(role="tool", parts=(ToolCallResponsePart(call_id, said),))
    elif kind == "message":
        return _usual_answer(item)
    return None


def _usual_answer(item: Object) -> Message | None:
    """Read an answer of one block, which is kept: of its parts one str would be written."""
    content, own_id = item.get("content"), item.get("id")
    if item.get("role") != "assistant" or type(content) is not list or len(content) != 1:
        return None
    block = content[0]
    text = block.get("text") if type(block) is dict and block.get("type") == "output_text" else None
    if type(text) is not str or not (own_id is None or type(own_id) is str):
        return None
    native = native_of(item, NativeFormat.OPENAI_RESPONSES)
    if native is None:
        return None
    return Message(role="assistant", parts=(TextPart(text),), id=own_id, native=native)


def _content(content: Any) -> tuple[ResponseContent, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    return tuple(_content_part(block, field) for block, field in blocks_in(content, "content"))


def _content_part(block: dict[str, Any], field: str) -> ResponseContent:
    kind = as_text(block.get("type"), f"{field}.type")
    if kind in _TEXT_KINDS:
        key = "refusal" if kind == "refusal" else "text"
        return TextPart(as_text(block.get(key), f"{field}.{key}"))
    part: ResponseContent
    match block:
        case {"type": "input_image", "file_id": str() as file_id}:
            part = FilePart("image", file_id)
        case {"type": "input_file", "file_id": str() as file_id}:
            part = FilePart("document", file_id)
        case {"type": "input_image", "image_url": str() as url}:
            part = media_from_url(url, "image")
        case {"type": "input_file", "file_data": str() as data}:
            file = media_from_url(data, "document")
            part = file if isinstance(file, BlobPart) else BlobPart("document", "", data)
        case {"type": "input_file", "file_url": str() as url}:
            part = media_from_url(url, "document")
        case {"type": "input_audio", "input_audio": {"data": str() as data, **audio}}:
            part = BlobPart("audio", f"audio/{audio.get('format')}", data)
        case _:
            part = GenericPart(kind, json_text(block))
    return part


def _is_call(fields: dict[str, Any], kind: str) -> bool:
    if kind in _SEARCHES and not _is_own_search(fields):
        return False
    return kind.endswith("_call") and isinstance(fields.get("call_id"), str)


def _is_answer(fields: dict[str, Any], kind: str) -> bool:
    if kind == "tool_search_output":
        return _is_own_search(fields)
    if kind == "function_call_output" and fields.get("call_id") is None:
        # What a tool says without a call has the name of the tool.
        return not isinstance(fields.get("name"), str)
    return kind.endswith("_call_output") or kind == "mcp_approval_response"


def _is_own_search(fields: dict[str, Any]) -> bool:
    """Whether the client answers a search for tools, and not the vendor itself."""
    return isinstance(fields.get("call_id"), str) and fields.get("execution") != "server"


def _answer(fields: dict[str, Any], kind: str) -> ToolCallResponsePart:
    if kind == "mcp_approval_response":
        decision = {key: fields[key] for key in ("approve", "reason") if key in fields}
        request_id = as_text(fields.get("approval_request_id"), "approval_request_id")
        return ToolCallResponsePart(request_id, json_text(decision))
    # The output of a local shell call repeats the call's id under its own key.
    call_id = fields.get("call_id", fields.get("id"))
    if kind == "function_call_output":
        call_id = as_text(fields.get("call_id"), "call_id")
    output = fields if kind in _SEARCHES else fields.get("output")
    if isinstance(output, str):
        response: str | tuple[ResponseContent, ...] = output
    elif is_list(output):
        named = blocks_in(output, "output")
        response = tuple(part for block, name in named for part in _said(block, name, kind))
    else:
        response = "" if output is None else (GenericPart(kind, json_text(output)),)
    return ToolCallResponsePart(call_id if isinstance(call_id, str) else "", response)


def _said(block: dict[str, Any], field: str, kind: str) -> Iterable[ResponseContent]:
    if kind in _FUNCTIONS or isinstance(block.get("type"), str):
        yield _content_part(block, field)
        return
    rest = {**block}
    for key in ("stdout", "stderr"):
        if isinstance(block.get(key), str):
            yield TextPart(rest.pop(key))
    if rest:
        yield GenericPart(kind, json_text(rest))


def _model_part(fields: dict[str, Any], kind: str) -> Part:
    if kind in _CALL_IDS:
        key = _CALL_IDS[kind]
        return ToolCallPart(
            as_text(fields.get(key), key),
            as_text(fields.get("name"), "name"),
            as_text(fields.get("arguments"), "arguments"),
        )
    if kind == "reasoning":
        return ReasoningPart("\n".join(_reasoning(fields)))
    if kind in _COMPACTIONS:
        return CompactionPart("")
    if _is_call(fields, kind):
        return _other_call(fields, kind, fields["call_id"])
    return GenericPart(kind, json_text(fields))


def _other_call(fields: dict[str, Any], kind: str, call_id: str) -> ToolCallPart:
    name, text = fields.get("name"), fields.get("input")
    asked = {key: value for key, value in fields.items() if key not in _OF_THE_WIRE}
    return ToolCallPart(
        call_id,
        name if isinstance(name, str) else kind,
        text if isinstance(text, str) else json_text(asked),
    )


def _reasoning(fields: dict[str, Any]) -> Iterable[str]:
    for key in ("summary", "content"):
        blocks = fields.get(key)
        for place, block in enumerate(() if blocks is None else as_list(blocks, key)):
            field = f"{key}[{place}]"
            text = as_object(block, field).get("text")
            if text is not None:
                yield as_text(text, f"{field}.text")


def _built(message: Message) -> list[dict[str, Any]]:
    if not message.parts and message.role != "tool":
        return [{"role": message.role, "content": ""}]
    items: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    role = speaker(message)
    for part in message.parts:
        item = _paired_item(part) if role != "system" else None
        if item is None:
            said.extend(_blocks((part,), role))
        else:
            items += [*item_of(role, said), item]
            said = []
    return items + item_of(role, said)


def _paired_item(part: Part) -> dict[str, Any] | None:
    match part:
        case ToolCallPart(id=call_id, name=name, arguments=arguments):
            called = {"call_id": call_id, "name": name, "arguments": arguments}
            return {"type": "function_call", **called}
        case ToolCallResponsePart(id=call_id, response=response):
            output: Any = response
            if not isinstance(response, str):
                output = _blocks(response, "user") or ""
            return {"type": "function_call_output", "call_id": call_id, "output": output}
        case _:
            return None


def _blocks(parts: Iterable[Part], role: str) -> list[dict[str, Any]]:
    return written_blocks(
        parts,
        media=_media if role == "user" else None,
        text_type="output_text" if role == "assistant" else "input_text",
    )


def _media(part: Part) -> dict[str, Any] | None:
    if not isinstance(part, (BlobPart, UriPart, FilePart)) or part.modality not in _MEDIA:
        return None
    if is_elsewhere(part, "file_"):
        return None
    kind = _MEDIA[part.modality]
    if isinstance(part, FilePart):
        return {"type": kind, "file_id": part.file_id}
    if part.modality == "image":
        url = part.uri if isinstance(part, UriPart) else data_url(part)
        return {"type": kind, "image_url": url}
    if isinstance(part, UriPart):
        return {"type": kind, "file_url": part.uri}
    return {"type": kind, "filename": "document", "file_data": data_url(part)}


def _id_key(item: dict[str, Any]) -> str | None:
    kind = item.get("type")
    if kind in _PAIR_IDS:
        return _PAIR_IDS[kind]
    if not isinstance(kind, str):
        return None
    if _is_call(item, kind):
        return "call_id"
    # The output of a local shell call repeats the call's id under its own key.
    own = "call_id" if "call_id" in item else "id"
    return own if _is_answer(item, kind) else None


OPENAI_RESPONSES = Converter(
    format=NativeFormat.OPENAI_RESPONSES,
    parse=_message,
    build=_built,
    usual=_usual,
    id_key=_id_key,
)
"""The converter of this format."""

from_openai_responses = OPENAI_RESPONSES.messages
"""Reads the field `input` of a request, or the `output` of a response."""

to_openai_responses = OPENAI_RESPONSES.items
"""Writes messages as items; those that `from_openai_responses` read come out as they were."""

message_from_openai_responses = OPENAI_RESPONSES.message
"""Reads one item as one message."""
