"""
Whole request bodies: the conversation in them, and what surrounds it.

A body is taken apart into messages and an envelope, which is the body with the fields of the
conversation emptied. Written again unchanged it is byte-equal to what came, order of keys too.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.anthropic import from_anthropic, message_from_anthropic, to_anthropic
from foldline.history.formats.openai_chat import from_openai_chat, to_openai_chat
from foldline.history.formats.openai_responses import (
    from_openai_responses,
    to_openai_responses,
)
from foldline.history.formats.wire import as_object, as_text, is_list, json_text
from foldline.history.messages import Message, NativeFormat
from foldline.history.parts import TextPart


__all__ = ["Request", "read_request", "write_request"]


class Request(Struct, frozen=True, kw_only=True):
    """A request body, taken apart."""

    format: NativeFormat
    """The wire format of the body."""

    messages: tuple[Message, ...]
    """
    The conversation. System instructions that the body holds in a field of their own come first,
    as one system message.
    """

    envelope: str
    """The body as JSON text, its fields of the conversation emptied."""


def read_request(body: Any, wire_format: NativeFormat) -> Request:
    """
    Take a request body apart.

    Raises:
        FormatError: *body* is no such body, or *wire_format* has no request bodies.
    """
    fields = as_object(body, "the request body")
    if wire_format is NativeFormat.OPENAI_CHAT:
        messages, emptied = _read_openai_chat(fields)
    elif wire_format is NativeFormat.OPENAI_RESPONSES:
        messages, emptied = _read_openai_responses(fields)
    elif wire_format is NativeFormat.ANTHROPIC:
        messages, emptied = _read_anthropic(fields)
    else:
        message = f"{wire_format.value} has no request bodies"
        raise FormatError(message)
    envelope = json_text({**fields, **emptied})
    return Request(format=wire_format, messages=messages, envelope=envelope)


def write_request(request: Request) -> dict[str, Any]:
    """
    Put a request body together.

    The messages may be others than those read. Where the body has a field for system
    instructions, the first message fills it if it is a system message; else the field goes.
    """
    envelope = as_object(decode_json(request.envelope), "the envelope")
    if request.format is NativeFormat.OPENAI_CHAT:
        return _filled(envelope, "messages", to_openai_chat(request.messages))
    if request.format is NativeFormat.ANTHROPIC:
        return _write_anthropic(request.messages, envelope)
    return _write_openai_responses(request.messages, envelope)


def _filled(envelope: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    return {**envelope, key: value}


def _read_openai_chat(body: dict[str, Any]) -> tuple[tuple[Message, ...], dict[str, Any]]:
    return from_openai_chat(_items(body)), {"messages": []}


def _items(body: dict[str, Any]) -> Sequence[Any]:
    items = body.get("messages")
    if not is_list(items):
        message = "messages is not a list"
        raise FormatError(message)
    return items


def _read_anthropic(body: dict[str, Any]) -> tuple[tuple[Message, ...], dict[str, Any]]:
    messages = from_anthropic(_items(body))
    system = body.get("system")
    if system is None:
        return messages, {"messages": []}
    try:
        first = message_from_anthropic({"role": "system", "content": system})
    except FormatError as error:
        message = f"system: {error}"
        raise FormatError(message) from error
    return (first, *messages), {"messages": [], "system": ""}


def _write_anthropic(messages: tuple[Message, ...], envelope: dict[str, Any]) -> dict[str, Any]:
    items = to_anthropic(messages)
    if envelope.get("system") is None:
        return _filled(envelope, "messages", items)
    if items and items[0]["role"] == "system":
        filled = _filled(envelope, "system", items[0]["content"])
        return _filled(filled, "messages", items[1:])
    rest = {key: value for key, value in envelope.items() if key != "system"}
    return _filled(rest, "messages", items)


def _read_openai_responses(
    body: dict[str, Any],
) -> tuple[tuple[Message, ...], dict[str, Any]]:
    emptied: dict[str, Any] = {}
    messages: list[Message] = []
    if body.get("instructions") is not None:
        messages.append(Message.system(as_text(body["instructions"], "instructions")))
        emptied["instructions"] = ""
    given = body.get("input")
    if isinstance(given, str):
        messages.append(Message.user(given))
        emptied["input"] = ""
    elif given is not None:
        messages.extend(from_openai_responses(given))
        emptied["input"] = []
    return tuple(messages), emptied


def _write_openai_responses(
    messages: tuple[Message, ...], envelope: dict[str, Any]
) -> dict[str, Any]:
    body, rest = envelope, messages
    if envelope.get("instructions") is not None:
        if rest and rest[0].role == "system":
            body, rest = _filled(envelope, "instructions", rest[0].text), rest[1:]
        else:
            body = {key: value for key, value in envelope.items() if key != "instructions"}
    if envelope.get("input") == "" and _is_one_text(rest):
        return _filled(body, "input", rest[0].text)
    if not rest and envelope.get("input") is None:
        return body
    return _filled(body, "input", to_openai_responses(rest))


def _is_one_text(messages: tuple[Message, ...]) -> bool:
    if len(messages) != 1 or messages[0].role != "user" or messages[0].native is not None:
        return False
    parts = messages[0].parts
    return len(parts) == 1 and isinstance(parts[0], TextPart)
