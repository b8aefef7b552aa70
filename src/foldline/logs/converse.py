"""
Requests of Amazon Bedrock's Converse API.

Source: its reference (docs.aws.amazon.com/bedrock, `ContentBlock`). A block is an object with one
field, which says what it is. Bytes in a file are base64.
"""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any

from foldline.history.formats.wire import (
    Object,
    as_list,
    as_object,
    check_role,
    is_list,
    is_object,
    json_text,
    maybe_list,
    maybe_object,
    maybe_text,
)
from foldline.history.messages import Message
from foldline.history.parts import (
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.logs.bodies import blob_in, messages_of, read_bodies, response_of, texts_in
from foldline.logs.importer import Importer, first_item


_ROLES = ("user", "assistant")
_TYPES = MappingProxyType(
    {"image": "image", "audio": "audio", "video": "video", "document": "application"}
)
_KINDS = frozenset(
    {
        *_TYPES,
        *("cachePoint", "citationsContent", "guardContent", "json", "reasoningContent"),
        *("searchResult", "text", "toolResult", "toolUse"),
    }
)


def is_turn(value: Any) -> bool:
    """Whether *value* is a message of Converse; the blocks of others say of which type they are."""
    fields = maybe_object(value)
    blocks = fields.get("content")
    if fields.get("role") not in _ROLES or not blocks or not is_list(blocks):
        return False
    return all(
        is_object(one) and "type" not in one and not _KINDS.isdisjoint(one) for one in blocks
    )


def block_parts(block: Object) -> Iterator[Part]:
    """Yield what *block* says; a result of a tool is a single part."""
    for kind, held in block.items():
        if kind == "text":
            yield TextPart(maybe_text(held))
        elif kind == "json":
            yield TextPart(json_text(held))
        elif kind != "cachePoint":
            yield _part(kind, maybe_object(held))


def _part(kind: str, held: Object) -> Part:
    match kind, held:
        # What Bedrock itself has run is no call that anybody answers.
        case "toolUse" | "toolResult", {"type": _}:
            return GenericPart(kind, json_text(held))
        case "toolUse", {"toolUseId": id, "name": name, "input": given}:
            return ToolCallPart(id, name, json_text(given))
        case "toolResult", {"toolUseId": id, "content": content}:
            said = chain.from_iterable(map(block_parts, map(maybe_object, maybe_list(content))))
            return ToolCallResponsePart(id, response_of(said))
        case "reasoningContent", _:
            thought = maybe_object(held.get("reasoningText"))
            return ReasoningPart(maybe_text(thought.get("text")))
        case "image" | "audio" | "video" | "document", {"source": {"bytes": data}}:
            return blob_in(data, f"{_TYPES[kind]}/{maybe_text(held.get('format'))}")
        case _:
            return GenericPart(kind, json_text(held))


def _messages(item: Object) -> list[Message]:
    given = as_list(item.get("content"), "content")
    blocks = [as_object(block, f"content[{at}]") for at, block in enumerate(given)]
    role: Any = check_role(item.get("role"), _ROLES)
    return messages_of(blocks, role=role, parts=block_parts, tool=lambda _: None)


def _rules(body: Object) -> list[str]:
    return texts_in(body.get("system"))


CONVERSE = Importer(
    name="converse",
    description="Amazon Bedrock Converse requests or messages",
    matches=lambda document: is_turn(first_item(document, "messages")),
    read=partial(read_bodies, key="messages", rules=_rules, read=_messages),
)
"""The importer of what Converse is sent."""
