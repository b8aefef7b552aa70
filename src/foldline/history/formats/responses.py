"""
What vendors answer: whole, or as a stream of server-sent events.

A stream is put together into the object that the vendor would have sent without streaming, and
that is read as the messages that a client adds to its history.
"""

import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.anthropic import message_from_anthropic
from foldline.history.formats.chat_items import chat_message
from foldline.history.formats.fields import (
    Object,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_text,
    scalars,
)
from foldline.history.formats.openai_responses import from_openai_responses
from foldline.history.formats.usage import anthropic_usage, openai_usage
from foldline.history.formats.wire import as_list, as_object, object_from_json
from foldline.history.messages import Message, NativeFormat


__all__ = ["joined_events", "joined_stream", "read_response"]


_CUT_OFF = "the stream holds no whole response"
_COMPACTED = "response.compaction"
_COMPACTIONS = frozenset({"compaction", "compaction_summary"})
_FINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})


def read_response(response: Any, native: NativeFormat) -> tuple[Message, ...]:
    """
    Read what a vendor answered to a request in the wire format *native*.

    Raises:
        FormatError: *response* is no such answer; an error that the vendor sent is none.
    """
    fields = as_object(response, "the response")
    usage = maybe_object(fields.get("usage"))
    messages: tuple[Message, ...]
    match native:
        case NativeFormat.ANTHROPIC:
            content = as_list(fields.get("content"), "content")
            said = message_from_anthropic({"role": "assistant", "content": content})
            messages = (replace(said, id=maybe_text(fields.get("id")) or None),)
            counts = anthropic_usage(usage)
        case NativeFormat.OPENAI_RESPONSES:
            messages = from_openai_responses(_output(fields))
            counts = openai_usage(usage)
        case _:
            choices = as_list(fields.get("choices"), "choices")
            choice = maybe_object(choices[0] if choices else None)
            said = chat_message(as_object(choice.get("message"), "the message"))
            messages = (replace(said, id=maybe_text(fields.get("id")) or None),)
            counts = openai_usage(usage)
    if not messages:
        return ()
    metadata = scalars(fields, ("model",)) or None
    return (*messages[:-1], replace(messages[-1], usage=counts, metadata=metadata))


def _output(fields: Object) -> list[Any]:
    output = list(as_list(fields.get("output"), "output"))
    if fields.get("object") != _COMPACTED:
        return output
    # A compacted history repeats messages of the request; only its summary is new.
    return [item for item in output if _kind(item) in _COMPACTIONS]


def _kind(value: Any) -> str:
    return maybe_text(maybe_object(value).get("type"))


def joined_stream(text: str, native: NativeFormat) -> Object:
    """
    Put the events of a stream together into the object that stands for all of them.

    Raises:
        FormatError: *text* is no stream of such events.
    """
    return joined_events(list(_events(text)), native)


def joined_events(events: list[Object], native: NativeFormat) -> Object:
    """
    Put *events* of a stream together into the object that stands for all of them.

    Raises:
        FormatError: They are no events of a whole response.
    """
    match native:
        case NativeFormat.ANTHROPIC:
            return _joined_anthropic(events)
        case NativeFormat.OPENAI_RESPONSES:
            return _joined_responses(events)
        case _:
            return _joined_chat(events)


def _events(text: str) -> Iterator[Object]:
    # Lines end as the standard of server-sent events says; a text may hold other separators.
    for line in re.split(r"\r\n|\n|\r", text):
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            yield as_object(decode_json(data), "the event")


def _joined_responses(events: list[Object]) -> Object:
    for event in events:
        if _kind(event) in _FINAL:
            return maybe_object(event.get("response"))
    raise FormatError(_CUT_OFF)


def _joined_anthropic(events: list[Object]) -> Object:
    response: Object = {}
    usage: Object = {}
    blocks: dict[int, Object] = {}
    for event in events:
        match _kind(event):
            case "message_start":
                response = maybe_object(event.get("message"))
                usage.update(maybe_object(response.get("usage")))
            case "content_block_start":
                blocks[maybe_count(event.get("index"))] = dict(
                    maybe_object(event.get("content_block"))
                )
            case "content_block_delta":
                block = blocks.setdefault(maybe_count(event.get("index")), {})
                _grow(block, maybe_object(event.get("delta")))
            case "message_delta":
                # Null means: as reported before.
                report = maybe_object(event.get("usage"))
                usage.update({key: value for key, value in report.items() if value is not None})
            case _:
                pass
    if not response:
        raise FormatError(_CUT_OFF)
    return {**response, "content": list(map(_closed, blocks.values())), "usage": usage}


def _grow(block: Object, delta: Object) -> None:
    for key, value in delta.items():
        if key == "type":
            continue
        earlier = block.get(key)
        if isinstance(value, str) and isinstance(earlier, str):
            block[key] = earlier + value
        elif key == "citation":
            block.setdefault("citations", [])
            block["citations"] = [*maybe_list(block["citations"]), value]
        else:
            block[key] = value


def _closed(block: Object) -> Object:
    """Give a block its input, which a stream sends as pieces of JSON text."""
    if "partial_json" not in block:
        return block
    given = {key: value for key, value in block.items() if key != "partial_json"}
    return {**given, "input": object_from_json(maybe_text(block["partial_json"]))}


def _joined_chat(events: list[Object]) -> Object:
    message: Object = {"role": "assistant", "content": None}
    calls: dict[int, Object] = {}
    response: Object = {}
    for event in events:
        response |= scalars(event, ("id", "model")) | {
            key: event[key] for key in ("usage",) if event.get(key)
        }
        choices = maybe_list(event.get("choices"))
        delta = maybe_object(maybe_object(choices[0] if choices else None).get("delta"))
        for call in map(maybe_object, maybe_list(delta.get("tool_calls"))):
            _grow_call(calls.setdefault(maybe_count(call.get("index")), {"function": {}}), call)
        for key in ("content", "refusal", "reasoning_content"):
            if isinstance(delta.get(key), str):
                message[key] = maybe_text(message.get(key)) + delta[key]
    if calls:
        message["tool_calls"] = list(calls.values())
    if message == {"role": "assistant", "content": None}:
        raise FormatError(_CUT_OFF)
    return {**response, "choices": [{"message": message}]}


def _grow_call(call: Object, delta: Object) -> None:
    call |= scalars(delta, ("id", "type"))
    function = maybe_object(delta.get("function"))
    whole = call["function"]
    for key in ("name", "arguments"):
        whole[key] = maybe_text(whole.get(key)) + maybe_text(function.get(key))
