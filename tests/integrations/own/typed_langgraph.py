"""How the node is used, as type checkers see it: checked by `make guest-langgraph`, never run."""

from typing import Annotated, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.graph import StateGraph, add_messages

from foldline.agent.reducer import HistoryReducer
from foldline.integrations.langgraph import fold_messages


class State(TypedDict, total=False):
    """The state of a graph, with the channels of the node."""

    messages: Annotated[list[AnyMessage], add_messages]
    llm_input_messages: list[AnyMessage]
    foldline_reduction: str


def added(reducer: HistoryReducer) -> StateGraph[State]:
    """Make a graph with the node."""
    return StateGraph(State).add_node("fold", fold_messages(reducer))
