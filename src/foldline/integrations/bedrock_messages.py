"""The messages of Amazon Bedrock's Converse API."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

from foldline.errors import FormatError
from foldline.guests.blocks import BlockCodec
from foldline.history.formats.wire import (
    is_list,
    is_object,
    maybe_object,
    object_from_json,
    readable_text,
)
from foldline.history.messages import Message, Role
from foldline.history.parts import (
    BlobPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.logs.converse import block_parts


_Object: TypeAlias = dict[str, Any]


class ConverseCodec(BlockCodec[_Object, _Object]):
    """Reads and writes messages; an answer keeps its thinking, and a result its status."""

    # Models other than Claude and Nova refuse any.
    new_status: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def read(self, item: _Object, /) -> Sequence[Message]:
        """Return what *item* says; FormatError if it is no message."""
        fields = maybe_object(item)
        if "output" in fields:
            text = 'it is a response: append response["output"]["message"]'
            raise FormatError(text)
        content = fields.get("content")
        if "role" not in fields or not is_list(content) or not all(map(is_object, content)):
            text = f"it is a {type(item).__name__}: give a dictionary with role and content blocks"
            raise FormatError(text)
        return super().read(item)

    def role(self, item: _Object, /) -> Role:
        """Return the role of *item*."""
        return "assistant" if item["role"] == "assistant" else "user"

    def blocks(self, item: _Object, /) -> Sequence[_Object]:
        """Return the content of *item*."""
        content: list[_Object] = item["content"]
        return content

    def parts(self, block: _Object, /) -> Iterable[Part]:
        """Read one block."""
        return block_parts(block)

    def thinking(self, block: _Object, /) -> _Object | None:
        """Return thinking that is signed, or that nobody but the vendor can read."""
        held = maybe_object(block.get("reasoningContent"))
        said = maybe_object(held.get("reasoningText"))
        if said.get("signature"):
            text, signature = said.get("text") or "", said["signature"]
            return {"type": "thinking", "thinking": text, "signature": signature}
        if isinstance(data := held.get("redactedContent"), bytes):
            return {"type": "redacted_thinking", "data": base64.b64encode(data).decode()}
        return None

    def block(self, part: Part, own: _Object | None, _: str | None = None, /) -> _Object | None:
        """Write one part."""
        match part:
            case ReasoningPart(content=text):
                return {"reasoningContent": {"reasoningText": {"text": text}}}
            case ToolCallPart(id=id, name=name, arguments=arguments):
                call = {"toolUseId": id, "name": name, "input": object_from_json(arguments)}
                return {"toolUse": call}
            case ToolCallResponsePart(id=id, response=said):
                texts = [TextPart(said)] if isinstance(said, str) else said
                blocks = (self.block(one, None) for one in texts)
                content = [one for one in blocks if one is not None]
                beside = self.new_status if own is None else own["toolResult"]
                return {"toolResult": {**beside, "toolUseId": id, "content": content}}
            case BlobPart(modality=modality, mime_type=mime, content=data):
                source = {"bytes": base64.b64decode(data)}
                medium: _Object = {"format": mime.partition("/")[2], "source": source}
                return {modality: medium | ({"name": "file"} if modality == "document" else {})}
            case _:
                text = readable_text(part)
                return {"text": text} if text else None

    def made(self, role: str, blocks: list[_Object], _: _Object | None, /) -> _Object:
        """Return a message, which is never empty."""
        who = "assistant" if role == "assistant" else "user"
        return {"role": who, "content": blocks or [{"text": "[empty message]"}]}


def alternating(view: Iterable[_Object]) -> list[_Object]:
    """Return *view* as Converse takes it: no role twice in a row, and nothing is empty."""
    made: list[_Object] = []
    said = ((one, _speaking(one["content"])) for one in view)
    spoken = ((one, blocks) for one, blocks in said if blocks)
    for role, run in groupby(spoken, key=lambda one: one[0]["role"]):
        same = list(run)
        joined = [block for _, blocks in same for block in blocks]
        (first, blocks), *others = same
        is_whole = not others and len(blocks) == len(first["content"])
        made.append(first if is_whole else {"role": role, "content": joined})
    return made


def _speaking(blocks: Sequence[_Object]) -> list[_Object]:
    """Return *blocks* without texts that are blank, which Bedrock refuses."""
    return [one for one in blocks if "text" not in one or one["text"].strip()]
