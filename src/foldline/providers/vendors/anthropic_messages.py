"""
Anthropic Messages.

Source: Anthropic Messages API reference. The prompt is cached up to the last message of each
request, so the next request reads all of it from the cache. The setting `betas` is a list of names;
it is sent as a header.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Any

from foldline.history.formats.renderings import render_anthropic
from foldline.history.formats.responses import anthropic_usage, joined_events
from foldline.history.formats.wire import (
    Object,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_text,
)
from foldline.history.messages import NativeFormat
from foldline.providers.model import (
    ChatDelta,
    ChatRequest,
    ReasoningDelta,
    TextDelta,
)
from foldline.providers.vendors.vendor_model import StreamReader, WireModel, described


__all__ = ["DEFAULT_MAX_TOKENS", "AnthropicMessages"]


DEFAULT_MAX_TOKENS = 8192
"""How many tokens a model may write by default; the vendor requires a number."""

_BETAS = "betas"
_BETA_HEADER = "anthropic-beta"
_MARK = "cache_control"
_EPHEMERAL: Mapping[str, str] = MappingProxyType({"type": "ephemeral"})


class _MessageReader(StreamReader):
    def __init__(self) -> None:
        super().__init__()
        self._events: list[Object] = []
        self._end: Object = {}
        self._is_ended = False

    def deltas(self, event: Object) -> Iterator[ChatDelta]:
        kind, place = event.get("type"), maybe_count(event.get("index"))
        self._events.append(event)
        if kind == "content_block_start":
            block = maybe_object(event.get("content_block"))
            if block.get("type") == "tool_use":
                yield self._started(place, block.get("id"), block.get("name"))
            elif text := maybe_text(block.get("text")):
                yield TextDelta(text)
        elif kind == "content_block_delta":
            yield from self._piece(maybe_object(event.get("delta")), place)
        elif kind == "message_delta":
            self._end |= maybe_object(event.get("delta"))
        elif kind == "message_stop":
            self._is_ended = True

    def _piece(self, delta: Object, place: int) -> Iterator[ChatDelta]:
        match delta:
            case {"type": "text_delta", "text": str() as text}:
                yield TextDelta(text)
            case {"type": "thinking_delta", "thinking": str() as text}:
                yield ReasoningDelta(text)
            case {"type": "input_json_delta", "partial_json": str() as text}:
                yield from self._grown(place, text)
            case _:
                pass

    def whole(self) -> Object | None:
        if not self._is_ended:
            return None
        return joined_events(self._events, NativeFormat.ANTHROPIC) | self._end


class AnthropicMessages(WireModel):
    """The Messages API as one model speaks it."""

    _endpoint = "messages"
    _required = ("model", "max_tokens", "messages")
    _format = NativeFormat.ANTHROPIC
    _reader = _MessageReader
    _usage = staticmethod(anthropic_usage)

    def _written(self, request: ChatRequest, streamed: bool) -> Object:  # noqa: ARG002, FBT001
        view = render_anthropic(request.messages)
        # What a model may think counts as written.
        thinking = maybe_object(request.settings.get("thinking"))
        limit = DEFAULT_MAX_TOKENS + maybe_count(thinking.get("budget_tokens"))
        body: Object = {"max_tokens": limit}
        if view.system:
            body["system"] = view.system
        body["messages"] = view.messages
        if request.tools:
            body["tools"] = [
                described(tool) | {"input_schema": dict(tool.parameters)} for tool in request.tools
            ]
        # The caller's own marks are left alone: the vendor takes only a few.
        if self._caches_prompt and not _has_marks(view.system, view.messages):
            body |= self._marked(view.system, view.messages)
        return body

    def _marked(self, system: list[Object], messages: list[Object]) -> Object:
        if self._profile.get("supports_auto_cache", True):
            return {_MARK: dict(_EPHEMERAL)}
        # A server that does not support the field of the request is asked inside the messages.
        last = messages[-1]
        content = last["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        marked: Object = {"messages": [*messages[:-1], {**last, "content": _mark_last(blocks)}]}
        return marked | ({"system": _mark_last(system)} if system else {})

    def _send(self, client: Any, body: Object, options: Object) -> AbstractAsyncContextManager[Any]:
        sent = {key: value for key, value in body.items() if key != _BETAS}
        if body.get(_BETAS):
            headers = {_BETA_HEADER: ",".join(body[_BETAS]), **options.get("extra_headers", {})}
            options = {**options, "extra_headers": headers}
        return super()._send(client, sent, options)

    def _stopped(self, whole: Object) -> str:
        return maybe_text(whole.get("stop_reason"))


def _has_marks(system: list[Object], messages: list[Object]) -> bool:
    blocks = [*system, *(block for item in messages for block in maybe_list(item.get("content")))]
    return any(maybe_object(block).get(_MARK) is not None for block in blocks)


def _mark_last(blocks: list[Object]) -> list[Object]:
    return [*blocks[:-1], {**blocks[-1], _MARK: dict(_EPHEMERAL)}]
