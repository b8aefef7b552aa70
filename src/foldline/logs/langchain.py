"""
Messages of LangChain and LangGraph.

Three forms: as `messages_to_dict` gives them (`type` and `data`), as `dumpd` gives them (`lc`,
`id` and `kwargs`), and plain (`type` and `content`). They come as a list, as an object with
`messages`, or as JSON lines of either; a list and lines of messages are one session, an object is
one each. Tool calls are read from `tool_calls`, from `invalid_tool_calls` (arguments that were no
JSON) and, if both are empty, from the vendor's own in `additional_kwargs`.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from foldline.history.formats.responses import usage_or_none
from foldline.history.formats.wire import (
    Object,
    as_list,
    as_object,
    as_text,
    check_role,
    first_text,
    json_text,
    maybe_list,
    maybe_object,
    maybe_text,
    media_from_url,
    scalars,
)
from foldline.history.messages import Message, Role, Usage
from foldline.history.parts import (
    BlobPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    ResponseContent,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.logs.bodies import blob_in, call_of, chat_call
from foldline.logs.document import Record
from foldline.logs.importer import Importer, Session, by_lists, first_item, read_each


_TYPES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_LISTS = ("messages", "history")
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call"})
_REASONING_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning"})


def is_langchain(value: Any) -> bool:
    """Whether *value* is a message of LangChain."""
    fields = maybe_object(value)
    if fields.get("lc") == 1:
        return _class_name(fields).endswith(("Message", "MessageChunk"))
    if _kind(fields) not in {*_TYPES, "chat"}:
        return False
    if isinstance(fields.get("data"), dict):
        return "content" in maybe_object(fields["data"])
    known_elsewhere = {"uuid", "sessionId"}
    if fields.get("type") != "chat":
        known_elsewhere.add("role")
    return "content" in fields and known_elsewhere.isdisjoint(fields)


def _class_name(fields: Object) -> str:
    path = maybe_list(fields.get("id"))
    return maybe_text(path[-1]) if path else ""


def _kind(fields: Object) -> str:
    """Return the type of a message: `AIMessageChunk` and `ai` are the same."""
    name = _class_name(fields) if "lc" in fields else maybe_text(fields.get("type"))
    return name.removesuffix("Chunk").removesuffix("Message").lower()


def message_from_langchain(fields: Object) -> Message | None:
    """Read a message in any form, or what an object of it holds; None if it removes another."""
    kind = _kind(fields)
    if kind == "remove":
        # It edits a state; what it removes was said all the same.
        return None
    body = next(
        (fields[key] for key in ("kwargs", "data") if isinstance(fields.get(key), dict)), fields
    )
    role = _TYPES[check_role(maybe_text(body.get("role")) if kind == "chat" else kind, _TYPES)]
    metadata = scalars(maybe_object(body.get("response_metadata")), ("model_name", "model"))
    return Message(
        role=role,
        parts=_answer(body) if role == "tool" else (*_content(body), *_calls(body)),
        id=maybe_text(body.get("id")) or None,
        name=maybe_text(body.get("name")) or None,
        metadata=(metadata | scalars(body, ("status",))) or None,
        usage=reported_usage(maybe_object(body.get("usage_metadata"))),
    )


def _session(held: Object, items: Iterable[Record]) -> Session:
    said = filter(None, read_each(items, message_from_langchain, "the message"))
    return Session(id=first_text(held, "id", "thread_id"), messages=tuple(said))


def _blocks(body: Object) -> list[Object]:
    content = body.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [
        {"type": "text", "text": block} if isinstance(block, str) else own_block(block)
        for block in as_list(content, "content")
    ]


def own_block(block: Any) -> Object:
    """Return *block*, or the vendor's own in it: LangChain has put what it does not know into one."""
    fields = as_object(block, "block")
    return maybe_object(fields.get("value")) if fields.get("type") == "non_standard" else fields


