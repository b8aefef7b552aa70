"""The messages of Strands Agents, which are those of Amazon Bedrock's Converse API."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from foldline.guests import summary_text, with_thinking
from foldline.history.formats.wire import json_text, maybe_object, object_from_json, readable_text
from foldline.history.messages import Message
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


class StrandsCodec:
    """Reads and writes messages, of which each result of a tool is one of foldline's."""

    def read(self, item: _Object, /) -> Sequence[Message]:
        """Return what *item* says."""
        if item["role"] == "assistant":
            parts = tuple(part for block in item["content"] for part in _parts(block))
            return [with_thinking(Message(role="assistant", parts=parts), _signed(item))]
        return [_asked(group) for group in _groups(item)]

    def write(self, message: Message, source: _Object | None, /) -> _Object:
        """Return *message*; an answer keeps its thinking, and a result its status."""
        if message.is_summary:
            return {"role": "assistant", "content": [{"text": summary_text(message)}]}
        own = [] if source is None else source["content"]
        thought = [one for one in own if "reasoningContent" in one]
        content: list[_Object] = []
        for part in message.parts:
            match part:
                case ReasoningPart(content=text):
                    block: _Object = {"reasoningContent": {"reasoningText": {"text": text}}}
                    content.append(thought.pop(0) if thought else block)
                case ToolCallPart(id=id, name=name, arguments=arguments):
                    call = {"toolUseId": id, "name": name, "input": object_from_json(arguments)}
                    content.append({"toolUse": call})
                case ToolCallResponsePart(id=id, response=said):
                    texts = [TextPart(said)] if isinstance(said, str) else said
                    results = (one["toolResult"] for one in own if "toolResult" in one)
                    status = next(
                        (one["status"] for one in results if one["toolUseId"] == id), "success"
                    )
                    found = [block for one in texts for block in _blocks(one)]
                    result = {"toolUseId": id, "status": status, "content": found}
                    content.append({"toolResult": result})
                case _:
                    content += _blocks(part)
        role = "assistant" if message.role == "assistant" else "user"
        return {"role": role, "content": content or [{"text": "[empty message]"}]}

    def part(self, item: _Object, which: Sequence[int], /) -> _Object:
        """Return the blocks of those messages."""
        groups = list(_groups(item))
        return {**item, "content": [block for at in which for block in groups[at]]}


def alternating(view: Iterable[_Object]) -> list[_Object]:
    """Return *view* as Converse takes it: no role twice in a row."""
    made: list[_Object] = []
    for role, run in groupby(view, key=itemgetter("role")):
        same = list(run)
        joined = [block for one in same for block in one["content"]]
        made.append(same[0] if len(same) == 1 else {"role": role, "content": joined})
    return made


def _groups(item: _Object) -> Iterator[list[_Object]]:
    """Yield the blocks of each message in *item*: a result, or what is between results."""
    for is_result, run in groupby(item["content"], key=lambda block: "toolResult" in block):
        if is_result:
            yield from ([block] for block in run)
        else:
            yield list(run)


def _asked(blocks: Sequence[_Object]) -> Message:
    result = maybe_object(blocks[0].get("toolResult"))
    if not result:
        return Message(role="user", parts=tuple(part for one in blocks for part in _parts(one)))
    said: Any = tuple(part for one in result["content"] for part in _parts(one))
    if len(said) == 1 and isinstance(said[0], TextPart):
        said = said[0].content
    return Message(role="tool", parts=(ToolCallResponsePart(result["toolUseId"], said or ""),))


def _parts(block: _Object) -> Iterator[Part]:
    for kind, held in block.items():
        match kind, held:
            case "text", str(text):
                yield TextPart(text)
            case "json", value:
                yield TextPart(json_text(value))
            case "toolUse", {"toolUseId": id, "name": name, "input": given}:
                yield ToolCallPart(id, name, json_text(given))
            case "reasoningContent", _:
                yield ReasoningPart(maybe_object(held.get("reasoningText")).get("text") or "")
            case "image" | "audio" | "video" | "document", {"source": {"bytes": bytes(data)}}:
                mime = f"{_TYPES[kind]}/{held['format']}"
                yield BlobPart(kind, mime, base64.b64encode(data).decode())
            case "cachePoint", _:
                pass
            case _:
                yield GenericPart(kind, repr(held))


def _blocks(part: Part) -> Iterator[_Object]:
    if isinstance(part, BlobPart):
        source = {"bytes": base64.b64decode(part.content)}
        medium: _Object = {"format": part.mime_type.partition("/")[2], "source": source}
        yield {part.modality: medium | ({"name": "file"} if part.modality == "document" else {})}
    elif text := readable_text(part):
        yield {"text": text}


def _signed(item: _Object) -> Iterator[_Object]:
    for block in item["content"]:
        held = maybe_object(block.get("reasoningContent"))
        said = maybe_object(held.get("reasoningText"))
        if said.get("signature"):
            text, signature = said.get("text") or "", said["signature"]
            yield {"type": "thinking", "thinking": text, "signature": signature}
        elif isinstance(data := held.get("redactedContent"), bytes):
            yield {"type": "redacted_thinking", "data": base64.b64encode(data).decode()}
