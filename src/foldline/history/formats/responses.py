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
from foldline.history.formats.openai_chat import chat_message, thought_in
from foldline.history.formats.openai_responses import from_openai_responses
from foldline.history.formats.wire import (
    Object,
    as_list,
    as_object,
    is_list,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_text,
    object_from_json,
    scalars,
)
from foldline.history.messages import Message, NativeFormat, Usage


REASONING = ("reasoning_content", "reasoning")
"""The fields of Chat Completions that vendors write reasoning in."""

THOUGHTS = "thinking"
"""The field of a delta in which `ChatStream` gives what a model of Mistral thinks: a block of its content."""

_TEXTS = ("content", "refusal", *REASONING, THOUGHTS)
_UNSAID: Object = {"role": "assistant", "content": None}
_GROWING = frozenset({"text", "summary", "data", "signature"})
_ARGUMENTS = {"function": "arguments", "custom": "input"}
_CUT_OFF = "the stream holds no whole response"
_COMPACTED = "response.compaction"
_COMPACTIONS = frozenset({"compaction", "compaction_summary"})
_FINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})


def read_response(response: Any, native: NativeFormat) -> tuple[Message, ...]:
    """Read what a vendor answered in the format *native*; FormatError if it is no answer."""
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
    """Return the response that a stream gives in pieces; FormatError if *text* is none."""
    return joined_events(list(_events(text)), native)


def joined_events(events: list[Object], native: NativeFormat) -> Object:
    """Return the response that *events* give in pieces; FormatError if they give no whole one."""
    match native:
        case NativeFormat.ANTHROPIC:
            return _joined_anthropic(events)
        case NativeFormat.OPENAI_RESPONSES:
            return _joined_responses(events)
        case _:
            stream = ChatStream()
            for event in events:
                stream.take(event)
            whole = stream.whole()
            if first_choice(whole)["message"] == _UNSAID:
                raise FormatError(_CUT_OFF)
            return whole


def _events(text: str) -> Iterator[Object]:
    # Lines end as the standard of server-sent events says; a string may hold other separators.
    for line in re.split(r"\r\n|\n|\r", text):
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            yield as_object(decode_json(data), "the event")


def _joined_responses(events: list[Object]) -> Object:
    items: list[Any] = []
    for event in events:
        kind = _kind(event)
        if kind == "response.output_item.done":
            items.append(maybe_object(event.get("item")))
        elif kind in _FINAL:
            response = maybe_object(event.get("response"))
            # Some servers say it item by item and leave the last object empty.
            output = maybe_list(response.get("output")) or items
            return {**response, "output": output} if response else response
    raise FormatError(_CUT_OFF)


def _joined_anthropic(events: list[Object]) -> Object:
    response: Object = {}
    end: Object = {}
    usage: Object = {}
    # For each block what came of each of its fields, to be joined once.
    blocks: dict[int, dict[str, list[Any]]] = {}
    for event in events:
        kind = _kind(event)
        if kind == "message_start":
            response = maybe_object(event.get("message"))
            usage.update(maybe_object(response.get("usage")))
        elif kind == "content_block_start":
            start = maybe_object(event.get("content_block"))
            blocks[maybe_count(event.get("index"))] = {key: [start[key]] for key in start}
        elif kind == "content_block_delta":
            block = blocks.setdefault(maybe_count(event.get("index")), {})
            _grow(block, maybe_object(event.get("delta")))
        elif kind == "message_delta":
            end.update(maybe_object(event.get("delta")))
            # Null means: as reported before.
            report = maybe_object(event.get("usage"))
            usage.update({key: value for key, value in report.items() if value is not None})
    if not response:
        raise FormatError(_CUT_OFF)
    content = list(map(_whole_block, blocks.values()))
    return {**response, "content": content, "usage": usage, **end}


def _grow(pieces: dict[str, list[Any]], delta: Object) -> None:
    for key, value in delta.items():
        if key != "type":
            pieces.setdefault(key, []).append(value)


