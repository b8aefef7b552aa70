"""A node for the graphs of LangGraph that shows a model the view of their messages."""

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool

from foldline.agent.arguments import RequestOptions
from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.checks import expect
from foldline.guests import GuestView, kept_reduction, new_reduction
from foldline.integrations.langchain_messages import LangChainCodec, reported_usage


def fold_messages(
    reducer: HistoryReducer,
    *,
    key: str = "messages",
    instructions: str = "",
    tools: Iterable[Any] = (),
) -> Runnable[Any, dict[str, Any]]:
    """
    Return a node before the one that asks the model: a `pre_model_hook`, or one of a graph's own.

    It writes the view to the channel `llm_input_messages`, which the model is asked with, and the
    reduction, as JSON, to `foldline_reduction`. A graph whose state has that channel keeps it with
    its checkpoints; without it the reducer remembers as long as it lives. The messages stay.

    Args:
        reducer: What reduces; one may serve several graphs.
        key: The channel of the messages.
        instructions: The prompt of the model, if it is not among the messages.
        tools: What the model is bound to: tools of LangChain, functions or schemas.
    """
    expect("instructions", instructions, str)
    expect("tools", tools, Iterable)
    schemas = [one if isinstance(one, dict) else convert_to_openai_tool(one) for one in tools]
    view: GuestView[BaseMessage] = GuestView(reducer, LangChainCodec())

    def facts(state: Mapping[str, Any]) -> RequestOptions:
        return {
            "state": kept_reduction(state),
            "usage": reported_usage(state[key]),
            "instructions": instructions,
            "tools": schemas,
        }

    def node(state: Mapping[str, Any]) -> dict[str, Any]:
        return _update(state, view.reduce_sync(state[key], **facts(state)))

    async def awaited(state: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the node writes."""
        return _update(state, await view.reduce(state[key], **facts(state)))

    return RunnableLambda(node, awaited, name="fold_messages")


def _update(state: Mapping[str, Any], reduced: ReducedHistory[BaseMessage]) -> dict[str, Any]:
    return {"llm_input_messages": reduced.messages, **new_reduction(state, reduced.state)}
