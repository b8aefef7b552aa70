"""The messages of LlamaIndex."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from llama_index.core.base.llms import types

from foldline.guests.blocks import BlockCodec, rewritten
from foldline.history.formats.wire import maybe_list, maybe_object, object_from_json, readable_text
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
from foldline.logs.langchain import vendor_calls


_ROLES: Any = {
    "chatbot": "assistant",
    "developer": "system",
    "function": "tool",
    "model": "assistant",
}
_CALLS, _ID = "tool_calls", "tool_call_id"


class LlamaIndexCodec(BlockCodec[types.ChatMessage, Any]):
    """Reads and writes `ChatMessage`."""

    def role(self, item: types.ChatMessage, /) -> Role:
        """Return the role of *item*."""
        return _ROLES.get(item.role.value, item.role.value)

    def blocks(self, item: types.ChatMessage, /) -> Sequence[Any]:
        """Return the blocks of *item*; a result of a tool is one as a whole."""
        return [item] if self.role(item) == "tool" else item.blocks

    def parts(self, block: Any, /) -> Iterator[Part]:
        """Read one block."""
        match getattr(block, "block_type", "result"):
            case "result":
                yield self._result(block)
            case "text":
                yield TextPart(block.text)
            case "thinking":
                yield ReasoningPart(block.content or "")
            case "tool_call":
                yield ToolCallPart(block.tool_call_id or "", block.tool_name, block.tool_kwargs)
            case "image" if isinstance(block.image, bytes):
                yield BlobPart("image", block.image_mimetype or "", block.image.decode())
            case "image" if block.url is not None:
                yield UriPart("image", str(block.url))
            case "cache":
                pass
            case kind:
                yield GenericPart(kind, block.model_dump_json())

    def thinking(self, block: Any, /) -> dict[str, Any] | None:
        """Return thinking that is signed."""
        held = maybe_object(getattr(block, "additional_information", None))
        if block.block_type != "thinking" or not (signature := held.get("signature")):
            return None
        return {"type": "thinking", "thinking": block.content or "", "signature": signature}

    def said(self, item: types.ChatMessage, /) -> tuple[Part, ...]:
        """Return what an answer says, with the calls that some clients keep as OpenAI Chat does."""
        parts = super().said(item)
        if any(isinstance(one, ToolCallPart) for one in parts):
            return parts
        kept = maybe_list(item.additional_kwargs.get(_CALLS))
        calls = [one if isinstance(one, dict) else one.model_dump() for one in kept]
        return (*parts, *vendor_calls({_CALLS: calls}))

    def _result(self, item: types.ChatMessage) -> ToolCallResponsePart:
        parts: Any = tuple(part for one in item.blocks for part in self.parts(one))
        if all(isinstance(part, TextPart) for part in parts):
            parts = "\n".join(part.content for part in parts if part.content)
        return ToolCallResponsePart(str(item.additional_kwargs.get(_ID) or ""), parts)

    def block(self, part: Part, own: Any, _: str | None = None, /) -> Any:
        """Write one part."""
        match part:
            case ToolCallPart(id=id, name=name, arguments=arguments):
                given = object_from_json(arguments)
                return types.ToolCallBlock(tool_call_id=id, tool_name=name, tool_kwargs=given)
            case ToolCallResponsePart(id=id, response=said):
                parts = (TextPart(said),) if isinstance(said, str) else said
                had = [] if own is None else [(self.parts(one), one) for one in own.blocks]
                made = self.made("tool", rewritten(parts, had, self.block), own)
                made.additional_kwargs[_ID] = id
                return made
            case ReasoningPart(content=text):
                return types.ThinkingBlock(content=text)
            case BlobPart(modality="image", mime_type=mime, content=data):
                return types.ImageBlock(image=base64.b64decode(data), image_mimetype=mime)
            case UriPart(modality="image", uri=uri):
                return types.ImageBlock(url=uri)
            case _:
                text = readable_text(part)
                return None if text is None else types.TextBlock(text=text)

    def made(
        self, role: str, blocks: list[Any], source: types.ChatMessage | None, /
    ) -> types.ChatMessage:
        """Return a message without the vendor's own form of the calls, which would be sent instead."""
        if role == "tool" and isinstance(blocks[0], types.ChatMessage):
            return blocks[0]
        extra = {} if source is None else {**source.additional_kwargs}
        extra.pop(_CALLS, None)
        return types.ChatMessage(role=role, content=blocks, additional_kwargs=extra)
