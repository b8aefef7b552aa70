"""
Whose wire format a recording is in, judged by what only that vendor writes.

Plain text between user and assistant is the same in OpenAI Chat and Anthropic: without a sign of
Anthropic, a request body counts as OpenAI Chat, and a mere list of messages as a plain chat log.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from foldline.errors import FormatError
from foldline.history.formats.detect import BLOCKS, witnesses_in
from foldline.history.formats.wire import Object, maybe_list, maybe_object, maybe_text
from foldline.history.messages import NativeFormat
from foldline.logs.converse import is_turn
from foldline.logs.document import Document, Record


OTEL_SYSTEM = "gen_ai.system_instructions"
"""The attribute of a span that holds the system instructions."""

OTEL_MESSAGES = ("gen_ai.input.messages", "gen_ai.output.messages")
"""The attributes of a span that hold messages."""

_CHAT, _RESPONSES = NativeFormat.OPENAI_CHAT, NativeFormat.OPENAI_RESPONSES
_ANTHROPIC = NativeFormat.ANTHROPIC
_ANTHROPIC_FIELDS = frozenset({"system", "anthropic_version", "stop_sequences"})
_ANSWERS = {"choices": _CHAT, "output": _RESPONSES, "content": _ANTHROPIC}
_RESPONSES_ITEMS = frozenset(
    [
        "compaction",
        "compaction_summary",
        "item_reference",
        "mcp_approval_request",
        "mcp_approval_response",
        "reasoning",
    ]
)
# Clients in TypeScript have names of their own for what they send.
_CAMELS = {"toolCalls": "tool_calls", "toolCallId": "tool_call_id"}
_CHAT_KEYS = ("tool_calls", "tool_call_id", "function_call")


def as_sent(item: Any) -> Any:
    """Return *item*, if it is a message, with the names of calls as a vendor has them."""
    if not isinstance(item, dict) or _CAMELS.keys().isdisjoint(item):
        return item
    return {_CAMELS.get(key, key): value for key, value in item.items()}


def vendor_format(items: Iterable[Any]) -> NativeFormat | None:
    """Return the wire format that *items* show signs of; None if they might be OpenAI Chat."""
    signs = (_sign(maybe_object(item)) for item in items)
    return next(filter(None, signs), None)


def has_parts(item: Object) -> bool:
    """Whether *item* has parts as OpenTelemetry and foldline write them; Gemini's are others."""
    parts = item.get("parts")
    return isinstance(parts, list) and all(map(_is_part, parts))


def _is_part(value: Any) -> bool:
    part = maybe_object(value)
    return isinstance(part.get("type"), str) and (part["type"] != "text" or "content" in part)


def _sign(item: Object) -> NativeFormat | None:
    if has_parts(item):
        return NativeFormat.OTEL
    kind = maybe_text(item.get("type"))
    if kind in _RESPONSES_ITEMS or kind.endswith(("_call", "_call_output")):
        return _RESPONSES
    if kind == "message" and "role" in item:
        return _RESPONSES
    of_blocks = [BLOCKS.get(block, ()) for block in _blocks(item)]
    return next((one for one in (_RESPONSES, _ANTHROPIC) if (one,) in map(tuple, of_blocks)), None)


def _blocks(item: Object) -> list[str]:
    blocks = map(maybe_object, maybe_list(item.get("content")))
    return [maybe_text(block.get("type")) for block in blocks]


def wire_format(document: Document) -> NativeFormat | None:
    """Return the wire format of *document*; None if it is in none, or may be a plain chat log."""
    first = document.first
    fields = maybe_object(first)
    if not fields.keys().isdisjoint((OTEL_SYSTEM, *OTEL_MESSAGES)):
        return NativeFormat.OTEL
    request, _ = exchange(first)
    if request is not None:
        # A body without a model is a plain list of messages, and others need not be its vendor's.
        is_plain = _is_body(first) and not isinstance(request.get("model"), str)
        shown = (record_format(one.value) for one in document.records[: 1 if is_plain else None])
        found: NativeFormat | None = next(filter(None, shown), _CHAT)
        return None if found is NativeFormat.OTEL or (is_plain and found is _CHAT) else found
    listed = maybe_list(first)
    items = listed or [record.value for record in document.records]
    if not items or not _is_item(items[0]):
        return None
    found = vendor_format(items)
    # A line of role and parts is foldline's own; OpenTelemetry writes lists.
    return None if found is NativeFormat.OTEL and not listed else found