def _whole_block(pieces: dict[str, list[Any]]) -> Object:
    block: Object = {}
    for key, values in pieces.items():
        if key == "citation":
            block["citations"] = [*maybe_list(block.get("citations")), *values]
        elif key == "partial_json":
            block["input"] = object_from_json("".join(map(maybe_text, values)))
        else:
            is_text = isinstance(values[-1], str)
            block[key] = "".join(map(maybe_text, values)) if is_text else values[-1]
    return block


class ChatStream:
    """What the events of one stream of Chat Completions say, put together as they come."""

    def __init__(self) -> None:
        self._response: Object = {}
        self._said: dict[str, list[str]] = {}
        self._calls: list[dict[str, list[str]]] = []
        self._slots: dict[int, int] = {}
        self._details: list[Object] = []
        self.finish = ""
        """Why the model stopped; empty until it says so."""

    def take(self, event: Object) -> tuple[Object, list[tuple[int, str, str, str]]]:
        """Take *event* in, and return its delta; of each call in it the place, id, name and arguments."""
        self._response |= {key: event[key] for key in ("id", "model", "usage") if event.get(key)}
        choice = first_choice(event)
        self.finish = maybe_text(choice.get("finish_reason")) or self.finish
        delta = _in_fields(maybe_object(choice.get("delta")))
        for key in _TEXTS:
            if isinstance(delta.get(key), str) and (delta[key] or key == "content"):
                self._said.setdefault(key, []).append(delta[key])
        for detail in map(maybe_object, maybe_list(delta.get("reasoning_details"))):
            self._detail(detail)
        calls = map(maybe_object, maybe_list(delta.get("tool_calls")))
        return delta, [self._call(one) for one in calls]

    def _call(self, delta: Object) -> tuple[int, str, str, str]:
        own_id, kind = maybe_text(delta.get("id")), "custom" if "custom" in delta else "function"
        said = maybe_object(delta.get(kind))
        name, arguments = maybe_text(said.get("name")), maybe_text(said.get(_ARGUMENTS[kind]))
        slot = self._slot(maybe_count(delta.get("index")), own_id)
        call = self._calls[slot]
        # Some vendors repeat both in each piece.
        own_id = "" if own_id in call["id"] else own_id
        name = "" if name in call["name"] else name
        for key, piece in (("id", own_id), ("name", name), ("arguments", arguments)):
            call[key] += [piece] if piece else []
        call["type"] = [kind] if said else call["type"]
        return slot, own_id, name, arguments

    def _slot(self, index: int, own_id: str) -> int:
        """Return the place of a call; some vendors number no calls, or all the same."""
        slot = self._slots.get(index)
        if slot is None or (own_id and self._calls[slot]["id"] not in ([], [own_id])):
            slot = self._slots[index] = len(self._calls)
            self._calls.append({"id": [], "type": ["function"], "name": [], "arguments": []})
        return slot

    def _detail(self, delta: Object) -> None:
        last = self._details[-1] if self._details else {}
        if any(last.get(key) != delta.get(key) for key in ("type", "index")):
            self._details.append(dict(delta))
            return
        for key, value in delta.items():
            earlier = last.get(key)
            if key in _GROWING and isinstance(value, str) and isinstance(earlier, str):
                last[key] = earlier + value
            elif value is not None:
                last[key] = value

    def whole(self) -> Object:
        """Return what the vendor would have sent without streaming."""
        message = _UNSAID | {key: "".join(pieces) for key, pieces in self._said.items()}
        if thought := message.pop(THOUGHTS, ""):
            said = [{"type": "text", "text": message["content"]}] if message["content"] else []
            block = {"type": THOUGHTS, THOUGHTS: [{"type": "text", "text": thought}]}
            message["content"] = [block, *said]
        if self._details:
            message["reasoning_details"] = self._details
        if self._calls:
            message["tool_calls"] = list(map(_whole_call, self._calls))
        choice = {"message": message, "finish_reason": self.finish or None}
        return {**self._response, "choices": [choice]}


