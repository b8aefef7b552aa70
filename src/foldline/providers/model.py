"""Who answers: the protocol of a model, what it is asked and what it says."""

from collections.abc import AsyncGenerator, Mapping
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from foldline.history.messages import Message, Usage
from foldline.providers.tool_definition import ToolDefinition


__all__ = [
    "ChatDelta",
    "ChatModel",
    "ChatRequest",
    "ChatResponse",
    "FinishReason",
    "ReasoningDelta",
    "StreamingChatModel",
    "TextDelta",
    "ToolCallDelta",
    "window_of",
]


FinishReason: TypeAlias = Literal["stop", "length", "tool_call", "content_filter", "error"]
"""
Why a model stopped, named as OpenTelemetry does.

Source: `gen_ai.response.finish_reasons` and the output message schema.
"""


class ChatRequest(Struct, frozen=True, kw_only=True):
    """One call of a model."""

    messages: tuple[Message, ...]
    """What the model is sent, oldest first: a view, or with *service_thread_id* what is new."""

    tools: tuple[ToolDefinition, ...] = ()
    """What it may call."""

    service_thread_id: str | None = None
    """The conversation at the vendor that goes on; None starts one, or none is held there."""

    settings: Mapping[str, object] = {}
    """What else the request says, as in `temperature` or `max_tokens`; as the model names it."""


class ChatResponse(Struct, frozen=True, kw_only=True):
    """What a model said to one call."""

    messages: tuple[Message, ...]
    """What is added to the history: messages of the assistant, in order; may be empty."""

    usage: Usage | None = None
    """What the vendor counted."""

    model: str | None = None
    """The name of the model that answered, as the vendor gives it."""

    id: str | None = None
    """The vendor's id of the response."""

    finish_reason: FinishReason = "stop"
    """Why it stopped."""

    service_thread_id: str | None = None
    """The conversation at the vendor that holds what was sent and said; None where none does."""


class TextDelta(Struct, frozen=True, gc=False):
    """More of what the model says."""

    text: str
    """The new piece."""


class ReasoningDelta(Struct, frozen=True, gc=False):
    """More of what the model thinks."""

    text: str
    """The new piece."""


class ToolCallDelta(Struct, frozen=True, gc=False, kw_only=True):
    """More of a call that the model writes."""

    index: int
    """Which of the calls of this response it belongs to, from 0."""

    id: str = ""
    """The id of the call, in its first piece."""

    name: str = ""
    """The tool, in its first piece."""

    arguments: str = ""
    """The new piece of the arguments."""


ChatDelta: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta
"""A piece of a response that is still being written."""


@runtime_checkable
class ChatModel(Protocol):
    """Whatever answers a conversation."""

    @property
    def name(self) -> str:
        """The identity of the model, as in `openai:gpt-5-mini`."""
        ...

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """
        Return what the model says to *request*.

        Raises:
            ContextOverflowError: The request is longer than the window.
            ServiceThreadLostError: The vendor no longer holds the conversation.
            ModelError: Anything else went wrong at the vendor.
        """
        ...


@runtime_checkable
class StreamingChatModel(ChatModel, Protocol):
    """A model that says what it says as it goes."""

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """
        Give the pieces of the response as they come, and the whole of it last.

        Closing the generator ends the request.

        Raises:
            ContextOverflowError: The request is longer than the window.
            ServiceThreadLostError: The vendor no longer holds the conversation.
            ModelError: Anything else went wrong at the vendor.
        """
        ...


def window_of(model: ChatModel) -> int | None:
    """Return the tokens that *model* can read and write at once; None where it does not say so."""
    window: object = getattr(model, "context_window", None)
    return window if isinstance(window, int) else None
