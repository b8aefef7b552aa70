"""
OpenAI Responses.

Source: OpenAI Responses API reference. The vendor stores nothing unless the dialect holds a history
there; otherwise reasoning travels encrypted and is sent back with the next request.
"""

from collections.abc import Iterator
from typing import Any

from foldline.history.formats.fields import (
    Object,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_text,
)
from foldline.history.formats.renderings import render_openai_responses
from foldline.history.formats.responses import read_response
from foldline.history.formats.usage import openai_usage
from foldline.history.messages import Message, NativeFormat, Usage
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
    Dialect,
    StreamReader,
    cut_off,
    described,
    is_strict,
)


__all__ = ["OpenAIResponses"]


_SEALED = "reasoning.encrypted_content"
_FINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
_TEXT = frozenset({"response.output_text.delta", "response.refusal.delta"})
_REASONING = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ARGUMENTS = frozenset(
    {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}
)
_CALLS = frozenset({"function_call", "custom_tool_call"})


class OpenAIResponses(Dialect):
    """The Responses API as one model speaks it."""

    _endpoint = "responses"

    def __init__(
        self, name: str, *, model: str, holds_history: bool = False, seals_reasoning: bool = False
    ) -> None:
        """Speak to *model*, which may return its reasoning encrypted; errors use *name*."""
        super().__init__(name, model=model)
        self._holds_history = holds_history
        self._seals_reasoning = seals_reasoning

    def _written(self, request: ChatRequest, streamed: bool) -> Object:  # noqa: ARG002, FBT001
        body: Object = {
            "input": render_openai_responses(request.messages),
            "store": self._holds_history,
        }
        if request.service_thread_id is not None:
            body["previous_response_id"] = request.service_thread_id
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        if self._seals_reasoning:
            body["include"] = [_SEALED]
        return body

    def reader(self) -> StreamReader:
        """Return what reads a stream."""
        return _ResponsesReader()

    def _messages(self, whole: Object) -> tuple[Message, ...]:
        return read_response(whole, NativeFormat.OPENAI_RESPONSES)

    def _usage(self, counts: Object) -> Usage | None:
        return openai_usage(counts)

    def _finish(self, whole: Object) -> FinishReason:
        if whole.get("status") == "failed":
            return "error"
        why = maybe_object(whole.get("incomplete_details")).get("reason")
        if why is not None:
            return "content_filter" if why == "content_filter" else "length"
        return "stop"

    def _thread(self, whole: Object) -> str | None:
        return (maybe_text(whole.get("id")) or None) if self._holds_history else None


def _tool(tool: ToolDefinition) -> Object:
    # A schema is strict here unless it says that it is not.
    return {
        "type": "function",
        **described(tool),
        "parameters": dict(tool.parameters),
        "strict": is_strict(tool.parameters),
    }


class _ResponsesReader:
    def __init__(self) -> None:
        self._final: Object | None = None
        self._items: list[Any] = []
        self._calls: dict[int, int] = {}

    def deltas(self, event: Object) -> Iterator[ChatDelta]:
        kind, piece = maybe_text(event.get("type")), maybe_text(event.get("delta"))
        place = maybe_count(event.get("output_index"))
        item = maybe_object(event.get("item"))
        if kind in _TEXT:
            yield TextDelta(piece)
        elif kind in _REASONING:
            yield ReasoningDelta(piece)
        elif kind in _ARGUMENTS and place in self._calls:
            yield ToolCallDelta(index=self._calls[place], arguments=piece)
        elif kind == "response.reasoning_summary_part.added" and event.get("summary_index"):
            yield ReasoningDelta("\n")
        elif kind == "response.output_item.added" and item.get("type") in _CALLS:
            index = self._calls[place] = len(self._calls)
            own_id, name = maybe_text(item.get("call_id")), maybe_text(item.get("name"))
            yield ToolCallDelta(index=index, id=own_id, name=name)
        elif kind == "response.output_item.done":
            self._items.append(item)
        elif kind in _FINAL:
            self._final = maybe_object(event.get("response"))

    def whole(self) -> Object:
        if not self._final:
            raise cut_off()
        # Some servers say it item by item and leave the last object empty.
        output = maybe_list(self._final.get("output")) or self._items
        return {**self._final, "output": output}