def _in_fields(delta: Object) -> Object:
    """Return *delta* with the blocks of its content, as Mistral writes them, in fields of their own."""
    blocks = delta.get("content")
    if not is_list(blocks):
        return delta
    thought, said = "", ""
    for block in map(maybe_object, blocks):
        said += maybe_text(block.get("text"))
        thought += thought_in(block)
    return {**delta, "content": said, THOUGHTS: thought}


def _whole_call(pieces: dict[str, list[str]]) -> Object:
    own_id, kind, name, arguments = map("".join, pieces.values())
    return {"id": own_id, "type": kind, kind: {"name": name, _ARGUMENTS[kind]: arguments}}


def first_choice(fields: Object) -> Object:
    """Return the first of the choices that an answer or an event has in *fields*, or an empty one."""
    choices = maybe_list(fields.get("choices"))
    return maybe_object(choices[0] if choices else None)


# Vendors disagree on what the input count covers: Anthropic's leaves out what the cache served. Here
# it is always included.


def openai_usage(report: Object) -> Usage | None:
    """Return the counts of an OpenAI *report*, of either API; None without any."""
    read = report.get("prompt_tokens_details") or report.get("input_tokens_details")
    written = report.get("completion_tokens_details") or report.get("output_tokens_details")
    return usage_or_none(
        input_tokens=report.get("prompt_tokens", report.get("input_tokens")),
        output_tokens=report.get("completion_tokens", report.get("output_tokens")),
        cache_read_tokens=maybe_object(read).get("cached_tokens"),
        cache_write_tokens=maybe_object(read).get("cache_write_tokens"),
        reasoning_tokens=maybe_object(written).get("reasoning_tokens"),
    )


def anthropic_usage(report: Object) -> Usage | None:
    """Return the counts of an Anthropic *report*, of a compaction those apart; None without any."""
    if not maybe_count(report.get("input_tokens")) + maybe_count(report.get("output_tokens")):
        apart = map(maybe_object, maybe_list(report.get("iterations")))
        report = next((one for one in apart if one.get("type") == "compaction"), report)
    written = maybe_object(report.get("output_tokens_details"))
    return usage_apart(
        fresh=report.get("input_tokens"),
        read=report.get("cache_read_input_tokens"),
        written=report.get("cache_creation_input_tokens"),
        output=report.get("output_tokens"),
        reasoning=written.get("thinking_tokens"),
    )


def gemini_usage(report: Object) -> Usage | None:
    """Return the counts of a Gemini *report*, in the spelling of its SDK; None without any."""
    thought = maybe_count(report.get("thoughts_token_count"))
    tools = maybe_count(report.get("tool_use_prompt_token_count"))
    return usage_or_none(
        input_tokens=maybe_count(report.get("prompt_token_count")) + tools,
        output_tokens=maybe_count(report.get("candidates_token_count")) + thought,
        cache_read_tokens=report.get("cached_content_token_count"),
        reasoning_tokens=thought,
    )


def converse_usage(report: Object) -> Usage | None:
    """Return the counts of a Converse *report*; None without any."""
    return usage_apart(
        fresh=report.get("inputTokens"),
        read=report.get("cacheReadInputTokens"),
        written=report.get("cacheWriteInputTokens"),
        output=report.get("outputTokens"),
    )


def usage_apart(
    *, fresh: Any, read: Any, written: Any, output: Any, reasoning: Any = 0
) -> Usage | None:
    """Return the counts of a vendor that counts *fresh* input apart from that of the cache; None without any."""
    cache_read, cache_write = maybe_count(read), maybe_count(written)
    return usage_or_none(
        input_tokens=maybe_count(fresh) + cache_read + cache_write,
        output_tokens=output,
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
        reasoning_tokens=reasoning,
    )


def usage_or_none(**reported: Any) -> Usage | None:
    """Return what of *reported* is a count as a usage; None without any: the call reported nothing."""
    counts = {name: maybe_count(value) for name, value in reported.items()}
    return Usage(**counts) if any(counts.values()) else None
