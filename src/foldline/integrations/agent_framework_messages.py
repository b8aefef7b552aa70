"""The messages of Microsoft's Agent Framework."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from agent_framework import Content
from agent_framework import Message as Theirs

from foldline.guests import summary_text, with_thinking
from foldline.history.formats.wire import data_url, json_text, media_from_url, readable_text
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)


__all__ = ["AgentFrameworkCodec"]


_RAW = "raw_representation"
_ROLES = {"system": "system", "developer": "system", "assistant": "assistant"}


class AgentFrameworkCodec:
    """Reads and writes `Message`, of which each result of a tool is one of foldline's."""

    def read(self, item: Theirs, /) -> Sequence[Message]:
        """Return what *item* says."""
        role: Any = _ROLES.get(item.role, "user")
        if role == "assistant":
            parts = tuple(part for one in item.contents for part in _read(one))
            # The name of the agent, which is in `author_name`, is sent to no vendor.
            return [with_thinking(Message(role=role, parts=parts), _signed(item))]
        return [_asked(group, role) for group in _groups(item)]

    def known_by(self, item: Theirs, /) -> object:
        """Return *item* without what a history provider adds, and what the vendor's client had."""
        contents = [
            {name: one for name, one in vars(content).items() if one is not None and name != _RAW}
            for content in item.contents
        ]
        return item.role, contents

    def write(self, message: Message, source: Theirs | None, /) -> Theirs:
        """Return *message*; what is unchanged in an answer is the very content of its source."""
        if message.is_summary:
            return Theirs("assistant", [summary_text(message)])
        own = [(list(_read(one)), one) for one in (source.contents if source else ())]
        made = [_written(part, own) for part in message.parts]
        contents = [one for one in made if one is not None]
        name = None if source is None else source.author_name
        return Theirs(message.role, contents, author_name=name)

    def part(self, item: Theirs, which: Sequence[int], /) -> Theirs:
        """Return the contents of those messages."""
        groups = list(_groups(item))
        contents = [one for at in which for one in groups[at]]
        return Theirs(item.role, contents, author_name=item.author_name)


def _groups(item: Theirs) -> Iterator[list[Content]]:
    """Yield the contents of each message in *item*: a result, or what is between results."""
    for is_result, run in groupby(item.contents, lambda one: one.type == "function_result"):
        if is_result:
            yield from ([one] for one in run)
        else:
            yield list(run)


def _asked(group: Sequence[Content], role: Any) -> Message:
    if group[0].type == "function_result":
        return Message(role="tool", parts=tuple(_read(group[0])))
    return Message(role=role, parts=tuple(part for one in group for part in _read(one)))


def _read(one: Content) -> Iterator[Part]:
    content: Any = one
    match content.type:
        case "text":
            yield TextPart(content.text or "")
        case "text_reasoning":
            yield ReasoningPart(content.text or "")
        case "function_call":
            given = content.arguments
            text = given if isinstance(given, str) else json_text(given or {})
            yield ToolCallPart(content.call_id, content.name, text)
        case "function_result":
            said: Any = tuple(part for item in content.items or () for part in _read(item))
            if all(isinstance(part, TextPart) for part in said):
                said = str(content.result or "")
            yield ToolCallResponsePart(content.call_id, said)
        case "data" | "uri":
            kind = str(content.media_type or "").partition("/")[0]
            modality = kind if kind in {"image", "audio", "video"} else "document"
            yield media_from_url(content.uri, modality)
        case "hosted_file":
            yield FilePart("document", content.file_id)
        case "usage":
            pass
        case kind:
            yield GenericPart(kind, json_text(content.to_dict()))


def _written(part: Part, own: Sequence[tuple[list[Part], Content]]) -> Content | None:
    found = next((one for read, one in own if read == [part]), None)
    if found is not None:
        return found
    match part:
        case ToolCallPart(id=id, name=name, arguments=arguments):
            return Content.from_function_call(id, name, arguments=arguments)
        case ToolCallResponsePart(id=id, response=said):
            texts = [said] if isinstance(said, str) else filter(None, map(readable_text, said))
            return Content.from_function_result(id, result="\n".join(texts))
        case _:
            return _made(part)


def _made(part: Part) -> Content | None:
    match part:
        case ReasoningPart(content=text):
            return Content.from_text_reasoning(text=text)
        case BlobPart(mime_type=mime):
            return Content.from_uri(data_url(part), media_type=mime)
        case UriPart(modality=modality, uri=uri):
            return Content.from_uri(uri, media_type=f"{modality}/*")
        case _:
            text = readable_text(part)
            return None if text is None else Content.from_text(text)


def _signed(item: Theirs) -> Iterator[dict[str, Any]]:
    """Yield the thinking of Anthropic, which has no id, unlike the reasoning of OpenAI."""
    for one in item.contents:
        if one.type == "text_reasoning" and one.protected_data and not one.id:
            yield {"type": "thinking", "thinking": one.text or "", "signature": one.protected_data}