def _is_body(value: Any) -> bool:
    """Whether *value* has the shape of a request body, with its conversation in it."""
    fields = maybe_object(value)
    if "messages" in fields:
        messages = maybe_list(fields["messages"])
        return bool(messages) and _is_item(messages[0])
    return isinstance(fields.get("input"), str | list) and "model" in fields


def _is_item(value: Any) -> bool:
    item = maybe_object(value)
    return (isinstance(item.get("role"), str) and not is_turn(item)) or _sign(item) is not None


def record_format(value: Any) -> NativeFormat | None:
    """Return the wire format that the request in *value* or its answer shows; None if it might be any."""
    body, response = exchange(value)
    if body is None:
        return None
    if "messages" not in body:
        return _RESPONSES
    tools = [maybe_object(tool) for tool in maybe_list(body.get("tools"))]
    if any("input_schema" in tool for tool in tools) or not _ANTHROPIC_FIELDS.isdisjoint(body):
        return _ANTHROPIC
    return _shown(map(maybe_object, body["messages"])) or answer_format(response)


def _shown(messages: Iterable[Object]) -> NativeFormat | None:
    try:
        found = witnesses_in(messages)
    except FormatError:
        # Who reads them says what is wrong.
        return None
    return None if found.possible >= {_CHAT, _ANTHROPIC} else found.format


def answer_format(answer: Any) -> NativeFormat | None:
    """Return the wire format of *answer*; None if it is none of a vendor's."""
    fields = maybe_object(answer)
    shown = (native for key, native in _ANSWERS.items() if isinstance(fields.get(key), list))
    return next(shown, None)


def exchange(value: Any) -> tuple[Object | None, Any]:
    """Return the request body and the response in *value*, which may be a proxy's record."""
    fields = maybe_object(value)
    request, response = maybe_object(fields.get("request")), fields.get("response")
    # LiteLLM writes the fields of the request beside the response.
    bodies = filter(_is_body, (request, maybe_object(request.get("body")), fields))
    return next(bodies, None), maybe_object(response).get("body", response)


def check_vendor(document: Document, format: str) -> None:
    """Raise FormatError for another vendor's message: its calls would count as none."""
    if format not in {_CHAT.value, _RESPONSES.value, _ANTHROPIC.value}:
        return
    for place, item in (item for record in document.records for item in _items(record)):
        for vendor, sign in _calls_and_results(item):
            if vendor.value != format:
                raise FormatError(
                    f"{place}: {sign} is {vendor.value}, not {format}: leave out --format, or give "
                    f"--format {vendor.value}"
                )


def _items(record: Record) -> Iterator[tuple[str, Object]]:
    body = exchange(record.value)[0] or maybe_object(record.value)
    listed = maybe_list(record.value) or maybe_list(body.get("messages") or body.get("input"))
    if not listed:
        yield record.place, body
    for number, item in enumerate(listed):
        yield f"{record.place}: message {number}", maybe_object(item)


def _calls_and_results(item: Object) -> Iterator[tuple[NativeFormat, str]]:
    kind, role = maybe_text(item.get("type")), maybe_text(item.get("role"))
    if kind in {"function_call", "function_call_output"}:
        yield _RESPONSES, f"an item {kind}"
    if role in {"tool", "function"}:
        yield _CHAT, f"the role {role}"
    yield from ((_CHAT, key) for key in _CHAT_KEYS if item.get(key))
    for block in _blocks(item):
        if block in {"tool_use", "tool_result"}:
            yield _ANTHROPIC, f"a block {block}"
