"""
The export of ChatGPT: `conversations.json`.

Each conversation is a tree of messages under `mapping`. Those that lead to `current_node` are read;
what was asked or answered again is on other branches, which were left. What the model sends to a
tool is a call, and what the tool says next answers it; all else that a tool says keeps its place as
what a program printed. The user's own instructions are a system message.
"""

from collections.abc import Iterator
from typing import cast

from msgspec.structs import replace

from foldline.history.formats.wire import (
    Object,
    as_object,
    at,
    check_role,
    first_text,
    json_text,
    maybe_list,
    maybe_object,
    maybe_text,
    maybe_time,
    scalars,
)
from foldline.history.messages import Message, Role
from foldline.history.parts import (
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    ResponseContent,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.logs.branches import path_to
from foldline.logs.document import Document
from foldline.logs.importer import Importer, Reading, Session, printed_message, read_each


_ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
_INSTRUCTIONS = ("user_profile", "user_instructions", "model_set_context")
_TEXTS = ("name", "title", "url", "text", "result", "summary", *_INSTRUCTIONS)
_MEDIA = ("image", "audio", "video")


class _Chat(Reading):
    call = ""
    """The call that no tool has answered yet."""


def _matches(document: Document) -> bool:
    return isinstance(maybe_object(document.first).get("mapping"), dict)


def _read(document: Document) -> tuple[Session, ...]:
    return tuple(read_each(document.records, _session, "the conversation"))


def _session(fields: Object) -> Session:
    chat = _Chat(first_text(fields, "conversation_id", "id"))
    chat.title = maybe_text(fields.get("title"))
    nodes = as_object(fields.get("mapping"), "mapping")
    path = _path(nodes, maybe_text(fields.get("current_node")))
    for id in path:
        with at(f"message {id}"):
            _take(chat, maybe_object(maybe_object(nodes[id]).get("message")), id)
    said = (id for id, node in nodes.items() if maybe_object(node).get("message"))
    if left := set(said) - set(path):
        chat.skipped["message of a left branch"] = len(left)
    return chat.session()


def _path(nodes: Object, last: str) -> list[str]:
    """Return what leads to *last*, or to the newest one if it is unknown."""
    above = {id: maybe_text(maybe_object(node).get("parent")) for id, node in nodes.items()}
    known = {id: parent if parent in nodes else "" for id, parent in above.items()}
    return [*path_to(last if last in nodes else next(reversed(nodes), ""), known)][::-1]


def _take(chat: _Chat, item: Object, id: str) -> None:
    content = maybe_object(item.get("content"))
    parts = tuple(_parts(content))
    if parts:
        chat.messages.append(_message(chat, item, parts, id))
    elif content and "parts" not in content:
        chat.skipped[first_text(content, "content_type") or "unknown"] += 1


def _message(chat: _Chat, item: Object, parts: tuple[Part, ...], id: str) -> Message:
    author, recipient = maybe_object(item.get("author")), maybe_text(item.get("recipient"))
    role = cast("Role", check_role(author.get("role"), _ROLES))
    name = maybe_text(author.get("name"))
    created_at = maybe_time(item.get("create_time"))
    text = "\n\n".join(part.content for part in parts if isinstance(part, TextPart))
    if role == "tool" and not chat.call:
        return replace(printed_message(parts, name=name), id=id, created_at=created_at)
    if role == "tool":
        response = tuple(part for part in parts if isinstance(part, ResponseContent))
        is_text = all(isinstance(part, TextPart) for part in parts)
        parts = (ToolCallResponsePart(chat.call, text if is_text else response),)
        chat.call = ""
    elif role == "assistant" and recipient not in {"", "all"}:
        parts, chat.call = (ToolCallPart(id, recipient, text),), id
    elif not maybe_object(item.get("content")).keys().isdisjoint(_INSTRUCTIONS):
        role = "system"
    return Message(
        role=role,
        parts=parts,
        id=id,
        name=name or None,
        created_at=created_at,
        metadata=scalars(maybe_object(item.get("metadata")), ("model_slug",)) or None,
    )


def _parts(content: Object) -> Iterator[Part]:
    for thought in map(maybe_object, maybe_list(content.get("thoughts"))):
        yield ReasoningPart(first_text(thought, "content", "summary"))
    for part in maybe_list(content.get("parts")):
        if part:
            yield TextPart(part) if isinstance(part, str) else _medium(maybe_object(part))
    texts = [content[key] for key in _TEXTS if maybe_text(content.get(key))]
    if texts:
        yield TextPart("\n".join(texts))


def _medium(part: Object) -> ResponseContent:
    kind, pointer = maybe_text(part.get("content_type")), maybe_text(part.get("asset_pointer"))
    modality = kind.partition("_")[0]
    if pointer and modality in _MEDIA:
        return FilePart(modality, pointer)
    text = maybe_text(part.get("text"))
    return TextPart(text) if text else GenericPart(kind, json_text(part))


CHATGPT = Importer(
    name="chatgpt",
    description="export of ChatGPT (conversations.json)",
    matches=_matches,
    read=_read,
)
"""The importer of ChatGPT's exports."""
