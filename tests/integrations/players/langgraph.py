"""A graph of LangGraph on our checkpointer: `fold_messages` is before the node that asks."""

from typing import Annotated, Any, TypedDict

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, StateGraph, add_messages
from langgraph.prebuilt import ToolNode, tools_condition

from foldline.agent.reducer import HistoryReducer
from foldline.integrations.langgraph import fold_messages
from foldline.integrations.langgraph_checkpoints import FoldlineSaver
from foldline.threads.stores.memory import MemoryStore
from tests.integrations import player
from tests.integrations.golden import RULES, Transcript
from tests.integrations.players.langchain_script import (
    THREAD,
    Scripted,
    ScriptedPlayer,
    as_langchain,
)


class State(TypedDict, total=False):
    """What the graph keeps."""

    messages: Annotated[list[BaseMessage], add_messages]
    llm_input_messages: list[BaseMessage]
    foldline_reduction: str


def model() -> Any:
    """Return the model of the page."""
    model = Scripted()
    model.answers = [*map(as_langchain, player.said_on_a_page(2))]
    return model


class Player(ScriptedPlayer):
    """One conversation."""

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        super().__init__(transcript)
        self._store = MemoryStore()
        self.restart(reducer)
        before = [*map(as_langchain, transcript.before)]
        rules = SystemMessage(RULES, id="rules")
        self._agent.update_state(THREAD, {"messages": [rules, *before]}, as_node=START)

    def restart(self, reducer: HistoryReducer) -> None:
        def ask(state: Any) -> Any:
            return {"messages": [self._model.invoke(state["llm_input_messages"])]}

        async def ask_awaited(state: Any) -> Any:
            return {"messages": [await self._model.ainvoke(state["llm_input_messages"])]}

        graph: Any = StateGraph(State)
        graph.add_node("fold", fold_messages(reducer))
        graph.add_node("ask", RunnableLambda(ask, ask_awaited))
        graph.add_node("tools", ToolNode([self._look]))
        graph.add_edge(START, "fold")
        graph.add_edge("fold", "ask")
        graph.add_conditional_edges("ask", tools_condition)
        graph.add_edge("tools", "fold")
        self._agent: Any = graph.compile(checkpointer=FoldlineSaver(self._store))

    async def stored(self) -> list[Any]:
        return list((await self._agent.aget_state(THREAD)).values.get("messages", []))
