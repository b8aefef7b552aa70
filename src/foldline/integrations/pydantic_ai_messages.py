"""The messages of Pydantic AI."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import messages as theirs

from foldline.guests import with_thinking
from foldline.guests.blocks import rewritten
from foldline.history.media import blob_of, modality_of
from foldline.history.messages import Message
from foldline.history.parts import FilePart, GenericPart, Part, TextPart, ToolCallPart, UriPart
from foldline.providers.vendors.pydantic_model import part_from_pydantic, pydantic_messages


_BINDING = ("anthropic", "bedrock", "claude")


class PydanticAICodec:
    """Reads and writes `ModelRequest`, of which each part is a message, and `ModelResponse`."""

    def read(self, item: theirs.ModelMessage, /) -> Sequence[Message]:
        """Return what *item* says."""
        if isinstance(item, theirs.ModelRequest):
            return [_asked(part) for part in item.parts]
        parts = tuple(filter(None, map(part_from_pydantic, item.parts)))
        metadata = {"model": item.model_name} if item.model_name else None
        said = Message(role="assistant", parts=parts, metadata=metadata)
        return [with_thinking(said, _signed(item))]

    def write(self, message: Message, source: theirs.ModelMessage | None, /) -> theirs.ModelMessage:
        """Return *message*; what only the source's parts have, as signatures, stays with them."""
        made: Any = pydantic_messages([message], vendor="")
        if message.role == "assistant":
            # Before it is a note of the user, since some models may not speak first.
            if not isinstance(source, theirs.ModelResponse):
                return made[-1]
            own = [(filter(None, [part_from_pydantic(part)]), part) for part in source.parts]
            return replace(source, parts=rewritten(message.parts, own, _part))
        parts = made[0].parts
        if message.role == "tool":
            parts = [replace(parts[0], tool_name=message.name or "unknown")]
        elif message.role == "system":
            parts = [theirs.SystemPromptPart(message.text)]
        elif len(parts) > 1:
            listed = ([p.content] if isinstance(p.content, str) else p.content for p in parts)
            parts = [theirs.UserPromptPart([one for some in listed for one in some])]
        request = source if isinstance(source, theirs.ModelRequest) else theirs.ModelRequest([])
        return replace(request, parts=parts)

    def part(self, item: theirs.ModelMessage, which: Sequence[int], /) -> theirs.ModelMessage:
        """Return those parts of a request."""
        parts: Any = [item.parts[at] for at in which]
        return replace(item, parts=parts)


def _asked(part: Any) -> Message:
    match part.part_kind:
        case "system-prompt":
            return Message.system(part.content)
        case "user-prompt":
            content = [part.content] if isinstance(part.content, str) else part.content
            return Message(role="user", parts=tuple(map(_content, content)))
        case "retry-feedback" | "retry-prompt" if not getattr(part, "tool_name", None):
            return Message.user(part.model_response())
        case "retry-prompt":
            return Message.tool(part.tool_call_id, part.model_response(), name=part.tool_name)
        case kind if hasattr(part, "tool_call_id"):
            text, files = part.model_response_str(), map(_content, part.files)
            said = [*([TextPart(text)] if text else []), *files] if part.files else text
            return Message.tool(part.tool_call_id, said, name=part.tool_name)
        case kind:
            # What the framework says of itself, as which tools there are now: it is never folded.
            return Message(role="system", parts=(GenericPart(kind, ""),))


def _content(one: Any) -> Any:
    if isinstance(one, str):
        return TextPart(one)
    match one.kind:
        case "text-content" | "structured-content":
            return TextPart(one.content)
        case "binary":
            return blob_of(one.data, one.media_type)
        case "uploaded-file":
            return FilePart(modality_of(one.media_type or ""), one.file_id)
        case kind if hasattr(one, "url"):
            return UriPart(kind.removesuffix("-url"), one.url)
        case kind:
            return GenericPart(kind, "")


def _signed(item: theirs.ModelResponse) -> Iterator[dict[str, Any]]:
    """Yield the thinking that Anthropic has bound to what is before it, as Anthropic writes it."""
    for part in item.parts:
        by = f"{getattr(part, 'provider_name', '')} {item.provider_name} {item.model_name}".lower()
        if not isinstance(part, theirs.ThinkingPart) or not any(map(by.count, _BINDING)):
            continue
        if part.signature and part.content:
            yield {"type": "thinking", "thinking": part.content, "signature": part.signature}
        elif part.signature:
            yield {"type": "redacted_thinking", "data": part.signature}


def _part(part: Part, own: Any) -> Any:
    if own is not None and isinstance(part, ToolCallPart):
        return replace(own, tool_call_id=part.id)
    alone = Message(role="assistant", parts=(part,))
    return pydantic_messages([alone], vendor="")[-1].parts[0]
