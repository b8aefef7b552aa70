"""
Plain chat logs: messages with `role` and `content`, one way or another.

- JSON lines of one message each, or one JSON list of messages: one session, or one for each
  `conversation_id`, `thread_id`, `session_id` or `chat_id` of the messages, in JavaScript's spelling too.
- JSON lines, a JSON document or a list of objects with a message list under `messages`, `traj`,
  `conversation`, `conversations`, `history` or `items`: one session each, but one for those that
  continue each other (`logs.growth`).
- ShareGPT's `from` and `value` in place of `role` and `content`.

The fields of an OpenAI Chat message go through its converter (items of Anthropic and of the
Responses API through theirs); all others stay in the metadata. Calls without ids are answered in
order.
A message of the role `tool` that answers no call keeps its place as what a program printed.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.anthropic import message_from_anthropic
from foldline.history.formats.openai_chat import CHAT_FIELDS, chat_message
from foldline.history.formats.openai_responses import message_from_openai_responses
from foldline.history.formats.otel import from_otel
from foldline.history.formats.wire import (
    Object,
    as_text,
    check_role,
    first_text,
    maybe_list,
    maybe_object,
    maybe_text,
    maybe_time,
)
from foldline.history.messages import Message, NativeFormat
from foldline.history.parts import ToolCallResponsePart
from foldline.logs.document import Document, Record
from foldline.logs.growth import Recording, joined
from foldline.logs.importer import Importer, Session, are_requests, each_read, first_item, lists_in
from foldline.logs.vendors import as_sent, vendor_format


LISTS = ("messages", "traj", "conversation", "conversations", "history", "items")
"""The fields that hold the messages of a whole conversation."""

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_SPEAKERS = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "chatgpt", "assistant", "model", "bot", "function_call"), "assistant"),
    **dict.fromkeys(("observation", "function_response", "tool"), "tool"),
    "system": "system",
}
_FOREIGN = {
    **dict.fromkeys(("tool-call", "tool-result", "toolInvocations"), "the Vercel AI SDK's"),
    **dict.fromkeys(("toolRequest", "toolResponse"), "goose's"),
}
_ELSEWHERE = frozenset({"type", "parts"})
_TIMES = ("timestamp", "created_at", "time", "ts")


def _is_message(value: Any) -> bool:
    """Whether *value* is a message of a plain chat log."""
    fields = maybe_object(value)
    if "from" in fields and "value" in fields:
        return maybe_text(fields["from"]) in _SPEAKERS
    said = not {"content", "tool_calls", "function_call"}.isdisjoint(fields)
    return (
        maybe_text(fields.get("role")) in _ROLES and said and fields.keys().isdisjoint(_ELSEWHERE)
    )


def _read(document: Document) -> tuple[Session, ...]:
    sessions = tuple(
        Session(
            id=first_text(held, "id", "session_id", "conversation_id", "thread_id", "task_id"),
            title=first_text(held, "title", "name"),
            messages=chat_messages(items),
        )
        for held, items in lists_in(document, *LISTS)
    )
    if not are_requests(document, *LISTS):
        return sessions
    return joined(Recording(session=one, sent=len(one.messages)) for one in sessions)


def chat_messages(items: Sequence[Record]) -> tuple[Message, ...]:
    """Return the messages in *items*, as their vendor or a plain chat log writes them."""
    return tuple(_each(items, vendor_format(item.value for item in items)))


def _each(items: Iterable[Record], vendor: NativeFormat | None = None) -> Iterator[Message]:
    unanswered = 0
    for message in each_read(items, partial(_message, vendor), "the message"):
        unanswered += sum(not call.id for call in message.tool_calls)
        if unanswered and message.role == "tool" and not message.tool_call_responses:
            # Calls without ids are answered in their order, by answers without ids.
            unanswered -= 1
            answer = ToolCallResponsePart("", message.text)
            yield replace(message, parts=(answer,), native=None)
        else:
            yield message


def _message(vendor: NativeFormat | None, item: Object) -> Message:
    fields = _chat(as_sent(item))
    _check_calls(fields)
    if vendor is NativeFormat.OPENAI_RESPONSES:
        return message_from_openai_responses(fields)
    if vendor is NativeFormat.OTEL:
        return from_otel([fields])[0]
    sent = {key: value for key, value in fields.items() if key in CHAT_FIELDS}
    rest = {key: value for key, value in fields.items() if key not in CHAT_FIELDS}
    convert = message_from_anthropic if vendor is NativeFormat.ANTHROPIC else chat_message
    times = (maybe_time(rest.get(key)) for key in _TIMES)
    return replace(
        convert(sent),
        id=first_text(rest, "id") or None,
        created_at=next(filter(None, times), None),
        metadata=rest or None,
    )


def _check_calls(fields: Object) -> None:
    """Raise FormatError for calls and results that would be lost as text."""
    blocks = map(maybe_object, maybe_list(fields.get("content")))
    signs = (*fields, *(maybe_text(block.get("type")) for block in blocks))
    if (sign := next((one for one in signs if one in _FOREIGN), None)) is not None:
        raise FormatError(f"{sign} is {_FOREIGN[sign]}: write calls and results as a vendor does")


def _chat(fields: Object) -> Object:
    """Write what ShareGPT names in its own way as a chat message."""
    if "from" not in fields or "role" in fields:
        return fields
    speaker = check_role(fields["from"], _SPEAKERS)
    rest = {key: value for key, value in fields.items() if key not in {"from", "value"}}
    text = as_text(fields.get("value"), "value")
    call = _call(text) if speaker == "function_call" else None
    if call is not None:
        return {"role": "assistant", "content": None, "tool_calls": [call], **rest}
    return {"role": _SPEAKERS[speaker], "content": text, **rest}


def _call(text: str) -> Object | None:
    try:
        written = maybe_object(decode_json(text))
    except FormatError:
        return None
    name, arguments = written.get("name"), written.get("arguments")
    return name and {"type": "function", "function": {"name": name, "arguments": arguments}}


CHAT_JSONL = Importer(
    name="chat-jsonl",
    description="plain chat log (role and content, or ShareGPT, as JSON lines or a JSON list)",
    matches=lambda document: _is_message(first_item(document, *LISTS)),
    read=_read,
    stream=_each,
)
"""The importer of plain chat logs."""
