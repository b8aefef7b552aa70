"""The messages of Pydantic AI."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import messages as theirs

from foldline.guests import with_thinking
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    FilePart,
    GenericPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.providers.vendors.pydantic_model import part_from_pydantic, pydantic_messages


__all__ = ["PydanticAICodec"]


_BINDING = ("anthropic", "bedrock", "claude")


class PydanticAICodec:
    """Reads and writes `ModelRequest`, of which each part is a message, and `ModelResponse`."""

    def read(self, item: theirs.ModelMessage, /) -> Sequence[Message]:
        """Return what *item* says."""
        if isinstance(item, theirs.ModelRequest):
            return [_asked(part) for part in item.parts]
        parts = tuple(filter(None, map(part_from_pydantic, item.parts)))
        metadata = {"model": item.model_name} if item.model_name else None
        return [
            with_thinking(Message(role="assistant", parts=parts, metadata=metadata), _signed(item))
        ]

    def write(self, message: Message, source: theirs.ModelMessage | None, /) -> theirs.ModelMessage:
        """Return *message*; what only the source's parts have, as signatures, stays with them."""
        if message.role == "assistant":
            return _answer(message, source)
        parts: list[Any]
        if message.role == "tool":
            (answer,) = message.tool_call_responses
            given = answer.response
            said = [Message(role="user", parts=() if isinstance(given, str) else given)]
            content = given if isinstance(given, str) else _contents(said)
            parts = [theirs.ToolReturnPart(message.name or "unknown", content, answer.id)]
        elif message.role == "system":
            parts = [theirs.SystemPromptPart(message.text)]
        else:
            found = _contents([message])
            only = found[0] if len(found) == 1 and isinstance(found[0], str) else found
            parts = [theirs.UserPromptPart(only)]
        if isinstance(source, theirs.ModelRequest):
            return replace(source, parts=parts)
        return theirs.ModelRequest(parts=parts)

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
            said = (*([TextPart(text)] if text else []), *files) if part.files else text
            answer = ToolCallResponsePart(part.tool_call_id, said)
            return Message(role="tool", parts=(answer,), name=part.tool_name)
        case kind:
            # What the framework says of itself, as which tools there are now: it is never folded.
            return Message(role="system", parts=(GenericPart(kind, ""),))


def _content(one: Any) -> Any:
    if isinstance(one, str):
        return TextPart(one)
    kind = str(getattr(one, "media_type", None) or "").partition("/")[0]
    modality = kind if kind in {"image", "audio", "video"} else "document"
    match one.kind:
        case "text-content" | "structured-content":
            return TextPart(one.content)
        case "binary":
            return BlobPart(modality, one.media_type, base64.b64encode(one.data).decode())
        case "uploaded-file":
            return FilePart(modality, one.file_id)
        case kind if hasattr(one, "url"):
            return UriPart(kind.removesuffix("-url"), one.url)
        case kind:
            return GenericPart(kind, "")


def _contents(messages: Iterable[Message]) -> list[Any]:
    """Return what *messages* of a user say, as pydantic-ai writes it."""
    made = pydantic_messages(messages, vendor="")
    parts: Any = made[0].parts
    given = (part.content for part in parts)
    return [one for some in given for one in ([some] if isinstance(some, str) else some)]


def _signed(item: theirs.ModelResponse) -> Iterator[dict[str, Any]]:
    """Yield the thinking that Anthropic has bound to what is before it, as Anthropic writes it."""
    for part in item.parts:
        by = f"{getattr(part, 'provider_name', '')} {item.provider_name} {item.model_name}".lower()
        if (
            isinstance(part, theirs.ThinkingPart)
            and part.signature
            and any(map(by.count, _BINDING))
        ):
            said = {"thinking": part.content, "signature": part.signature}
            yield (
                {"type": "thinking", **said}
                if part.content
                else {
                    "type": "redacted_thinking",
                    "data": part.signature,
                }
            )


def _answer(message: Message, source: theirs.ModelMessage | None) -> theirs.ModelMessage:
    if not isinstance(source, theirs.ModelResponse):
        # Before it is a note of the user, since some models may not speak first.
        return pydantic_messages([message], vendor="")[-1]
    own = [(part_from_pydantic(part), part) for part in source.parts]
    parts: list[Any] = []
    for part in message.parts:
        same = (one for read, one in own if read == part or _is_same_call(read, part))
        found: Any = next(same, None)
        if found is None:
            alone = Message(role="assistant", parts=(part,))
            parts += pydantic_messages([alone], vendor="")[-1].parts
        elif isinstance(part, ToolCallPart):
            parts.append(replace(found, tool_call_id=part.id))
        else:
            parts.append(found)
    return replace(source, parts=parts)


def _is_same_call(one: object, other: object) -> bool:
    """Whether both are one call, perhaps under another id."""
    if not isinstance(one, ToolCallPart) or not isinstance(other, ToolCallPart):
        return False
    return (one.name, one.arguments) == (other.name, other.arguments)
