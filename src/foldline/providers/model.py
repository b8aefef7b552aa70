"""The protocol of a chat model: what it is asked, and what it answers."""

from collections.abc import AsyncGenerator, Mapping
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from foldline.history.messages import Message, Usage
from foldline.providers.book import window_of_model
from foldline.reduction.request import Summary, SummaryRequest


FinishReason: TypeAlias = Literal["stop", "length", "tool_call", "content_filter", "error"]
"""Why a model stopped, by the names of OpenTelemetry (`gen_ai.response.finish_reasons`)."""


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """A tool as a model sees it."""

    name: str
    """Its name: 1 to 64 of `A-Z a-z 0-9 _ -`."""

    description: str = ""
    """What it does and when to use it."""

    parameters: Mapping[str, object]
    """The JSON schema of its arguments: an object."""


class ChatRequest(Struct, frozen=True, kw_only=True):
    """What one call sends to a model."""

    messages: tuple[Message, ...]
    """The messages, oldest first: a view, or with *service_thread_id* only what is new."""

    tools: tuple[ToolDefinition, ...] = ()
    """The tools that it may call."""

    service_thread_id: str | None = None
    """The conversation at the vendor to continue; None starts one, or none is held there."""

    previous_id: str | None = None
    """The vendor's id of the last response in this conversation, for its diagnostics of the cache."""

    settings: Mapping[str, object] = {}
    """Other fields of the request, such as `temperature`, by the vendor's names."""

    @property
    def lacks_tools(self) -> bool:
        """Whether it has calls, those of another agent perhaps, and defines no tool."""
        if self.tools or self.settings.get("tools"):
            return False
        return any(one.tool_calls or one.tool_call_responses for one in self.messages)


class ChatResponse(Struct, frozen=True, kw_only=True):
    """What a model answered."""

    messages: tuple[Message, ...]
    """The assistant messages to append to the history; may be empty."""

    usage: Usage | None = None
    """The tokens that the vendor counted."""

    model: str | None = None
    """The vendor's name of the model that answered."""

    id: str | None = None
    """The vendor's id of the response."""

    finish_reason: FinishReason = "stop"
    """Why it stopped."""

    cache_miss: str | None = None
    """Why the vendor's cache did not serve all of the request before, in the vendor's word."""

    service_thread_id: str | None = None
    """The conversation at the vendor that now holds this call; None if none does."""


class TextDelta(Struct, frozen=True, gc=False):
    """A piece of the answer's text."""

    text: str
    """The new piece."""


class ReasoningDelta(Struct, frozen=True, gc=False):
    """A piece of the reasoning."""

    text: str
    """The new piece."""


class ToolCallDelta(Struct, frozen=True, gc=False, kw_only=True):
    """A piece of a tool call."""

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
    """Protocol for a chat model."""

    @property
    def name(self) -> str:
        """The identity of the model, such as `openai:gpt-5-mini`."""
        ...

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """
        Return the answer to *request*.

        Raises:
            ContextOverflowError: The request is longer than the window.
            ServiceThreadLostError: The vendor no longer holds the conversation.
            ModelError: Anything else went wrong at the vendor.
        """
        ...


@runtime_checkable
class StreamingChatModel(ChatModel, Protocol):
    """A chat model that can stream its answers."""

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """
        Yield the pieces of the response as they arrive, and the whole response last.

        Closing the generator ends the request. It raises what `respond` raises.
        """
        ...


@runtime_checkable
class PrewarmingModel(ChatModel, Protocol):
    """A chat model that can read a request into its vendor's prompt cache ahead of the call."""

    async def prewarm(self, request: ChatRequest) -> bool:
        """
        Have the vendor read *request* without an answer; return False if it has no way to.

        It raises what `respond` raises.
        """
        ...


def window_of(model: ChatModel) -> int | None:
    """Return the context window of *model* in tokens; None if neither it nor the book says."""
    window: object = getattr(model, "context_window", None)
    return window if isinstance(window, int) else window_of_model(model.name)


@runtime_checkable
class Summarizer(Protocol):
    """
    Turns a prefix of a history into text: a model, or the offline digest.

    A request may come more than once: a failure, or a text that breaks the contract of a summary,
    is followed by another attempt.
    """

    @property
    def name(self) -> str:
        """The identity of the summarizer; a reduction made under another name is not reused."""
        ...

    async def summarize(self, request: SummaryRequest) -> str | Summary:
        """
        Return a text that represents the request's earlier summaries and messages.

        A `Summary` has beside it what only the vendor can read that wrote both.

        Raises:
            Exception: Any failure; the reducer tries again, then the next in its chain.
        """
        ...
