"""The messages of Strands Agents, which are those of Amazon Bedrock's Converse API."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from foldline.guests.blocks import BlockCodec
from foldline.history.formats.wire import json_text, maybe_object, object_from_json, readable_text
from foldline.history.media import blob_of
from foldline.history.messages import Role
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)


__all__ = ["StrandsCodec", "alternating"]


_Object: TypeAlias = dict[str, Any]
_TYPES = {"image": "image", "audio": "audio", "video": "video", "document": "application"}


class StrandsCodec(BlockCodec[_Object, _Object]):
    """Reads and writes messages; an answer keeps its thinking, and a result its status."""

    def role(self, item: _Object, /) -> Role:
        """Return the role of *item*."""
        return "assistant" if item["role"] == "assistant" else "user"

    def blocks(self, item: _Object, /) -> Sequence[_Object]:
        """Return the content of *item*."""
        content: list[_Object] = item["content"]
        return content

    def parts(self, block: _Object, /) -> Iterator[Part]:
        """Read one block."""
        for kind, held in block.items():
            match kind, held:
                case "text", str(text):
                    yield TextPart(text)
                case "json", value:
                    yield TextPart(json_text(value))
                case "toolUse", {"toolUseId": id, "name": name, "input": given}:
                    yield ToolCallPart(id, name, json_text(given))
                case "toolResult", {"toolUseId": id, "content": content}:
                    said: Any = tuple(part for one in content for part in self.parts(one))
                    if len(said) == 1 and isinstance(said[0], TextPart):
                        said = said[0].content
                    yield ToolCallResponsePart(id, said or "")
                case "reasoningContent", _:
                    yield ReasoningPart(maybe_object(held.get("reasoningText")).get("text") or "")
                case "image" | "audio" | "video" | "document", {"source": {"bytes": bytes(data)}}:
                    yield blob_of(data, f"{_TYPES[kind]}/{held['format']}")
                case "cachePoint", _:
                    pass
                case _:
                    yield GenericPart(kind, repr(held))

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
                status = "success" if own is None else own["toolResult"]["status"]
                blocks = (self.block(one, None) for one in texts)
                content = [one for one in blocks if one is not None]
                return {"toolResult": {"toolUseId": id, "status": status, "content": content}}
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
    """Return *view* as Converse takes it: no role twice in a row."""
    made: list[_Object] = []
    for role, run in groupby(view, key=itemgetter("role")):
        same = list(run)
        joined = [block for one in same for block in one["content"]]
        made.append(same[0] if len(same) == 1 else {"role": role, "content": joined})
    return made
