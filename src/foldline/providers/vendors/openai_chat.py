"""
OpenAI Chat Completions, the format of most vendors.

Source: OpenAI Chat Completions API reference; the fields `reasoning_content` (DeepSeek and others),
`reasoning` and `reasoning_details` (OpenRouter, Ollama, vLLM) of compatible vendors. Reasoning is
sent back in the field in which it came.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from foldline.history.formats.fields import (
    Object,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_text,
)
from foldline.history.formats.renderings import render_openai_chat
from foldline.history.formats.responses import read_response
from foldline.history.formats.usage import openai_usage
from foldline.history.formats.wire import json_text
from foldline.history.messages import Message, Native, NativeFormat, Usage
from foldline.providers.model import (
    ChatDelta,
    ChatRequest,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolDefinition,
)
from foldline.providers.vendors.dialect import (
    END,
    Dialect,
    StreamReader,
    cut_off,
    described,
    is_strict,
)


__all__ = ["OpenAIChat"]


_FINISHES: Mapping[str, FinishReason] = MappingProxyType(
    {
        "stop": "stop",
        "length": "length",
        "tool_calls": "tool_call",
        "function_call": "tool_call",
        "content_filter": "content_filter",
        "error": "error",
    }
)
_REASONING = ("reasoning_content", "reasoning")
_TEXTS = ("content", "refusal", *_REASONING)
_SENT_BACK = ("role", *_TEXTS, "reasoning_details", "tool_calls")
_GROWING = frozenset({"text", "summary", "data", "signature"})


class OpenAIChat(Dialect):
    """Chat Completions as one model speaks it."""

    _endpoint = "chat.completions"
    _required = ("model", "messages")

    def __init__(self, name: str, *, model: str, strict_tools: bool = True) -> None:
        """Speak to *model*, which may support strict schemas; errors use *name*."""
        super().__init__(name, model=model)
        self._strict_tools = strict_tools

    def _written(self, request: ChatRequest, streamed: bool) -> Object:  # noqa: FBT001
        self._refuse_thread(request)
        body: Object = {"messages": render_openai_chat(request.messages)}
        if request.tools:
            body["tools"] = [
                {"type": "function", "function": self._function(tool)} for tool in request.tools
            ]
        if streamed:
            body["stream_options"] = {"include_usage": True}
        return body

    def _function(self, tool: ToolDefinition) -> Object:
        function = described(tool) | {"parameters": dict(tool.parameters)}
        is_promised = self._strict_tools and is_strict(tool.parameters)
        return function | ({"strict": True} if is_promised else {})

    def reader(self) -> StreamReader:
        """Return what reads a stream."""
        return _ChatReader()

    def _messages(self, whole: Object) -> tuple[Message, ...]:
        given = maybe_object(_choice(whole).get("message"))
        messages = read_response(_readable(whole, given), NativeFormat.OPENAI_CHAT)
        return tuple(_with_reasoning(message, given) for message in messages)

    def _usage(self, counts: Object) -> Usage | None:
        return openai_usage(counts)

    def _finish(self, whole: Object) -> FinishReason:
        return _FINISHES.get(maybe_text(_choice(whole).get("finish_reason")), "stop")


def _choice(event: Object) -> Object:
    choices = maybe_list(event.get("choices"))
    return maybe_object(choices[0] if choices else None)


def _readable(whole: Object, given: Object) -> Object:
    """Return *whole* with the reasoning of its message in the one field that is read."""
    if not given:
        return whole
    thought = {"reasoning_content": _reasoning(given)} if _reasoning(given) else {}
    return {**whole, "choices": [{"message": {**given, **thought}}]}


def _reasoning(given: Object) -> str:
    return next(filter(None, (maybe_text(given.get(key)) for key in _REASONING)), "")


def _with_reasoning(message: Message, given: Object) -> Message:
    """Keep the item itself if its reasoning came in a field that the parts do not write."""
    if not given.get("reasoning") and not given.get("reasoning_details"):
        return message
    item = {
        key: given.get(key) for key in _SENT_BACK if key == "content" or given.get(key) is not None
    }
    return replace(message, native=Native(format=NativeFormat.OPENAI_CHAT, item=json_text(item)))


class _ChatReader:
    def __init__(self) -> None:
        self._response: Object = {}
        self._said: dict[str, list[str]] = {}
        self._calls: list[dict[str, list[str]]] = []
        self._slots: dict[int, int] = {}
        self._details: list[Object] = []
        self._finish: str | None = None
        self._is_ended = False

    def deltas(self, event: Object) -> Iterator[ChatDelta]:
        if event.get("type") == END:
            self._is_ended = True
            return
        self._response |= {key: event[key] for key in ("id", "model", "usage") if event.get(key)}
        choice = _choice(event)
        self._finish = maybe_text(choice.get("finish_reason")) or self._finish
        delta = maybe_object(choice.get("delta"))
        for key in _TEXTS:
            if isinstance(delta.get(key), str) and (delta[key] or key == "content"):
                self._said.setdefault(key, []).append(delta[key])
        if thought := _reasoning(delta):
            yield ReasoningDelta(thought)
        for key in ("content", "refusal"):
            if piece := maybe_text(delta.get(key)):
                yield TextDelta(piece)
        for call in map(maybe_object, maybe_list(delta.get("tool_calls"))):
            yield self._call(call)
        for detail in map(maybe_object, maybe_list(delta.get("reasoning_details"))):
            self._detail(detail)

    def _call(self, delta: Object) -> ToolCallDelta:
        own_id, function = maybe_text(delta.get("id")), maybe_object(delta.get("function"))
        name, arguments = maybe_text(function.get("name")), maybe_text(function.get("arguments"))
        slot = self._slot(maybe_count(delta.get("index")), own_id)
        call = self._calls[slot]
        if own_id in call["id"]:
            own_id = ""
        for key, piece in (("id", own_id), ("name", name), ("arguments", arguments)):
            call[key] += [piece] if piece else []
        return ToolCallDelta(index=slot, id=own_id, name=name, arguments=arguments)

    def _slot(self, index: int, own_id: str) -> int:
        """Return the place of a call; some vendors number no calls, or all the same."""
        slot = self._slots.get(index)
        if slot is None or (own_id and self._calls[slot]["id"] not in ([], [own_id])):
            slot = self._slots[index] = len(self._calls)
            self._calls.append({"id": [], "name": [], "arguments": []})
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
        if self._finish is None and not self._is_ended:
            raise cut_off()
        message: Object = {"role": "assistant", "content": None}
        message |= {key: "".join(pieces) for key, pieces in self._said.items()}
        if self._details:
            message["reasoning_details"] = self._details
        if self._calls:
            joined = [{key: "".join(call[key]) for key in call} for call in self._calls]
            message["tool_calls"] = [
                {"id": call.pop("id"), "type": "function", "function": call} for call in joined
            ]
        choice = {"message": message, "finish_reason": self._finish}
        return {**self._response, "choices": [choice]}
