"""A middleware for the agents of LangChain."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.agents.structured_output import ToolStrategy
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.types import Command

from foldline.agent.arguments import RequestOptions
from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.checks import expect
from foldline.guests import GuestView, kept_reduction, new_reduction
from foldline.guests.refusals import Refusals, is_too_long
from foldline.integrations.langchain_messages import LangChainCodec, reported_usage


class FoldlineState(AgentState[Any]):
    """The state of an agent, with the reduction of its messages."""

    foldline_reduction: NotRequired[Annotated[str, PrivateStateAttr]]
    """As JSON; callers neither give nor get it."""


class FoldlineMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """
    Shows the model of `create_agent` the view of each conversation; the state keeps all messages.

    The reduction is in the state too, so that the agent's checkpointer brings it back.
    """

    state_schema = FoldlineState
    """What the state of an agent gets beside its messages."""

    def __init__(self, reducer: HistoryReducer, *, name: str = "FoldlineMiddleware") -> None:
        """
        Reduce with *reducer*; one may serve several agents.

        `deepagents` puts a middleware of a *name* in the place of its own one of that name.

        Raises:
            ConfigError: *reducer* is no reducer, or *name* no string.
        """
        super().__init__()
        expect("name", name, str)
        self._name = name
        self._view: GuestView[BaseMessage] = GuestView(reducer, LangChainCodec())

    @property
    def name(self) -> str:
        """The name that it was given."""
        return self._name

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ExtendedModelResponse[Any]:
        """Ask the model with the view; while it refuses that as too long, again after a fold."""
        facts, refusals = _facts(request), Refusals(_is_too_long)
        window = _window(request)
        while True:
            reduced = self._view.reduce_sync(_said(request), window=window, **refusals.over(facts))
            shown = _shown(request, refusals.shown(reduced))
            with refusals.asking():
                return _kept(request, handler(shown), reduced)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ExtendedModelResponse[Any]:
        """Ask the model with the view; while it refuses that as too long, again after a fold."""
        facts, refusals = _facts(request), Refusals(_is_too_long)
        window = _window(request)
        while True:
            reduced = await self._view.reduce(_said(request), window=window, **refusals.over(facts))
            shown = _shown(request, refusals.shown(reduced))
            with refusals.asking():
                return _kept(request, await handler(shown), reduced)


def _said(request: ModelRequest[Any]) -> list[BaseMessage]:
    system = request.system_message
    return [*([] if system is None else [system]), *request.messages]


def _window(request: ModelRequest[Any]) -> int | None:
    """Return the window by the profile of the model; a model without one has None or no profile."""
    return (getattr(request.model, "profile", None) or {}).get("max_input_tokens")


def _facts(request: ModelRequest[Any]) -> RequestOptions:
    return {
        "state": kept_reduction(request.state),
        "usage": reported_usage(request.messages),
        "tools": [
            *(
                one if isinstance(one, dict) else convert_to_openai_tool(one)
                for one in request.tools
            ),
            *_outputs(request.response_format),
        ],
    }


def _outputs(format: Any) -> list[object]:
    """Return the schemas of *format*, the form of an answer: a strategy, or what one is made of."""
    if format is None:
        return []
    return [one.json_schema for one in ToolStrategy(getattr(format, "schema", format)).schema_specs]


def _is_too_long(error: Exception) -> bool:
    # What a partner package raises may have words of its own.
    return isinstance(error, ContextOverflowError) or is_too_long(error)


def _shown(request: ModelRequest[Any], view: list[BaseMessage]) -> ModelRequest[Any]:
    own = request.system_message
    messages: Any = [one for one in view if one is not own]
    return request.override(messages=messages)


def _kept(
    request: ModelRequest[Any], response: ModelResponse[Any], reduced: ReducedHistory[BaseMessage]
) -> ExtendedModelResponse[Any]:
    update = new_reduction(request.state, reduced.state)
    return ExtendedModelResponse(response, Command(update=update))