def _answer(body: Object) -> tuple[Part, ...]:
    parts = tuple(_content_part(block) for block in _blocks(body))
    text = body["content"] if isinstance(body.get("content"), str) else None
    return (ToolCallResponsePart(maybe_text(body.get("tool_call_id")), text or parts or ""),)


def _content(body: Object) -> Iterator[Part]:
    called = {
        maybe_text(maybe_object(call).get("id")) for call in maybe_list(body.get("tool_calls"))
    }
    for block in _blocks(body):
        kind = maybe_text(block.get("type"))
        if kind in _CALL_BLOCKS:
            # Beside `tool_calls` it is the same call, as the vendor wrote it.
            id, name = first_text(block, "call_id", "id"), first_text(block, "name")
            if id not in called:
                yield call_of(id, name, block.get("input", block.get("arguments", {})))
        elif kind in _REASONING_BLOCKS:
            yield ReasoningPart(first_text(block, "thinking", "reasoning", "text"))
        else:
            yield _content_part(block)


def _content_part(block: Object) -> ResponseContent:
    match block:
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return TextPart(text)
        case {"type": "image_url", "image_url": str(url) | {"url": str(url)}}:
            return media_from_url(url, "image")
        case {"type": "image" | "audio" | "video" | "file" as kind}:
            medium = _medium("document" if kind == "file" else kind, block)
            return GenericPart(kind, json_text(block)) if medium is None else medium
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
            return BlobPart("audio", f"audio/{kind}", data)
        case {"type": "media", "mime_type": str(mime), "data": data}:
            return blob_in(data, mime)
        case _:
            return GenericPart(maybe_text(block.get("type")), json_text(block))


def _medium(modality: str, block: Object) -> BlobPart | UriPart | FilePart | None:
    """Return the medium in *block*, as LangChain 1, its versions before or Anthropic write it."""
    source = maybe_object(block.get("source")) or block
    mime = first_text(source, "mime_type", "media_type")
    data = first_text(source, "base64", "data")
    url, file_id = first_text(source, "url"), first_text(source, "file_id")
    if data:
        return BlobPart(modality, mime, data)
    if url:
        return media_from_url(url, modality)
    return FilePart(modality, file_id) if file_id else None


def _calls(body: Object) -> Iterator[ToolCallPart]:
    calls = maybe_list(body.get("tool_calls")) + maybe_list(body.get("invalid_tool_calls"))
    for item in calls:
        call = as_object(item, "the tool call")
        name = as_text(call.get("name"), "name")
        yield call_of(maybe_text(call.get("id")), name, call.get("args", {}))
    if not calls:
        yield from vendor_calls(maybe_object(body.get("additional_kwargs")))


def vendor_calls(extra: Object) -> Iterator[ToolCallPart]:
    """Read the calls that some clients keep as OpenAI Chat has them, in what *extra* is of a message."""
    legacy = {"function": extra["function_call"]} if "function_call" in extra else None
    yield from map(chat_call, (*maybe_list(extra.get("tool_calls")), *filter(None, [legacy])))


def reported_usage(report: Object) -> Usage | None:
    """Return the counts of *report*, in LangChain's `usage_metadata`; None without any."""
    read = maybe_object(report.get("input_token_details"))
    written = maybe_object(report.get("output_token_details"))
    return usage_or_none(
        input_tokens=report.get("input_tokens"),
        output_tokens=report.get("output_tokens"),
        cache_read_tokens=read.get("cache_read"),
        cache_write_tokens=read.get("cache_creation"),
        reasoning_tokens=written.get("reasoning"),
    )


LANGCHAIN = Importer(
    name="langchain",
    description="messages of LangChain or LangGraph (messages_to_dict, dumpd, or plain)",
    matches=lambda document: is_langchain(first_item(document, *_LISTS)),
    read=by_lists(_session, *_LISTS),
)
"""The importer of LangChain's messages."""
