"""The messages of agno."""

from binascii import a2b_base64
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from agno.media import Audio, File, Image, Video
from agno.models.message import Message as Said

from foldline.guests.blocks import BlockCodec, rewritten
from foldline.history.formats.wire import (
    Object,
    first_text,
    json_text,
    listed_blocks,
    maybe_list,
    maybe_object,
    object_from_json,
    readable_text,
)
from foldline.history.media import blob_of, modality_of
from foldline.history.messages import Role
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    Part,
    ReasoningPart,
    ResponseContent,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)


_ROLES: Mapping[str, Role] = MappingProxyType({"developer": "system", "model": "assistant"})
_MEDIA: Mapping[str, type] = MappingProxyType(
    {"images": Image, "audio": Audio, "videos": Video, "files": File}
)
_KINDS: Mapping[type, str] = MappingProxyType({Image: "image", Audio: "audio", Video: "video"})
_THINKING = ("thinking", "redacted_thinking")
# What an answer was, as its vendor has it: sent in the place of what a changed one says.
_ITEMS = ("content_blocks", "server_tool_blocks", "reasoning_output", "signature")


class AgnoCodec(BlockCodec[Said, Any]):
    """Reads and writes `agno.models.message.Message`."""

    def known_by(self, item: Said, /) -> object:
        """Return what is read of *item*, without what a store adds."""
        held = vars(item)
        return [held[name] for name in _READ]

    def role(self, item: Said, /) -> Role:
        """Return the role of *item*."""
        return _ROLES.get(item.role, cast("Role", item.role))

    def blocks(self, item: Said, /) -> Sequence[Any]:
        """Return its texts, calls, media and thinking; a result of a tool is one as a whole."""
        if self.role(item) == "tool":
            return [item]
        spoken = item.audio_output
        # A streamed answer that is spoken has no other text.
        content: Any = item.content or (spoken and spoken.transcript)
        texts = [content] if isinstance(content, str) else maybe_list(content)
        return [*_thoughts(item), *filter(None, texts), *_media(item), *(item.tool_calls or ())]

    def parts(self, block: Any, /) -> Iterator[Part]:
        """Read one block."""
        match block:
            case Said():
                yield ToolCallResponsePart(block.tool_call_id or "", _result(block))
            case {"function": _}:
                yield ToolCallPart(*_called(block))
            case {"type": kind} if kind in _THINKING:
                yield ReasoningPart(block.get("thinking") or "")
            case _:
                yield _content(block)

    def thinking(self, block: Any, /) -> dict[str, Any] | None:
        """Return thinking that is signed."""
        held = maybe_object(block)
        is_signed = held.get("signature") or held.get("type") == _THINKING[1]
        return held if is_signed and held.get("type") in _THINKING else None

    def tool(self, block: Any, /) -> str | None:
        """Return the tool that *block* is a result of."""
        return block.tool_name if isinstance(block, Said) else None

    def block(self, part: Part, own: Any, tool: str | None = None, /) -> Any:
        """Write one part."""
        match part:
            case ToolCallPart(id=id, name=name, arguments=arguments):
                # The same call under another id; only the Responses API has a second one.
                held = {key: own[key] for key in own or () if key != "call_id"}
                called = {"name": name, "arguments": arguments}
                return {"type": "function", **held, "id": id, "function": called}
            case ToolCallResponsePart():
                return _tool_message(part, own, tool)
            case ReasoningPart(content=text):
                return {"type": "thinking", "thinking": text}
            case _:
                return _written(part)

    def made(self, role: str, blocks: list[Any], source: Said | None, /) -> Said:
        """Return a message without the vendor's own form of it, which would be sent instead."""
        if role == "tool" and isinstance(blocks[0], Said):
            return blocks[0]
        calls = [one for one in blocks if isinstance(one, dict) and "function" in one]
        thoughts = [one for one in blocks if maybe_object(one).get("type") in _THINKING]
        fields: dict[str, Any] = {
            **_said([one for one in blocks if one not in calls and one not in thoughts]),
            "tool_calls": calls or None,
        }
        if role == "assistant":
            fields |= _thought(thoughts, fields["content"], calls, source)
        return Said(role=role, **fields) if source is None else source.model_copy(update=fields)


_READ = (
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "tool_name",
    "reasoning_content",
    "redacted_reasoning_content",
    "provider_data",
    "audio_output",
    *_MEDIA,
)


