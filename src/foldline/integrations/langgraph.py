"""A node for the graphs of LangGraph that shows a model the view of their messages."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda

from foldline.agent.arguments import RequestOptions
from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.guests import GuestView
from foldline.integrations.langchain_messages import LangChainCodec
from foldline.reduction.state import HistoryReductionState


__all__ = ["fold_messages"]


_STATE = "foldline_reduction"


def fold_messages(
    reducer: HistoryReducer, *, key: str = "messages"
) -> Runnable[Mapping[str, Any], dict[str, Any]]:
    """
    Return a node before the one that asks the model: a `pre_model_hook`, or one of a graph's own.

    It writes the view to the channel `llm_input_messages`, which the model is asked with, and the
    reduction, as JSON, to `foldline_reduction`. A graph whose state has that channel keeps it with
    its checkpoints; without it the reducer remembers as long as it lives. The messages stay.

    Args:
        reducer: What reduces; one may serve several graphs.
        key: The channel of the messages.
    """
    view: GuestView[BaseMessage] = GuestView(reducer, LangChainCodec())

    def node(state: Mapping[str, Any]) -> dict[str, Any]:
        return _update(view.reduce_sync(state[key], **_facts(state, key)))

    async def awaited(state: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the node writes."""
        return _update(await view.reduce(state[key], **_facts(state, key)))

    return RunnableLambda(node, awaited, name="fold_messages")


def _facts(state: Mapping[str, Any], key: str) -> RequestOptions:
    stored = state.get(_STATE)
    answers = [one for one in state[key] if isinstance(one, AIMessage)]
    usage = answers[-1].usage_metadata if answers else None
    return {
        "state": HistoryReductionState.from_json(stored) if stored else None,
        "usage": None if usage is None else usage["input_tokens"],
    }


def _update(reduced: ReducedHistory[BaseMessage]) -> dict[str, Any]:
    state = reduced.state
    kept = {} if state is None else {_STATE: state.to_json().decode()}
    return {"llm_input_messages": reduced.messages, **kept}
