"""
What spans and metrics say, in the words of the OpenTelemetry GenAI semantic conventions.

Source of `gen_ai.*`: repository `open-telemetry/semantic-conventions-genai`, pages
`client-inference`, `gen-ai-agent-spans`, `execute-tool`, `gen-ai-metrics` and the attribute
registry, as of September 2026 (all in status Development). The package of constants lacks the newest
names and marks the others as moved, so they are written out here. What the conventions have no name
for is under `foldline.`.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import structs

from foldline.errors import FoldlineError
from foldline.history.codec import encode_json
from foldline.history.formats.otel import to_otel
from foldline.history.messages import Message, Usage
from foldline.history.parts import ResponseContent
from foldline.providers.model import ChatResponse
from foldline.reduction.event import HistoryReductionEvent


Attributes: TypeAlias = dict[str, str | bool | int | float | tuple[str, ...]]
"""Attributes by name."""

CONVERSATION_ID: Final = "gen_ai.conversation.id"
"""The thread."""
ERROR_TYPE: Final = "error.type"
"""The kind of an error."""
OPERATION: Final = "gen_ai.operation.name"
"""The kind of work."""
REQUEST_MODEL: Final = "gen_ai.request.model"
"""The model that was asked."""
RESPONSE_MODEL: Final = "gen_ai.response.model"
"""The model that answered."""
_PROVIDER = "gen_ai.provider.name"
# Vendors that the conventions name differently.
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
        "frequency_penalty": "frequency_penalty",
        "max_completion_tokens": "max_tokens",
        "max_output_tokens": "max_tokens",
        "max_tokens": "max_tokens",
        "presence_penalty": "presence_penalty",
        "seed": "seed",
        "temperature": "temperature",
        "top_k": "top_k",
        "top_p": "top_p",
    }
)


def model_attributes(name: str) -> Attributes:
    """Return the provider and the model of *name*, such as `openai:gpt-5-mini`."""
    vendor, colon, model = name.partition(":")
    if not colon:
        return {_PROVIDER: "_OTHER", REQUEST_MODEL: name}
    return {_PROVIDER: _PROVIDERS.get(vendor, vendor), REQUEST_MODEL: model}


def request_attributes(
    settings: Mapping[str, object], *, streams: bool, is_compacted: bool
) -> Attributes:
    """Return what is known of a model call before it is made, apart from the model."""
    found: Attributes = {
        f"gen_ai.request.{name}": value
        for key, name in _SETTINGS.items()
        if isinstance(value := settings.get(key), int | float)
    }
    # The conventions never set either of these to false.
    if streams:
        found["gen_ai.request.stream"] = True
    if is_compacted:
        found["gen_ai.conversation.compacted"] = True
    return found


def response_attributes(response: ChatResponse) -> Attributes:
    """Return the facts about *response*, without its content."""
    found: Attributes = {"gen_ai.response.finish_reasons": (response.finish_reason,)}
    if response.model is not None:
        found[RESPONSE_MODEL] = response.model
    if response.id is not None:
        found["gen_ai.response.id"] = response.id
    return found | usage_attributes(response.usage)


def usage_attributes(usage: Usage | None) -> Attributes:
    """Return the token counts of *usage*."""
    if usage is None:
        return {}
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        # Named `cache_creation` until 2026.
        "gen_ai.usage.cache_write.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }


def fold_attributes(event: HistoryReductionEvent, *, with_content: bool) -> Attributes:
    """Return the outcome of a fold; the summary only *with_content*."""
    found: Attributes = {
        "foldline.fold.status": event.status,
        "foldline.fold.reason": event.reason.name.lower(),
        "foldline.fold.strategy": event.strategy,
        "foldline.fold.counting_unit": event.counting_unit,
        "foldline.fold.units": event.units,
        "foldline.fold.messages.before": event.original_count,
        "foldline.fold.messages.after": event.reduced_count,
        "foldline.fold.messages.removed": event.removed_count,
        "foldline.fold.tokens.before": event.original_tokens,
        "foldline.fold.tokens.after": event.reduced_tokens,
        "foldline.fold.summarizer.calls": event.summarizer_calls,
        "foldline.fold.summarizer.tokens": event.summarizer_tokens,
        # Failures may quote the conversation, so they are only counted.
        "foldline.fold.failures": len(event.failures),
    }
    if event.summarizer is not None:
        found["foldline.fold.summarizer.name"] = event.summarizer
    if with_content and event.summary is not None:
        found["foldline.fold.summary"] = sendable(event.summary)
    return found


def is_compacted(event: HistoryReductionEvent | None) -> bool:
    """Whether a reduction is active in the view of *event*."""
    return event is not None and event.removed_count > 0


def error_type(error: BaseException) -> str:
    """Return the kind of *error*: its code if it is one of ours, otherwise its class."""
    if isinstance(error, FoldlineError):
        return error.code
    kind = type(error)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def messages_content(messages: Iterable[Message], **beside: str) -> str:
    """Return *messages*, each with *beside*, as the JSON of the conventions."""
    # Without the vendors' own items, every message is written from its parts alone.
    bare = [structs.replace(message, native=None) for message in messages]
    return _json([{**item, **beside} for item in to_otel(bare)])


def answer_content(content: str | tuple[ResponseContent, ...]) -> str:
    """Return the result of a tool as a string, or as JSON if it has other parts than text."""
    return sendable(content) if isinstance(content, str) else _json(content)


def sendable(text: str) -> str:
    """Return *text* without lone surrogates, which no exporter can write."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _json(value: object) -> str:
    return encode_json(value).decode("utf-8")