def _thoughts(item: Said) -> list[dict[str, Any]]:
    """Return what the model thought, as Anthropic has it: its own blocks if they are kept."""
    held = item.provider_data or {}
    kept = [maybe_object(one) for one in maybe_list(held.get("content_blocks"))]
    if own := [one for one in kept if one.get("type") in _THINKING]:
        return own
    thoughts: list[dict[str, Any]] = []
    if text := item.reasoning_content:
        signature = held.get("signature")
        signed = {"signature": signature} if signature else {}
        thoughts.append({"type": _THINKING[0], "thinking": text, **signed})
    if data := item.redacted_reasoning_content:
        thoughts.append({"type": _THINKING[1], "data": data})
    return thoughts


def _thought(
    thoughts: list[dict[str, Any]], content: Any, calls: list[dict[str, Any]], source: Said | None
) -> dict[str, Any]:
    """Return the fields of an answer for what the model thought, and said with it."""
    held = {} if source is None else {**(source.provider_data or {})}
    kept = {key: value for key, value in held.items() if key not in _ITEMS}
    if len(thoughts) > len(plain := [one for one in thoughts if _is_plain(one)]):
        # Signatures hold for all of them as they were.
        texts = listed_blocks(content) if content else []
        uses = [
            {"type": "tool_use", "id": id, "name": name, "input": object_from_json(given)}
            for id, name, given in map(_called, calls)
        ]
        kept["content_blocks"] = [*thoughts, *texts, *uses]
    return {
        "provider_data": kept or None,
        "reasoning_content": "".join(one["thinking"] for one in plain) or None,
        "redacted_reasoning_content": None,
    }


def _is_plain(thought: Mapping[str, Any]) -> bool:
    return thought["type"] == _THINKING[0] and not thought.get("signature")


def _called(call: Object) -> tuple[str, str, str]:
    called = maybe_object(call.get("function"))
    return (
        first_text(call, "id"),
        first_text(called, "name"),
        first_text(called, "arguments") or "{}",
    )


def _said(blocks: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a message for its texts and media."""
    content: Any = "\n".join(one for one in blocks if isinstance(one, str))
    if others := [one for one in blocks if isinstance(one, dict)]:
        content = [*(listed_blocks(content) if content else ()), *others]
    media = {
        name: [one for one in blocks if isinstance(one, kind)] or None
        for name, kind in _MEDIA.items()
    }
    return {"content": content, "compressed_content": None, **media}


def _media(item: Said) -> list[Any]:
    return [one for name in _MEDIA for one in getattr(item, name) or ()]


def _result(item: Said) -> str | tuple[ResponseContent, ...]:
    content: Any = item.content
    media = _media(item)
    if not media and (content is None or isinstance(content, str)):
        return content or ""
    texts = [content] if isinstance(content, str) else maybe_list(content)
    return tuple(map(_content, [*texts, *media]))


def _content(block: Any) -> ResponseContent:
    match block:
        case str(text) | {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return TextPart(text)
        case dict():
            return GenericPart(str(block.get("type") or "content"), json_text(block))
        case Image() | Audio() | Video() | File():
            kind = _KINDS.get(type(block)) or modality_of(block.mime_type or "")
            # A file may be text.
            held = block.content.encode() if isinstance(block.content, str) else block.content
            if isinstance(held, bytes):
                return blob_of(held, block.mime_type or f"{kind}/{block.format or ''}")
            if block.url or block.filepath:
                return UriPart(kind, str(block.url or block.filepath))
            return GenericPart(kind, block.id or "")
        case _:
            return TextPart(json_text(block))


def _written(part: Part) -> Any:
    """Return a medium, or text."""
    if not isinstance(part, BlobPart | UriPart):
        return readable_text(part)
    kind: Any = next((one for one, name in _KINDS.items() if name == part.modality), File)
    if isinstance(part, UriPart):
        return kind(url=part.uri)
    return kind(content=a2b_base64(part.content), mime_type=part.mime_type or None)


def _tool_message(part: ToolCallResponsePart, own: Said | None, tool: str | None) -> Said:
    said = (TextPart(part.response),) if isinstance(part.response, str) else part.response
    had = [] if own is None else [([_content(one)], one) for one in _media(own)]
    fields = _said(rewritten(said, had, lambda one, _: _written(one)))
    fields["tool_call_id"] = part.id
    if own is None:
        return Said(role="tool", tool_name=tool, **fields)
    return own.model_copy(update=fields)
