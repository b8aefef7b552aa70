"""The messages of LlamaIndex."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from foldline.guests import summary_text, with_thinking
from foldline.history.formats.wire import (
    json_text,
    maybe_list,
    maybe_object,
    maybe_text,
    object_from_json,
    readable_text,
)
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


__all__ = ["LlamaIndexCodec"]


_ROLES = {
    "assistant": "assistant",
    "chatbot": "assistant",
    "developer": "system",
    "function": "tool",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
}
_CALLS = "tool_calls"


class LlamaIndexCodec:
    """Reads and writes `ChatMessage`."""

    def read(self, item: ChatMessage, /) -> Sequence[Message]:
        """Return what *item* says."""
        role: Any = _ROLES.get(item.role.value, "user")
        parts = tuple(part for block in item.blocks for part in _read(block))
        if role == "tool":
            is_text = all(isinstance(part, TextPart) for part in parts)
            said: Any = "\n".join(filter(None, map(readable_text, parts))) if is_text else parts
            call_id = maybe_text(item.additional_kwargs.get("tool_call_id"))
            return [Message(role=role, parts=(ToolCallResponsePart(call_id, said),))]
        if role != "assistant":
            return [Message(role=role, parts=parts)]
        if not any(isinstance(part, ToolCallPart) for part in parts):
            parts += tuple(_vendor_calls(item))
        return [with_thinking(Message(role=role, parts=parts), _signed(item))]

    def write(self, message: Message, source: ChatMessage | None, /) -> ChatMessage:
        """Return *message*; what is unchanged in it is the very block of its source."""
        if message.is_summary:
            return ChatMessage(role="assistant", content=summary_text(message))
        own = [(list(_read(one)), one) for one in (source.blocks if source else ())]
        extra: dict[str, Any] = {**source.additional_kwargs} if source else {}
        # The vendor's own form of the calls, if it is there, would be sent in their place.
        extra.pop(_CALLS, None)
        said: list[Part] = [*message.parts]
        if message.role == "tool":
            (answer,) = message.tool_call_responses
            given = answer.response
            said = [TextPart(given)] if isinstance(given, str) else [*given]
            extra["tool_call_id"] = answer.id
        blocks = [_written(part, own) for part in said]
        kept = [one for one in blocks if one is not None]
        return ChatMessage(role=message.role, content=kept, additional_kwargs=extra)

    def part(self, item: ChatMessage, _: Sequence[int], /) -> ChatMessage:
        """Return *item*, which is one message."""
        return item


def _read(one: Any) -> Iterator[Part]:
    match one.block_type:
        case "text":
            yield TextPart(one.text)
        case "thinking":
            yield ReasoningPart(one.content or "")
        case "tool_call":
            given = one.tool_kwargs
            text = given if isinstance(given, str) else json_text(given)
            yield ToolCallPart(one.tool_call_id or "", one.tool_name, text)
        case "image" if isinstance(one.image, bytes):
            yield BlobPart("image", one.image_mimetype or "", one.image.decode())
        case "image" if one.url is not None:
            yield UriPart("image", str(one.url))
        case "cache":
            pass
        case kind:
            yield GenericPart(kind, one.model_dump_json())


def _vendor_calls(item: ChatMessage) -> Iterator[ToolCallPart]:
    """Read the calls that some vendors' clients keep as OpenAI Chat has them."""
    for one in maybe_list(item.additional_kwargs.get(_CALLS)):
        fields = maybe_object(one if isinstance(one, dict) else one.model_dump())
        call = maybe_object(fields.get("function"))
        name, given = maybe_text(call.get("name")), maybe_text(call.get("arguments"))
        yield ToolCallPart(maybe_text(fields.get("id")), name, given)


def _written(part: Part, own: Sequence[tuple[list[Part], Any]]) -> Any:
    found = next((one for read, one in own if read == [part]), None)
    if found is not None:
        return found
    match part:
        case ToolCallPart(id=id, name=name, arguments=arguments):
            given = object_from_json(arguments)
            return ToolCallBlock(tool_call_id=id, tool_name=name, tool_kwargs=given)
        case ReasoningPart(content=text):
            return ThinkingBlock(content=text)
        case BlobPart(modality="image", mime_type=mime, content=data):
            return ImageBlock(image=base64.b64decode(data), image_mimetype=mime)
        case UriPart(modality="image", uri=uri):
            return ImageBlock(url=uri)
        case _:
            text = readable_text(part)
            return None if text is None else TextBlock(text=text)


def _signed(item: ChatMessage) -> Iterator[dict[str, Any]]:
    for one in item.blocks:
        signature = isinstance(one, ThinkingBlock) and one.additional_information.get("signature")
        if isinstance(one, ThinkingBlock) and signature:
            yield {"type": "thinking", "thinking": one.content or "", "signature": signature}
