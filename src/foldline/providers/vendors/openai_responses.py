"""
OpenAI Responses.

Source: OpenAI Responses API reference. Nothing is left at the vendor unless the binding was made to
hold a history there; reasoning then travels sealed, and comes back with the next request.
"""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from foldline.errors import FormatError
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
from foldline.history.messages import Message, NativeFormat
from foldline.providers.model import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from foldline.providers.vendors.dialect import Reply, said, with_settings
from foldline.providers.vendors.tool_schemas import openai_responses_tools


__all__ = ["OpenAIResponses"]


_SEALED = "reasoning.encrypted_content"
_FINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
_TEXT = frozenset({"response.output_text.delta", "response.refusal.delta"})
_REASONING = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ARGUMENTS = frozenset(
    {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}
)
_CALLS = frozenset({"function_call", "custom_tool_call"})
_CUT_OFF = "the stream holds no whole response"


class OpenAIResponses:
    """The Responses API as one model speaks it."""

    def __init__(
        self, *, model: str, holds_history: bool = False, seals_reasoning: bool = False
    ) -> None:
        """
        Speak to *model*.

        Args:
            holds_history: Whether the vendor keeps the conversation.
            seals_reasoning: Whether the model gives its reasoning as sealed items.
        """
        self._model = model
        self._holds_history = holds_history
        self._seals_reasoning = seals_reasoning

    def body(self, request: ChatRequest, *, streamed: bool) -> Object:  # noqa: ARG002
        """Write *request*."""
        body: Object = {
            "model": self._model,
            "input": render_openai_responses(request.messages),
            "store": self._holds_history,
        }
        if request.service_thread_id is not None:
            body["previous_response_id"] = request.service_thread_id
        if request.tools:
            body["tools"] = openai_responses_tools(request.tools)
        if self._seals_reasoning:
            body["include"] = [_SEALED]
        return with_settings(body, request.settings)

    def send(
        self, client: Any, body: Object, options: Object
    ) -> AbstractAsyncContextManager[Reply]:
        """Send *body* through *client*, the SDK; leaving the context ends the request."""
        ask = client.responses.with_streaming_response.create
        # The SDK would walk through all items; what is given beside them goes out as it is.
        asked: AbstractAsyncContextManager[Reply] = ask(
            model=body["model"], extra_body=body, **options
        )
        return asked

    def reader(self) -> "_ResponsesReader":
        """Return what reads a stream."""
        return _ResponsesReader()

    def read(self, whole: Object) -> ChatResponse:
        """
        Read a whole response.

        Raises:
            FormatError: It is none.
        """
        messages = said(read_response(whole, NativeFormat.OPENAI_RESPONSES))
        own_id = maybe_text(whole.get("id")) or None
        return ChatResponse(
            messages=messages,
            usage=openai_usage(maybe_object(whole.get("usage"))),
            model=maybe_text(whole.get("model")) or None,
            id=own_id,
            finish_reason=_finish(whole, messages),
            service_thread_id=own_id if self._holds_history else None,
        )


def _finish(whole: Object, messages: tuple[Message, ...]) -> FinishReason:
    if whole.get("status") == "failed":
        return "error"
    why = maybe_object(whole.get("incomplete_details")).get("reason")
    if why is not None:
        return "content_filter" if why == "content_filter" else "length"
    return "tool_call" if any(message.tool_calls for message in messages) else "stop"


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
            raise FormatError(_CUT_OFF)
        # Some servers say it item by item and leave the last object empty.
        output = maybe_list(self._final.get("output")) or self._items
        return {**self._final, "output": output}
