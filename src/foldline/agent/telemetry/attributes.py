"""What spans and metrics say, as values of the conventions."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from msgspec import structs

from foldline.agent.events import RunCompletedEvent, TurnFinishedEvent, TurnStartedEvent
from foldline.agent.telemetry.names import (
    AGENT_NAME,
    CACHE_READ_TOKENS,
    CACHE_WRITE_TOKENS,
    COMPACTED,
    CONVERSATION_ID,
    FINISH_REASONS,
    FOLD_REASON,
    FOLD_STATUS,
    FOLD_STRATEGY,
    INPUT_TOKENS,
    OPERATION_NAME,
    OUTPUT_TOKENS,
    PROVIDER_NAME,
    REASONING_TOKENS,
    REQUEST_MODEL,
    REQUEST_STREAM,
    RESPONSE_ID,
    RESPONSE_MODEL,
    TOOL_CALL_ID,
    TOOL_DESCRIPTION,
    TOOL_NAME,
    TOOL_TYPE,
)
from foldline.errors import FoldlineError
from foldline.history.codec import encode_json
from foldline.history.formats.otel import to_otel
from foldline.history.messages import Message, Usage
from foldline.history.parts import ResponseContent
from foldline.providers.model import ChatResponse
from foldline.reduction.event import HistoryReductionEvent


__all__ = [
    "FOLD",
    "OTHER",
    "TOOL_ERROR",
    "Attributes",
    "Value",
    "answer_content",
    "chat_attributes",
    "content_of",
    "error_type",
    "fold_attributes",
    "in_force",
    "invocation_attributes",
    "model_attributes",
    "output_of",
    "response_attributes",
    "saved_tokens",
    "sendable",
    "tool_attributes",
    "turn_attributes",
]


Value: TypeAlias = str | bool | int | float | tuple[str, ...]
"""The value of an attribute."""

Attributes: TypeAlias = dict[str, Value]
"""Attributes by name."""

FOLD = "compact_history"
"""The span of a fold, and its operation."""

TOOL_ERROR = "tool_error"
"""The kind of error of a tool that answered with one."""

OTHER = "_OTHER"
"""What stands for a kind that nobody knows."""

# Vendors whose name here is not the one of the conventions.
_PROVIDERS: Mapping[str, str] = MappingProxyType(
    {
        "azure": "azure.ai.openai",
        "azure-responses": "azure.ai.openai",
        "bedrock": "aws.bedrock",
        "google": "gcp.gemini",
        "google-gla": "gcp.gemini",
        "google-vertex": "gcp.vertex_ai",
        "grok": "x_ai",
        "mistral": "mistral_ai",
        "moonshotai": "moonshot_ai",
        "openai-chat": "openai",
        "openai-responses": "openai",
        "xai": "x_ai",
    }
)
_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "frequency_penalty": "gen_ai.request.frequency_penalty",
        "max_completion_tokens": "gen_ai.request.max_tokens",
        "max_output_tokens": "gen_ai.request.max_tokens",
        "max_tokens": "gen_ai.request.max_tokens",
        "presence_penalty": "gen_ai.request.presence_penalty",
        "seed": "gen_ai.request.seed",
        "temperature": "gen_ai.request.temperature",
        "top_k": "gen_ai.request.top_k",
        "top_p": "gen_ai.request.top_p",
    }
)


def model_attributes(name: str) -> Attributes:
    """Return the provider and the model of *name*, as in `openai:gpt-5-mini`."""
    vendor, colon, model = name.partition(":")
    if not colon:
        return {PROVIDER_NAME: OTHER, REQUEST_MODEL: name}
    return {PROVIDER_NAME: _PROVIDERS.get(vendor, vendor), REQUEST_MODEL: model}


def invocation_attributes(agent: str, thread_id: str) -> Attributes:
    """Return what is known of a turn before it begins."""
    return {OPERATION_NAME: "invoke_agent", AGENT_NAME: agent, CONVERSATION_ID: thread_id}


def tool_attributes(name: str, call_id: str, description: str = "") -> Attributes:
    """Return what is known of one run of a tool before it begins."""
    found: Attributes = {
        OPERATION_NAME: "execute_tool",
        TOOL_NAME: name,
        TOOL_CALL_ID: call_id,
        TOOL_TYPE: "function",
    }
    if description:
        found[TOOL_DESCRIPTION] = description
    return found


def chat_attributes(
    model: str,
    *,
    streams: bool = False,
    is_compacted: bool = False,
    settings: Mapping[str, object] | None = None,
) -> Attributes:
    """
    Return what is known of a model call before it is made.

    Args:
        model: The name of the model.
        streams: Whether it says what it says as it goes.
        is_compacted: Whether what it is sent stands for a longer history.
        settings: What the request says besides.
    """
    found = {OPERATION_NAME: "chat"} | model_attributes(model) | _setting_attributes(settings or {})
    # Neither is ever set to false, as the conventions have it.
    if streams:
        found[REQUEST_STREAM] = True
    if is_compacted:
        found[COMPACTED] = True
    return found


def _setting_attributes(settings: Mapping[str, object]) -> Attributes:
    return {
        name: value
        for key, name in _SETTINGS.items()
        if isinstance(value := settings.get(key), int | float)
    }


def response_attributes(response: ChatResponse) -> Attributes:
    """Return what *response* is, and none of what it says."""
    found: Attributes = {FINISH_REASONS: (response.finish_reason,)}
    if response.model is not None:
        found[RESPONSE_MODEL] = response.model
    if response.id is not None:
        found[RESPONSE_ID] = response.id
    return found | _usage_attributes(response.usage)


def turn_attributes(event: TurnStartedEvent | TurnFinishedEvent | RunCompletedEvent) -> Attributes:
    """Return what *event* tells of its turn."""
    match event:
        case TurnStartedEvent():
            return {"foldline.run.id": event.run_id, "foldline.run.start": event.start}
        case TurnFinishedEvent():
            return {
                "foldline.run.termination_reason": event.termination_reason,
                "foldline.run.iterations": event.iterations,
            }
        case RunCompletedEvent():
            return _usage_attributes(event.usage)


def _usage_attributes(usage: Usage | None) -> Attributes:
    if usage is None:
        return {}
    return {
        INPUT_TOKENS: usage.input_tokens,
        OUTPUT_TOKENS: usage.output_tokens,
        CACHE_READ_TOKENS: usage.cache_read_tokens,
        CACHE_WRITE_TOKENS: usage.cache_write_tokens,
        REASONING_TOKENS: usage.reasoning_tokens,
    }


def fold_attributes(event: HistoryReductionEvent, *, with_content: bool) -> Attributes:
    """
    Return what came of a fold.

    Args:
        event: What was told of it.
        with_content: Whether texts of the conversation are among it.
    """
    found: Attributes = {
        FOLD_STATUS: event.status,
        FOLD_REASON: event.reason.name.lower(),
        FOLD_STRATEGY: event.strategy,
        "foldline.fold.counting_unit": event.counting_unit,
        "foldline.fold.units": event.units,
        "foldline.fold.messages.before": event.original_count,
        "foldline.fold.messages.after": event.reduced_count,
        "foldline.fold.messages.removed": event.removed_count,
        "foldline.fold.tokens.before": event.original_tokens,
        "foldline.fold.tokens.after": event.reduced_tokens,
        "foldline.fold.summarizer.calls": event.summarizer_calls,
        "foldline.fold.summarizer.tokens": event.summarizer_tokens,
        # What is wrong with a text may name what is in it, so they are counted only.
        "foldline.fold.failures": len(event.failures),
    }
    if event.summarizer is not None:
        found["foldline.fold.summarizer.name"] = event.summarizer
    if with_content and event.summary is not None:
        found["foldline.fold.summary"] = sendable(event.summary)
    return found


def in_force(event: HistoryReductionEvent | None) -> bool:
    """Whether the view that *event* tells of stands for a longer history."""
    return event is not None and event.removed_count > 0


def saved_tokens(event: HistoryReductionEvent) -> int:
    """Return how many tokens the view is shorter than the history, by estimate."""
    return max(0, event.original_tokens - event.reduced_tokens)


def error_type(error: BaseException) -> str:
    """Return the kind of *error*: its code where it is ours, or else the name of its class."""
    if isinstance(error, FoldlineError):
        return error.code
    kind = type(error)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def content_of(messages: Iterable[Message]) -> str:
    """Return *messages* as JSON, as the conventions write them."""
    return _json(to_otel(_bare(messages)))


def output_of(response: ChatResponse) -> str:
    """Return what *response* says as JSON, as the conventions write it."""
    said = to_otel(_bare(response.messages))
    return _json([{**item, "finish_reason": response.finish_reason} for item in said])


def _bare(messages: Iterable[Message]) -> list[Message]:
    # Without the vendors' own items, every message is written from its parts alone.
    return [structs.replace(message, native=None) for message in messages]


def answer_content(content: str | tuple[ResponseContent, ...]) -> str:
    """Return the answer of a tool as text, or as JSON where it is more than text."""
    return sendable(content) if isinstance(content, str) else _json(content)


def sendable(text: str) -> str:
    """Return *text* without halves of surrogate pairs, which no exporter can write."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _json(value: object) -> str:
    return encode_json(value).decode("utf-8")
