"""
Message histories of Pydantic AI, lists as its `ModelMessagesTypeAdapter` writes them.

Source: its `messages.py`. Each part of a request is a message; what asks for another try and answers no call
is printed. Of the instructions, which are sent beside the messages, the newest are the system message.
"""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

from msgspec.structs import replace

from foldline.history.formats.responses import usage_or_none
from foldline.history.formats.wire import (
    Object,
    as_list,
    as_object,
    first_text,
    is_list,
    json_text,
    maybe_list,
    maybe_object,
    maybe_text,
    maybe_time,
    media_from_url,
    scalars,
)
from foldline.history.media import modality_of
from foldline.history.messages import Message, Usage
from foldline.history.parts import (
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    ResponseContent,
    TextPart,
)
from foldline.logs.bodies import blob_in, call_of, read_bodies
from foldline.logs.document import Document
from foldline.logs.importer import Importer, first_item, holds_lists, printed_message


def _matches(document: Document) -> bool:
    item = maybe_object(first_item(document, "messages"))
    said = "part_kind" in maybe_object(next(iter(maybe_list(item.get("parts"))), None))
    return (
        said and item.get("kind") in ("request", "response") and holds_lists(document, "messages")
    )


def _rules(body: Object) -> list[str]:
    given = map(maybe_object, reversed(maybe_list(body.get("messages"))))
    return [*filter(None, (first_text(one, "instructions") for one in given))][:1]


def _messages(item: Object) -> Iterator[Message]:
    parts = [as_object(part, "the part") for part in as_list(item.get("parts"), "parts")]
    if item.get("kind") == "request":
        for part in parts:
            yield replace(_asked(part), created_at=maybe_time(part.get("timestamp")))
    elif said := tuple(chain.from_iterable(map(_answered, parts))):
        yield Message(
            role="assistant",
            parts=said,
            created_at=maybe_time(item.get("timestamp")),
            metadata=scalars({"model": item.get("model_name")}, ("model",)) or None,
            usage=_usage(maybe_object(item.get("usage"))),
        )


def _asked(part: Object) -> Message:
    kind, content = maybe_text(part.get("part_kind")), part.get("content")
    said = tuple(map(_content, content if is_list(content) else [content]))
    if tool := first_text(part, "tool_name"):
        # A list of media and texts is one, any other is JSON.
        is_text = all(isinstance(one, TextPart) for one in said)
        text = content if isinstance(content, str) else json_text(content)
        return Message.tool(first_text(part, "tool_call_id"), text if is_text else said, name=tool)
    if kind in ("system-prompt", "user-prompt"):
        return Message(role="user" if kind == "user-prompt" else "system", parts=said)
    if "content" not in part:
        # What it says of itself, such as which tools there are now.
        return Message(role="system", parts=(GenericPart(kind, ""),))
    return printed_message(said, name=kind)


def _content(one: Any) -> ResponseContent:
    match one:
        case str(text) | {"kind": "text-content" | "structured-content", "content": str(text)}:
            return TextPart(text)
        case {"kind": "binary", "data": data, "media_type": str(mime)}:
            return blob_in(data, mime)
        case {"kind": str(kind), "url": str(url)}:
            return media_from_url(url, kind.removesuffix("-url"))
        case {"kind": "uploaded-file", "file_id": str(file_id)}:
            return FilePart(modality_of(first_text(one, "media_type")), file_id)
        case {"kind": "cache-point"}:
            return GenericPart("cache-point", "")
        case _:
            return TextPart(json_text(one))


def _answered(part: Object) -> Iterator[Part]:
    kind, content = maybe_text(part.get("part_kind")), part.get("content")
    match kind:
        case "text" | "thinking":
            if content:
                yield (TextPart if kind == "text" else ReasoningPart)(maybe_text(content))
        case "tool-call":
            id, name = first_text(part, "tool_call_id"), first_text(part, "tool_name")
            yield call_of(id, name, part.get("args") or {})
        case "file":
            yield _content(content)
        case _:
            yield GenericPart(kind, json_text(part))


def _usage(counts: Object) -> Usage | None:
    # Before its version 1 the first two had other names.
    return usage_or_none(
        input_tokens=counts.get("input_tokens", counts.get("request_tokens")),
        output_tokens=counts.get("output_tokens", counts.get("response_tokens")),
        cache_read_tokens=counts.get("cache_read_tokens"),
        cache_write_tokens=counts.get("cache_write_tokens"),
    )


PYDANTIC_AI = Importer(
    name="pydantic-ai",
    description="message history of Pydantic AI (JSON)",
    matches=_matches,
    # A history that goes on as another conversation has the names of both.
    read=partial(read_bodies, key="messages", rules=_rules, read=_messages, mixed=False),
)
"""The importer of Pydantic AI's message histories."""
