"""The messages of Microsoft's Agent Framework."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from agent_framework import Content
from agent_framework import Message as Theirs

from foldline.guests.blocks import BlockCodec, result_text
from foldline.history.formats.wire import data_url, json_text, media_from_url, readable_text
from foldline.history.media import modality_of
from foldline.history.messages import Role
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


_RAW = "raw_representation"
_ROLES: Mapping[str, Role] = MappingProxyType(
    {"system": "system", "developer": "system", "assistant": "assistant"}
)


class AgentFrameworkCodec(BlockCodec[Theirs, Content]):
    """Reads and writes `Message`."""

    def role(self, item: Theirs, /) -> Role:
        """Return the role of *item*."""
        return _ROLES.get(item.role, "user")

    def blocks(self, item: Theirs, /) -> Sequence[Content]:
        """Return the contents of *item*."""
        return item.contents

    def parts(self, block: Content, /) -> Iterator[Part]:
        """Read one content."""
        content: Any = block
        match block.type:
            case "text":
                yield TextPart(content.text or "")
            case "text_reasoning":
                yield ReasoningPart(content.text or "")
            case "function_call":
                given = content.arguments
                text = given if isinstance(given, str) else json_text(given or {})
                yield ToolCallPart(content.call_id, content.name, text)
            case "function_result":
                said: Any = tuple(part for one in content.items or () for part in self.parts(one))
                if all(isinstance(part, TextPart) for part in said):
                    said = str(content.result or "")
                yield ToolCallResponsePart(content.call_id, said)
            case "data" | "uri":
                yield media_from_url(content.uri, modality_of(str(content.media_type or "")))
            case "hosted_file":
                yield FilePart("document", content.file_id)
            case "usage":
                pass
            case kind:
                yield GenericPart(kind, json_text(content.to_dict()))

    def thinking(self, block: Content, /) -> Mapping[str, Any] | None:
        """Return thinking of Anthropic's, which has no id, unlike the reasoning of OpenAI."""
        signature = block.protected_data
        if block.type != "text_reasoning" or not signature or block.id:
            return None
        return {"type": "thinking", "thinking": block.text or "", "signature": signature}

    def known_by(self, item: Theirs, /) -> object:
        """Return *item* without what a history provider adds, and what the vendor's client had."""
        contents = [
            {name: one for name, one in vars(content).items() if one is not None and name != _RAW}
            for content in item.contents
        ]
        return item.role, contents

    def block(self, part: Part, _: Content | None, __: str | None = None, /) -> Content | None:
        """Write one part."""
        match part:
            case ToolCallPart(id=id, name=name, arguments=arguments):
                return Content.from_function_call(id, name, arguments=arguments)
            case ToolCallResponsePart(id=id):
                return Content.from_function_result(id, result=result_text(part))
            case ReasoningPart(content=text):
                return Content.from_text_reasoning(text=text)
            case BlobPart(mime_type=mime):
                return Content.from_uri(data_url(part), media_type=mime)
            case UriPart(modality=modality, uri=uri):
                return Content.from_uri(uri, media_type=f"{modality}/*")
            case _:
                text = readable_text(part)
                return None if text is None else Content.from_text(text)

    def made(self, role: str, blocks: list[Content], source: Theirs | None, /) -> Theirs:
        """Return a message; the name of the agent, which is sent to no vendor, stays."""
        return Theirs(role, blocks, author_name=None if source is None else source.author_name)
