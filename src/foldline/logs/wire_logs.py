"""
Recorded conversations in the wire formats themselves, and in foldline's own.

A file holds request bodies (one document, or one a line: each is a session, or goes on from an
earlier one, see `logs.growth`), lists of messages (the same), or a message a line (one
session, or one for each conversation that the lines name). A proxy's lines may hold the body
under `request` and the answer under `response`. Plain text between user and assistant is the same
in OpenAI Chat and Anthropic: without a sign of Anthropic, a body counts as OpenAI Chat, and a mere
list of messages as a plain chat log (`logs.chat_jsonl`).
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from foldline.errors import FormatError
from foldline.history.codec import decode_history, decode_json, decode_message
from foldline.history.formats.anthropic import from_anthropic, message_from_anthropic
from foldline.history.formats.fields import (
    Object,
    at,
    first_text,
    maybe_list,
    maybe_object,
    maybe_text,
)
from foldline.history.formats.openai_chat import from_openai_chat, message_from_openai_chat
from foldline.history.formats.openai_responses import (
    from_openai_responses,
    message_from_openai_responses,
)
from foldline.history.formats.otel import from_otel, message_from_otel
from foldline.history.formats.responses import joined_stream, read_response
from foldline.history.formats.wire import as_object, json_text
from foldline.history.messages import Message, NativeFormat
from foldline.logs.document import Document
from foldline.logs.growth import Recording, joined
from foldline.logs.importer import Importer, Session, conversations
from foldline.logs.langchain import is_langchain_message
from foldline.logs.request import read_request


__all__ = [
    "ANTHROPIC",
    "FOLDLINE",
    "OPENAI_CHAT",
    "OPENAI_RESPONSES",
    "OTEL",
    "is_body",
    "vendor_format",
    "wire_format",
]


_MESSAGE: dict[NativeFormat, Callable[[Any], Message]] = {
    NativeFormat.OPENAI_CHAT: message_from_openai_chat,
    NativeFormat.OPENAI_RESPONSES: message_from_openai_responses,
    NativeFormat.ANTHROPIC: message_from_anthropic,
    NativeFormat.OTEL: message_from_otel,
}
_MESSAGES: dict[NativeFormat, Callable[[Iterable[Any]], tuple[Message, ...]]] = {
    NativeFormat.OPENAI_CHAT: from_openai_chat,
    NativeFormat.OPENAI_RESPONSES: from_openai_responses,
    NativeFormat.ANTHROPIC: from_anthropic,
    NativeFormat.OTEL: from_otel,
}
_ANTHROPIC_FIELDS = frozenset({"system", "anthropic_version", "stop_sequences", "thinking"})
_ANTHROPIC_BLOCKS = frozenset(
    {
        "compaction",
        "document",
        "image",
        "redacted_thinking",
        "server_tool_use",
        "thinking",
        "tool_result",
        "tool_use",
    }
)
_RESPONSES_BLOCKS = frozenset({"input_text", "output_text", "input_image", "input_file"})
_RESPONSES_ITEMS = frozenset(
    {
        "compaction",
        "compaction_summary",
        "item_reference",
        "mcp_approval_request",
        "mcp_approval_response",
        "reasoning",
    }
)
_OTEL_SYSTEM = "gen_ai.system_instructions"
_OTEL_MESSAGES = ("gen_ai.input.messages", "gen_ai.output.messages")


def vendor_format(items: Iterable[Any]) -> NativeFormat | None:
    """Return the wire format that *items* show signs of; None where they might be OpenAI Chat."""
    signs = (_sign(maybe_object(item)) for item in items)
    return next(filter(None, signs), None)


def _sign(item: Object) -> NativeFormat | None:
    if isinstance(item.get("parts"), list):
        return NativeFormat.OTEL
    kind = maybe_text(item.get("type"))
    if kind in _RESPONSES_ITEMS or kind.endswith(("_call", "_call_output")):
        return NativeFormat.OPENAI_RESPONSES
    if kind == "message" and "role" in item:
        return NativeFormat.OPENAI_RESPONSES
    blocks = map(maybe_object, maybe_list(item.get("content")))
    kinds = {maybe_text(block.get("type")) for block in blocks}
    if kinds & _RESPONSES_BLOCKS:
        return NativeFormat.OPENAI_RESPONSES
    return NativeFormat.ANTHROPIC if kinds & _ANTHROPIC_BLOCKS else None


def wire_format(document: Document) -> NativeFormat | None:
    """
    Return the wire format of *document*; None where it is in none, or may be a plain chat log.
    """
    first = document.first
    fields = maybe_object(first)
    if not fields.keys().isdisjoint((_OTEL_SYSTEM, *_OTEL_MESSAGES)):
        return NativeFormat.OTEL
    if is_body(first):
        return _body_format(fields)
    request, _ = _exchange(first)
    if request is not None:
        return _body_format(request) or NativeFormat.OPENAI_CHAT
    listed = maybe_list(first)
    items = listed or [record.value for record in document.records]
    if not items or not _is_item(items[0]):
        return None
    found = vendor_format(items)
    # A line of role and parts is foldline's own; OpenTelemetry writes lists.
    return None if found is NativeFormat.OTEL and not listed else found


def is_body(value: Any) -> bool:
    """Whether *value* has the shape of a request body, with its conversation in it."""
    fields = maybe_object(value)
    if "messages" in fields:
        messages = maybe_list(fields["messages"])
        return bool(messages) and _is_item(messages[0])
    return isinstance(fields.get("input"), str | list) and "model" in fields


def _is_item(value: Any) -> bool:
    item = maybe_object(value)
    if is_langchain_message(value) or "uuid" in item:
        return False
    return isinstance(item.get("role"), str) or _sign(item) is not None


def _body_format(body: Object) -> NativeFormat | None:
    if "messages" not in body:
        return NativeFormat.OPENAI_RESPONSES
    found = vendor_format(body["messages"])
    if found is NativeFormat.OTEL:
        return None
    tools = [maybe_object(tool) for tool in maybe_list(body.get("tools"))]
    signs = any("input_schema" in tool for tool in tools)
    if found or signs or not body.keys().isdisjoint(_ANTHROPIC_FIELDS):
        return NativeFormat.ANTHROPIC
    return NativeFormat.OPENAI_CHAT if isinstance(body.get("model"), str) else None


def _matches(native: NativeFormat, document: Document) -> bool:
    return wire_format(document) is native


def _exchange(value: Any) -> tuple[Object | None, Any]:
    """
    Return the request body and the response that a proxy's record holds; None where it is none.
    """
    fields = maybe_object(value)
    request, response = maybe_object(fields.get("request")), fields.get("response")
    request = request if is_body(request) else maybe_object(request.get("body"))
    if not is_body(request):
        return None, None
    return request, maybe_object(response).get("body", response)


def _read(native: NativeFormat, document: Document) -> tuple[Session, ...]:
    if isinstance(document.first, list) or _is_whole(document.first):
        return joined(_recording(native, record.place, record.value) for record in document.records)
    sessions: list[Session] = []
    for id, records in conversations(document.records).items():
        messages: list[Message] = []
        for record in records:
            with at(record.place):
                messages.append(_MESSAGE[native](record.value))
        sessions.append(Session(id=id, format=native.value, messages=tuple(messages)))
    return tuple(sessions)


def _is_whole(value: Any) -> bool:
    keys = ("messages", "input", "request", _OTEL_SYSTEM, *_OTEL_MESSAGES)
    return not maybe_object(value).keys().isdisjoint(keys)


def _recording(native: NativeFormat, place: str, value: Any) -> Recording:
    request, response = _exchange(value)
    answer: tuple[Message, ...] = ()
    notes: tuple[str, ...] = ()
    with at(place):
        if isinstance(value, list):
            messages = _MESSAGES[native](value)
        elif native is NativeFormat.OTEL:
            messages, answer = _spans(as_object(value, "the record"))
        else:
            messages = read_request(value if request is None else request, native).messages
    try:
        answer = answer or _answer(response, native)
    except FormatError:
        # Failed calls are logged, too; what they were asked is worth reading all the same.
        notes = (f"{place}: the response holds no answer that could be read; left out",)
    id = first_text(maybe_object(value), "id")
    said = (*messages, *answer)
    session = Session(id=id, format=native.value, messages=said, notes=notes)
    return Recording(session=session, sent=len(messages))


def _answer(response: Any, native: NativeFormat) -> tuple[Message, ...]:
    if response is None:
        return ()
    if isinstance(response, str):
        response = joined_stream(response, native)
    return read_response(response, native)


def _spans(fields: Object) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """
    Read the attributes of a span, where lists may be JSON text: what was sent, and the answer.
    """
    system = _attribute(fields, _OTEL_SYSTEM)
    items: list[Any] = [{"role": "system", "parts": system}] if system else []
    sent, answered = (_attribute(fields, key) for key in _OTEL_MESSAGES)
    return from_otel([*items, *sent]), from_otel(answered)


def _attribute(fields: Object, key: str) -> list[Any]:
    value = fields.get(key, [])
    with at(key):
        value = decode_json(value) if isinstance(value, str) else value
        if isinstance(value, list):
            return value
        message = "the value is not a list"
        raise FormatError(message)


def _is_own(document: Document) -> bool:
    fields = maybe_object(document.first)
    if type(fields.get("format")) is int:
        return isinstance(fields.get("messages"), list)
    return {"role", "parts"} <= fields.keys()


def _read_own(document: Document) -> tuple[Session, ...]:
    if "messages" in maybe_object(document.first):
        sessions: list[Session] = []
        for record in document.records:
            with at(record.place):
                messages = decode_history(json_text(record.value))
            sessions.append(Session(format=FOLDLINE.name, messages=messages))
        return tuple(sessions)
    said: list[Message] = []
    for record in document.records:
        with at(record.place):
            said.append(decode_message(json_text(record.value)))
    return (Session(format=FOLDLINE.name, messages=tuple(said)),)


def _importer(native: NativeFormat, description: str) -> Importer:
    return Importer(
        name=native.value,
        description=description,
        matches=partial(_matches, native),
        read=partial(_read, native),
    )


OPENAI_CHAT = _importer(
    NativeFormat.OPENAI_CHAT, "OpenAI Chat Completions request bodies or messages"
)
"""The importer of OpenAI Chat."""

OPENAI_RESPONSES = _importer(
    NativeFormat.OPENAI_RESPONSES, "OpenAI Responses request bodies or input items"
)
"""The importer of OpenAI Responses."""

ANTHROPIC = _importer(NativeFormat.ANTHROPIC, "Anthropic Messages request bodies or messages")
"""The importer of Anthropic Messages."""

OTEL = _importer(
    NativeFormat.OTEL, "OpenTelemetry GenAI messages, or span attributes that hold them"
)
"""The importer of OpenTelemetry GenAI."""

FOLDLINE = Importer(
    name="foldline",
    description="foldline's own history document, or its messages as JSON lines",
    matches=_is_own,
    read=_read_own,
)
"""The importer of what `encode_history` and `encode_message` write."""
